/**
 * While the counters are unreachable, the process counts guesses at codes, or refuses them if the host says so. They
 * are never unlimited.
 */
import t from '../../support/tap.ts'
import { memoryFactorStore } from '../../../lib/index.ts'
import { signUp, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { enrol, codeFor, logIn } from '../../support/factors.ts'
import { startRedis } from '../../support/redis-server.ts'

// covers LIM-04
t.test('limits or refuses guesses at codes while the counters in Redis are unreachable', async (t) => {
  const server = await startRedis()
  t.teardown(async () => {
    await server.stop()
  })
  const admin = server.client()
  for (const onStoreError of ['deny', 'local'] as const) {
    await admin.acl('SETUSER', 'half', 'reset', 'on', '>word', '~*', '+@all')
    const subject = await testApp({
      redis: server.client({ username: 'half', password: 'word' }),
      factors: memoryFactorStore(),
      secret: 'a secret of thirty-two bytes and more',
      rateLimit: { login: false, account: false, onStoreError }
    })
    const { app, clock } = subject
    t.teardown(subject.close)
    await signUp(app, onStoreError)
    const browser = testBrowser(app)
    await logIn(browser, onStoreError)
    const { secret } = await enrol(subject, browser)
    clock.step(30_000)
    const stranger = testBrowser(app)
    await logIn(stranger, onStoreError)
    await admin.acl('SETUSER', 'half', 'resetkeys', '~authority:*')
    const give = async (code: string): Promise<number> =>
      (await stranger.submit('/auth/second-factor', { code })).statusCode
    const right = codeFor(secret, clock.now())
    if (onStoreError === 'deny') {
      t.same([await give('000000'), await give(right)], [503, 503])
      await admin.acl('SETUSER', 'half', '~*')
      clock.step(60_000)
      t.equal(await give(codeFor(secret, clock.now())), 303, 'nothing was used up')
    } else {
      const guesses = []
      for (let n = 0; n < 6; n++) guesses.push(await give('000000'))
      t.same(guesses, [400, 400, 400, 400, 400, 429])
      t.equal(await give(right), 429)
    }
  }
})
