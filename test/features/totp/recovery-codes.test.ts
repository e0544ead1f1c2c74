/** The keys of recovery codes depend on each `secret` and on the user. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { factorApp, logIn, unsealed } from '../../support/factors.ts'

const OLD = 'k3J9vQ2mX7pL4sT8wZ1rY6uB5nC0dF2g'
const NEW = 'h7D2xW9qM4vR1tK6yP3zS8cJ5bN0fG7a'

// covers RC-01
t.test('creates codes of 16 characters, and accepts them while their secret is configured', async (t) => {
  const users = memoryUserStore()
  const factors = unsealed(memoryFactorStore())
  const { codes } = await factorApp(t, { users, factors, secret: OLD })
  t.equal(codes.length, 10)
  for (const code of codes) t.match(code, /^[0-9a-hjkmnp-tv-z]{4}(?:-[0-9a-hjkmnp-tv-z]{4}){3}$/)
  const statusAt = async (secret: string | string[], code = ''): Promise<number> => {
    const { app, close } = await testApp({ users, factors, secret })
    t.teardown(close)
    const browser = testBrowser(app)
    await logIn(browser)
    return (await browser.submit('/auth/second-factor', { recovery_code: code })).statusCode
  }
  t.equal(await statusAt(NEW, codes[0]), 400, 'nobody finds a code without its secret')
  t.equal(await statusAt([NEW, OLD], codes[0]), 303)
  t.equal(await statusAt([NEW, OLD], codes[0]), 400, 'once')
  t.equal(await statusAt(OLD, codes[1]), 303)
})
