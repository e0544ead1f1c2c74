/** All orders of the items. */
function ordersOf(items: readonly number[]): number[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item) => ordersOf(items.filter((other) => other !== item)).map((rest) => [item, ...rest]))
}

/**
 * The possible worlds after `count` parallel calls: one for each order of them. Worlds are plain JSON. `step` makes one
 * of the calls in a world, and throws if the store answered differently. Throws if no order explains the answers.
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
