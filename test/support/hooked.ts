/** What is done before or after a method of a store, once. */
export function hooked<Store extends object> (store: Store): { store: Store, on(when: string, act: () => Promise<void>): void } {
  const hooks = new Map<string, () => Promise<void>>()
  const once = async (name: string): Promise<void> => {
    const act = hooks.get(name)
    hooks.delete(name)
    await act?.()
  }
  return {
    store: new Proxy(store, {
      get (target, name: string) {
        const act = Reflect.get(target, name) as unknown
        if (typeof act !== 'function') return act
        return async (...given: unknown[]) => {
          await once(`before ${name}`)
          const done = await (act as (...of: unknown[]) => Promise<unknown>).apply(target, given)
          await once(`after ${name}`)
          return done
        }
      }
    }),
    on: (when: string, act: () => Promise<void>) => { hooks.set(when, act) }
  }
}
