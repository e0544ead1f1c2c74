/** Devices and pages that are not as they should be. */
import { expect, type Lab } from '../lab.ts'
import type { Situation } from './situation.ts'

const MINUTE = 60_000

/** The clock of the device is wrong by so much. */
const clockOffBy = (ms: number): string => `
  const { Date: RealDate } = globalThis
  globalThis.Date = class Date extends RealDate {
    constructor (...args) { args.length > 0 ? super(...args) : super(RealDate.now() + ${ms}) }
    static now () { return RealDate.now() + ${ms} }
  }
`

const wrongClock = (id: string, title: string, ms: number): Situation => ({
  id,
  title: `the clock is ${title}`,
  async run(lab) {
    const tab = await lab.open({ script: clockOffBy(ms) })
    await tab.signIn()
    await tab.works()
    await lab.expire()
    await tab.works()
  }
})

const underPolicy = (id: string, title: string, base: string): Situation => ({
  id,
  title,
  async run(lab) {
    const tab = await lab.open({
      base,
      script: "addEventListener('securitypolicyviolation', () => { sessionStorage.violated = 'yes' })"
    })
    await tab.signIn()
    await tab.works()
    await lab.expire()
    await tab.works()
    expect((await tab.run('sessionStorage.violated')) === undefined, 'violation')
  }
})

/** Up to the last character, a hundred of them to spare. */
const FILL_STORAGE = `(() => {
  localStorage.spare = 'x'.repeat(100)
  for (let i = 0, text = 'x'.repeat(8_000_000); text.length > 0; i++) {
    try {
      localStorage.setItem('filler' + i, text)
    } catch {
      text = text.slice(0, text.length / 2)
    }
  }
})()`

/** Signs in where `script` has done something to the page. */
async function signsIn(lab: Lab, script: string): Promise<void> {
  const tab = await lab.open({ script })
  await tab.signIn()
  await tab.works()
}

export const device: Situation[] = [
  wrongClock('G1', '10 minutes slow', -10 * MINUTE),
  wrongClock('G2', '10 minutes fast', 10 * MINUTE),
  wrongClock('G3', '2 hours fast', 120 * MINUTE),
  wrongClock('G4', 'a day slow', -1440 * MINUTE),
  {
    id: 'I',
    title: 'web storage is blocked',
    run: async (lab) => {
      await signsIn(
        lab,
        `
        for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, { get () { throw new DOMException('blocked', 'SecurityError') } })
      `
      )
    }
  },
  {
    id: 'N1',
    title: 'the storage is nearly full',
    async run(lab) {
      const tab = await lab.open()
      await tab.run(FILL_STORAGE)
      // A trial write of a character passes.
      await tab.run("localStorage.removeItem('spare')")
      await tab.signIn()
      await tab.works()
    }
  },
  {
    id: 'N2',
    title: 'the storage is filled up after sign-in',
    needs: 'shared',
    async run(lab) {
      const tab = await lab.open()
      await tab.signIn()
      await tab.run(FILL_STORAGE)
      await tab.goto('/')
      await tab.works()
      await lab.expire()
      await tab.works()
      await tab.goto('/')
      await tab.works()
    }
  },
  underPolicy('R', "under default-src 'none'; script-src 'self'", '/csp/'),
  underPolicy('V', 'under require-trusted-types-for', '/tt/')
]
