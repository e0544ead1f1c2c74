/** Values sealed with an earlier `secret`: the next use of an app seals its key with the new one. */
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryFactorStore, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { type TestApp, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, factorApp, logIn } from '../../support/factors.ts'
import { logLines } from '../../support/log-lines.ts'

const OLD = 'the secret of before, which is random enough'
const NEW = 'another secret, of 32 bytes and some more bytes'

// covers TOTP-14
t.test('accepts an app under both secrets, and under the new one alone after a use', async (t) => {
  const clock = steppedClock()
  const factors = memoryFactorStore()
  const shared: Partial<AuthorityOptions> = { users: memoryUserStore(), factors, clock }
  const first = await factorApp(t, { ...shared, secret: OLD, state: memoryState() })
  clock.step(30_000)
  const sealed = async (): Promise<string | undefined> => (await factors.findFactors(first.sub)).totp[0]?.sealedSecret
  const before = await sealed()
  const restarted = async (secret: string | string[]): Promise<TestApp> => {
    const subject = await testApp({ ...shared, secret, state: memoryState() })
    t.teardown(subject.close)
    return subject
  }
  const signIn = async ({ app }: TestApp): Promise<number> => {
    clock.step(30_000)
    const browser = testBrowser(app)
    t.equal((await logIn(browser)).headers.location, '/auth/second-factor', 'whatever the secret is, it is asked for')
    return (await browser.submit('/auth/second-factor', { code: codeFor(first.secret, clock.now()) })).statusCode
  }
  await t.rejects(restarted(NEW), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /^secret: .*secret: \[new, former\]/
  })
  await t.rejects(testApp({ ...shared, secret: OLD, state: memoryState(), issuer: 'https://other.example.com' }), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /^issuer: got "https:\/\/other.example.com".*sealed for "http:\/\/localhost:3000"/
  })
  t.equal(await signIn(await restarted([NEW, OLD])), 303)
  t.not(await sealed(), before)
  t.equal(await signIn(await restarted(NEW)), 303, 'sealed anew by that use')
  await t.rejects(restarted(OLD), { message: /^secret: / })
})

t.test('does not count a code of an app whose secret cannot be decrypted, and logs that once a minute', async (t) => {
  const clock = steppedClock()
  const factors = memoryFactorStore()
  const shared: Partial<AuthorityOptions> = { users: memoryUserStore(), factors, clock }
  const first = await factorApp(t, { ...shared, secret: OLD, state: memoryState() })
  // The app was not used while both secrets were given.
  await (await testApp({ ...shared, secret: [NEW, OLD], state: memoryState() })).close()
  const { lines, stream } = logLines()
  const other = await testApp({ ...shared, secret: NEW, state: memoryState() }, { logger: { level: 'warn', stream } })
  t.teardown(other.close)
  const told = (): number => lines.filter(({ code }) => code === 'FST_AUTHORITY_KEYS_FAILED').length
  for (const lineCount of [1, 1, 2]) {
    if (lineCount === 2) clock.step(60_000)
    const browser = testBrowser(other.app)
    t.equal((await logIn(browser)).headers.location, '/auth/second-factor', 'whatever the secret is, it is asked for')
    t.equal((await browser.submit('/auth/second-factor', { code: codeFor(first.secret, clock.now()) })).statusCode, 503)
    t.equal(told(), lineCount)
  }
  t.equal((await factors.findFactors(first.sub)).totp[0]?.failures, 0, 'and a fault of the service is no wrong code')
  t.notOk(other.messages.messages.some(({ kind }) => kind === 'second_factor_failed'))
})

t.test('accepts a changed secret while only passkeys are on, and refuses it once recovery codes were on', async (t) => {
  const factors = memoryFactorStore()
  const shared: Partial<AuthorityOptions> = { users: memoryUserStore(), factors }
  const start = async (secret: string, mfa: AuthorityOptions['mfa']): Promise<void> => {
    await (await testApp({ ...shared, secret, mfa, state: memoryState() })).close()
  }
  const passkeys = { methods: ['passkey'] } as const
  await start(OLD, passkeys)
  await start(NEW, passkeys)
  await start(OLD, { methods: ['passkey', 'recovery_code'] })
  await t.rejects(start(NEW, passkeys), { message: /^secret: / })
})
