/** Every order of these. */
function ordersOf(items: readonly number[]): number[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item) => ordersOf(items.filter((other) => other !== item)).map((rest) => [item, ...rest]))
}

/**
 * The worlds that may be after `count` calls were made at once: one for each order in which they could have been done
 * one after the other. Worlds are plain JSON. `step` does one of them in a world, and throws where the store answered
 * something else. Throws where no order explains the answers.
 */
export function explained<World>(
  worlds: readonly World[],
  count: number,
  step: (world: World, at: number) => void
): World[] {
  const orders = ordersOf(Array.from({ length: count }, (_, at) => at))
  const after = new Map<string, World>()
  let reason: unknown
  for (const world of worlds) {
    const text = JSON.stringify(world)
    for (const order of orders) {
      const next = JSON.parse(text) as World
      try {
        for (const at of order) step(next, at)
        after.set(JSON.stringify(next), next)
      } catch (error) {
        reason ??= error
      }
    }
  }
  if (after.size === 0) throw reason
  return [...after.values()]
}
