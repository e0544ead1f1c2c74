/** Imported first by the process under test, to shift its wall clock as its settings say. */
import { settings } from './settings.ts'

const { skewMs } = settings()
if (skewMs !== 0) {
  const RealDate = Date
  const now = (): number => RealDate.now() + skewMs
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: [], newTarget) =>
      args.length === 0 ? new target(now()) : (Reflect.construct(target, args, newTarget) as Date),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown))
  })
}
