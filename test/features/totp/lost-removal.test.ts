/** A removal whose answer the store lost. The user can't repeat it, so the remaining steps follow automatically. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState } from '../../../lib/index.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { authAs } from '../../../lib/testing/index.ts'
import { bearer, type TestApp } from '../../support/app.ts'
import { ask, emailApp, enter } from '../email-codes/support.ts'
import { factorApp, formOf } from '../../support/factors.ts'
import { passkeyApp } from '../../support/passkeys.ts'

t.test('finishes the removal of a factor once when the answer of the store is lost', async (t) => {
  const subject = await passkeyApp(t, {}, {}, undefined, { twoStep: false })
  const { app, store } = subject
  await subject.messages.next('factor_added')
  const { authorization } = await authAs(app, { id: subject.sub }, { acr: 'phr' })
  const act = store.removeFactor.bind(store)
  store.removeFactor = async (removal) => {
    store.removeFactor = act
    await act(removal)
    throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
  }
  const url = `/auth/factors/${subject.factorId}`
  t.equal((await app.inject({ method: 'DELETE', url, headers: { authorization } })).statusCode, 503)
  t.match(await subject.messages.next('factor_removed'), { factor: 'passkey', by: 'user' })
  for (const headers of [{ authorization }, bearer(subject.token)])
    t.equal((await app.inject({ url: '/auth/factors', headers })).statusCode, 401)
  t.equal(subject.events.filter(({ name }) => name === 'factor_removed').length, 1)
})

const outage = (): Error => Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })

t.test('sends one message for the removal of a factor that failed and was repeated', async (t) => {
  const subject = await factorApp(t)
  const { app, clock, store, sub } = subject
  const act = store.removeFactor.bind(store)
  store.removeFactor = async () => {
    store.removeFactor = act
    throw outage()
  }
  const [factor] = (await app.authority.factors(sub)).factors
  await t.rejects(app.authority.removeFactor(sub, factor?.id ?? ''), { message: 'the server is gone' })
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  await app.authority.removeFactor(sub, factor?.id ?? '')
  for (const ms of [1_000, 10_000]) {
    clock.step(ms)
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  }
  await app.close()
  t.same(told(subject), [['host'], ['host']])
})

/** The answer of the next call of this method is lost. */
function loseOnce(store: FactorStore, name: 'removeFactorsOfUser' | 'removeProvisional'): void {
  const act = Reflect.get(store, name) as (userId: string) => Promise<unknown>
  Reflect.set(store, name, async (userId: string) => {
    Reflect.set(store, name, act)
    await act.call(store, userId)
    throw outage()
  })
}

const told = ({ events, messages }: TestApp): [unknown[], unknown[]] => [
  events.filter(({ name }) => name === 'factor_removed').map(({ payload }) => payload['by']),
  messages.messages.filter(({ kind }) => kind === 'factor_removed').map((message) => Reflect.get(message, 'by'))
]

for (const first of ['a check after the reply', 'a repeated reset'] as const)
  t.test(`sends one message for a reset whose answer the store lost, by ${first}`, async (t) => {
    const subject = await factorApp(t)
    const { app, sub, store, broken, clock } = subject
    loseOnce(store, 'removeFactorsOfUser')
    const reset = app.authority.resetFactors(sub, { by: 'admin-7' })
    if (first === 'a repeated reset') {
      const remove = store.removeFactorsOfUser.bind(store)
      store.removeFactorsOfUser = async (userId) => {
        broken.add('findFactors')
        return await remove(userId)
      }
    }
    await t.rejects(reset, { message: 'the server is gone' })
    if (first === 'a check after the reply') await subject.messages.next('factor_removed')
    broken.clear()
    t.equal(await app.authority.resetFactors(sub, { by: 'admin-7' }), 0)
    for (const ms of [1_000, 10_000]) {
      clock.step(ms)
      await new Promise(setImmediate)
    }
    await app.close()
    t.same(told(subject), [['host'], ['host']])
  })

t.test('sends no message for a reset that found no factor', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  t.equal(await subject.app.authority.resetFactors(subject.sub), 0)
  await subject.app.close()
  t.same(told(subject), [[], []])
})

t.test('sends one message for a provisional factor whose removal by an email code lost its answer', async (t) => {
  const factors = memoryFactorStore()
  const subject = await emailApp(t, { factors }, { verified: false })
  const { sub, browser, app, clock } = subject
  const app1 = { id: 'thief', sealedSecret: 'sealed', lastStep: 0, failures: 0, knownFailures: 0, disabled: false }
  const factor = { ...app1, name: null, createdAt: 0, lastUsedAt: null, provisional: true }
  await factors.addTotp({ userId: sub, factor, limit: 10 })
  loseOnce(factors, 'removeProvisional')
  await ask(browser)
  t.equal((await enter(browser, (await subject.mail()).code)).statusCode, 503)
  await subject.messages.next('factor_removed')
  clock.step(60_000)
  await ask(browser)
  t.equal((await enter(browser, (await subject.mail()).code)).statusCode, 303)
  await app.close()
  t.same(told(subject), [['mailbox'], ['user']])
})

t.test('keeps the last factor if the acr of the current session cannot be lowered first', async (t) => {
  const state = memoryState()
  let isDown = false
  const sessions = {
    ...state.browserSessions,
    async renewSession(...given: Parameters<typeof state.browserSessions.renewSession>) {
      if (isDown) throw outage()
      return await state.browserSessions.renewSession(...given)
    }
  }
  const { app, sub, browser } = await factorApp(t, { state: { ...state, browserSessions: sessions } })
  const { action, fields } = formOf((await browser.get('/auth/security')).body)
  isDown = true
  t.equal((await browser.submit(action, { ...fields, decision: 'remove' })).statusCode, 503)
  isDown = false
  t.equal((await app.authority.factors(sub)).factors.length, 1)
  t.match(await browser.submit(action, { ...fields, decision: 'remove' }), {
    statusCode: 303,
    headers: { location: /done=factor_removed/ }
  })
  t.equal((await app.authority.factors(sub)).factors.length, 0)
  t.equal((await browser.get('/auth/security')).statusCode, 200, 'the session goes on')
})
