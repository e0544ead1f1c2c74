/** Passkeys over the JSON endpoints: added, used alone, used beside a password. */
import t from 'tap'
import { decodeJwt } from '../../support/jwt.ts'
import { addWith, asked, finish, grant, passkeyApp, signInOptions } from '../../support/passkeys.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER } from '../../support/app.ts'

t.test('a passkey signs in alone and beside a password, a security key beside a password alone', async (t) => {
  const subject = await passkeyApp(t)
  const reply = await grant(subject, subject.passkey.get(await signInOptions(subject)))
  t.equal(reply.statusCode, 200, reply.body)
  t.match(decodeJwt(reply.json<{ access_token: string }>().access_token).claims, { acr: 'phr', amr: ['pop', 'user', 'mfa'], sub: subject.sub })
  const step = await asked(subject)
  t.same(step.methods, ['passkey', 'recovery_code'])
  const done = await finish(subject, step.mfa_token, subject.passkey.get(step.passkey_options))
  t.equal(done.statusCode, 200, done.body)
  const key = softPasskey({ origin: ISSUER, verifiesUser: false })
  await addWith(subject, key, reply.json<{ access_token: string }>().access_token, 'security_key')
  const again = await asked(subject)
  const third = await finish(subject, again.mfa_token, key.get(again.passkey_options))
  t.match(decodeJwt(third.json<{ access_token: string }>().access_token).claims, { acr: 'phr', amr: ['pwd', 'pop', 'user', 'mfa'] }, third.body)
})
