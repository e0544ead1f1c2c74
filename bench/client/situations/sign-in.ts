/** Events between the sign-in page and the app. */
import { expect, good, HANGS, type Outcome } from '../lab.ts'
import type { Situation } from './situation.ts'

export const signIn: Situation[] = [
  {
    id: 'A',
    title: 'the callback runs twice at once (React StrictMode)',
    async run(lab) {
      const tab = await lab.open()
      await tab.login()
      const outcomes = await tab.run<Outcome[]>("bench.many(2, 'callback')")
      for (const outcome of outcomes) good(outcome)
      expect(lab.provider.counts.codes === 1, 'code_twice')
      await tab.works()
    }
  },
  {
    id: 'B',
    title: 'the callback runs again after it succeeded',
    async run(lab) {
      const tab = await lab.open()
      await tab.signIn()
      good(await tab.call('callback'))
      await tab.works()
    }
  },
  {
    id: 'J',
    title: 'a tampered state is refused, with an error',
    async run(lab) {
      const tab = await lab.open()
      await tab.login()
      const url = new URL(tab.page.url())
      url.searchParams.set('state', `${url.searchParams.get('state') ?? ''}x`)
      await tab.page.goto(url.href)
      const { error } = await tab.call('callback')
      expect(lab.provider.counts.requests === 0, 'code_sent')
      expect((await tab.call('user').then(good)) === null, 'signed_in')
      expect(error !== undefined, 'silent')
    }
  },
  {
    id: 'K',
    title: 'two tabs sign in at once',
    async run(lab) {
      const one = await lab.open()
      const two = await one.another()
      await one.login()
      await two.login()
      for (const tab of [one, two]) good(await tab.call('callback'))
      for (const tab of [one, two]) await tab.works()
    }
  },
  {
    id: 'L',
    title: 'the answer comes to another tab (a link in a mail)',
    async run(lab) {
      const one = await lab.open()
      await one.login()
      const two = await one.another(new URL(one.page.url()).pathname + new URL(one.page.url()).search)
      good(await two.call('callback'))
      await two.works()
    }
  },
  {
    id: 'P',
    title: 'code and state are taken out of the address',
    async run(lab) {
      const tab = await lab.open()
      await tab.signIn()
      expect(!/[?&#](?:code|state)=/.test(tab.page.url()), 'left')
    }
  },
  {
    id: 'X',
    title: 'a listener throws',
    needs: 'listeners',
    async run(lab) {
      const tab = await lab.open()
      await tab.login()
      // A function can't be sent to the page.
      await tab.run(`(() => {
        const { listen } = bench.client()
        listen(() => { throw new Error('of the app') })
        ${lab.client.listeners === 'many' ? 'listen(() => { bench.heard += 1 })' : 'bench.heard = 1'}
      })()`)
      good(await tab.call('callback'))
      await tab.works()
      expect((await tab.run<number>('bench.heard')) === 1, 'others_not_told')
    }
  },
  {
    id: 'Y',
    title: 'two instances in one page',
    async run(lab) {
      const tab = await lab.open()
      await tab.login()
      for (const outcome of await tab.run<Outcome[]>("Promise.all([bench.call('callback'), bench.second('callback')])"))
        good(outcome)
      await lab.expire()
      for (const outcome of await tab.run<Outcome[]>("Promise.all([bench.call('token'), bench.second('token')])"))
        good(outcome)
      await tab.works()
    }
  },
  {
    id: 'Z',
    title: "another program's code in the address is left alone",
    async run(lab) {
      const tab = await lab.open()
      if (lab.client.shared) await tab.signIn()
      const before = lab.provider.counts.requests
      await tab.goto('/?code=foreign&state=foreign')
      expect((await tab.call('callback')).error !== HANGS, HANGS)
      expect(lab.provider.counts.requests === before, 'code_sent')
      expect(tab.page.url().endsWith('/?code=foreign&state=foreign'), 'taken_out')
      if (lab.client.shared) await tab.works()
    }
  }
]
