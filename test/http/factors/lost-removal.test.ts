/** A removal whose answer the store lost: whoever asked can't repeat it, so the rest of it follows by itself. */
import t from '../../support/tap.ts'
import { authAs } from '../../../lib/testing/index.ts'
import { bearer } from '../../support/app.ts'
import { passkeyApp } from '../../support/passkeys.ts'

t.test('finishes a removal whose answer the store lost, once', async (t) => {
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
