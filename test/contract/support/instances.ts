/** One port made of several instances of it: each call goes to the next one. */
export function inTurn<Port extends object>(instances: readonly [Port, ...Port[]]): Port {
  const [first] = instances
  let turn = 0
  return Object.fromEntries(
    Object.entries(first).map(([name, member]: [string, unknown]) => {
      if (typeof member === 'function')
        return [
          name,
          (...args: unknown[]): unknown => {
            const instance = instances[turn++ % instances.length] ?? first
            return Reflect.apply(Reflect.get(instance, name) as (...args: unknown[]) => unknown, instance, args)
          }
        ]
      if (typeof member !== 'object' || member === null) return [name, member]
      const parts = instances.map((instance) => Reflect.get(instance, name) as object)
      return [name, inTurn(parts as [object, ...object[]])]
    })
  ) as Port
}
