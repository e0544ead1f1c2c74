/** Sessions before and after a sign-out, in each place. */
import { expect, good, hasToken, type Outcome, sleep } from '../lab.ts'
import type { Situation } from './situation.ts'

/** By then every tab knows. */
const TOLD_MS = 1000

export const signOut: Situation[] = [
  {
    id: 'M',
    title: 'signed out in one tab, so in the other too',
    needs: 'shared',
    async run(lab) {
      const one = await lab.open()
      await one.signIn()
      const two = await one.another()
      await two.works()
      await one.call('logout').catch(() => {})
      await one.page.waitForURL(/\/signed-out/)
      expect((await two.call('user').then(good)) === null, 'signed_in')
      const token = await Promise.race([two.call('token'), sleep(TOLD_MS).then((): Outcome => ({ error: 'slow' }))])
      expect(!hasToken(token), 'token')
      expect(token.error !== 'slow', 'slow')
    }
  },
  {
    id: 'O',
    title: 'a reload keeps the user',
    async run(lab) {
      const tab = await lab.open()
      await tab.signIn()
      await tab.goto('/')
      await tab.works()
    }
  },
  {
    id: 'S',
    title: 'back after sign-out shows nobody (page cache)',
    async run(lab) {
      const tab = await lab.open()
      await tab.signIn()
      const heading = (text: string): string =>
        `new Promise((resolve) => { const look = () => document.querySelector('h1').textContent ` +
        `=== ${JSON.stringify(text)} ? resolve(true) : setTimeout(look, 20); look(); ` +
        `setTimeout(resolve, ${TOLD_MS}, false) })`
      if (lab.client.shared) {
        await tab.goto('/show')
        expect(await tab.run(heading('signed in')), 'not_shown')
        // Signed out in another page than the one that is come back to.
        await tab.goto('/')
      } else {
        await tab.run('bench.show()')
        expect(await tab.run(heading('signed in')), 'not_shown')
      }
      const pages = await tab.run<number>('history.length')
      await tab.call('logout').catch(() => {})
      await tab.page.waitForURL(/\/signed-out/)
      const back = (await tab.run<number>('history.length')) - pages + (lab.client.shared ? 1 : 0)
      // The page was replaced: there is nothing to come back to.
      if (back === 0) return
      const shown = tab.page.waitForURL(lab.client.shared ? /\/show/ : /\/callback/, { waitUntil: 'commit' })
      await Promise.race([tab.run(`history.go(${-back})`).catch(() => {}), sleep(TOLD_MS)])
      await shown
      await sleep(TOLD_MS)
      expect((await tab.run(heading('nobody'))) || !(await tab.run(heading('signed in'))), 'shown')
    }
  }
]
