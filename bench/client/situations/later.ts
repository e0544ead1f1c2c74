import type { Provider } from '../provider.ts'
import type { Tab } from '../lab.ts'

/** For a page whose clock can be put on. The next page of the tab has the machine's again. */
export const CLOCK = `
  let passed = 0
  const { Date: RealDate } = globalThis
  globalThis.pass = (ms) => { passed += ms }
  globalThis.Date = class Date extends RealDate {
    constructor (...args) { args.length > 0 ? super(...args) : super(RealDate.now() + passed) }
    static now () { return RealDate.now() + passed }
  }
`

/** So much time passes for the page and for the server. */
export async function later(tab: Tab, provider: Provider, ms: number): Promise<void> {
  provider.ahead += ms
  await tab.run(`pass(${ms})`)
}
