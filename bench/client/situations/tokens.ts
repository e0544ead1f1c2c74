/** Requests after an access token has ended. */
import { expect, good, HANGS, hasToken, type Lab, type Outcome, sleep, type Tab } from '../lab.ts'
import type { Fault } from '../provider.ts'
import { CLOCK, later } from './later.ts'
import type { Situation } from './situation.ts'

/** So long is the way to the provider where many ask at once: long enough that their requests meet. */
const WAY_MS = 300
const HOUR_MS = 3_600_000

/** Signed in, with so many tabs, and the token has ended. */
async function expiredIn(lab: Lab, count: number, script?: string): Promise<Tab[]> {
  const first = await lab.open(script === undefined ? {} : { script })
  await first.signIn()
  const others = await Promise.all(Array.from({ length: count - 1 }, async () => await first.another()))
  await lab.expire()
  lab.provider.fault = { delay: WAY_MS }
  return [first, ...others]
}

const manyTabs = (id: string, title: string, count: number, script?: string): Situation => ({
  id,
  title,
  needs: 'shared',
  async run(lab) {
    const tabs = await expiredIn(lab, count, script)
    const outcomes = await Promise.all(tabs.map(async (tab) => await tab.call('token')))
    all(outcomes)
    expect(lab.provider.counts.reuses === 0, 'reuse')
    for (const tab of tabs) await tab.works()
  }
})

function all(outcomes: Outcome[]): void {
  const ok = outcomes.filter(hasToken).length
  expect(ok === outcomes.length, `${ok}/${outcomes.length}`)
}

const outage = (id: string, title: string, fault: Fault): Situation => ({
  id,
  title,
  async run(lab) {
    const [tab] = (await expiredIn(lab, 1)) as [Tab]
    lab.provider.fault = fault
    const outcome = await tab.call('token')
    expect(!hasToken(outcome), 'no_error')
    lab.provider.fault = 'none'
    expect(outcome.error !== HANGS, HANGS)
    await tab.works()
  }
})

export const tokens: Situation[] = [
  {
    id: 'C',
    title: 'ten calls at once, one tab',
    async run(lab) {
      const [tab] = (await expiredIn(lab, 1)) as [Tab]
      all(await tab.run<Outcome[]>("bench.many(10, 'token')"))
      expect(lab.provider.counts.reuses === 0, 'reuse')
      await tab.works()
    }
  },
  manyTabs('D', 'five tabs at once', 5),
  manyTabs('T', 'twenty tabs at once', 20),
  manyTabs('U', 'five tabs at once, no Web Locks', 5, 'delete Navigator.prototype.locks'),
  outage('E', 'the network drops for a moment', 'drop'),
  outage('F1', 'the server answers 503 for a moment', 'unavailable'),
  outage('F2', 'the gateway answers 503 for a moment', 'gateway'),
  outage('H', 'the server never answers', 'hang'),
  {
    id: 'Q',
    title: 'a frozen tab holds the lock for ever',
    async run(lab) {
      const tab = await lab.open({
        script: `
          globalThis.names = []
          const request = LockManager.prototype.request
          LockManager.prototype.request = function (name, ...rest) { names.push(name); return request.call(this, name, ...rest) }
        `
      })
      await tab.signIn()
      await lab.expire()
      // Which lock it is: the client's own use tells.
      good(await tab.call('token'))
      const names = await tab.run<string[]>('[...new Set(names)]')
      const holder = await tab.another('/signed-out')
      await holder.run(
        `void ${JSON.stringify(names)}.map((name) => navigator.locks.request(name, () => new Promise(() => {})))`
      )
      await lab.expire()
      const started = performance.now()
      good(await tab.call('token'))
      expect(performance.now() - started < 8000, 'slow')
    }
  },
  {
    id: 'W',
    title: 'sign-out while a refresh is under way',
    async run(lab) {
      const [tab] = (await expiredIn(lab, 1)) as [Tab]
      lab.provider.fault = { delay: 1500 }
      const pending = tab.call('token')
      await sleep(WAY_MS)
      good(await tab.call('forget'))
      await pending
      await sleep(WAY_MS)
      lab.provider.fault = 'none'
      for (let look = 0; look < 2; look++) {
        expect((await tab.call('user').then(good)) === null, 'signed_in')
        expect(!hasToken(await tab.call('token')), 'token')
        await tab.goto('/')
      }
    }
  },
  {
    id: 'AA',
    title: 'asleep for an hour, and awake again',
    async run(lab) {
      const tab = await lab.open({ script: CLOCK })
      await tab.signIn()
      const devtools = await tab.page.context().newCDPSession(tab.page)
      await devtools.send('Page.setWebLifecycleState', { state: 'frozen' })
      await lab.expire()
      await devtools.send('Page.setWebLifecycleState', { state: 'active' })
      await later(tab, lab.provider, HOUR_MS)
      await tab.run("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))")
      await tab.works()
    }
  }
]
