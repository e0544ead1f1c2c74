/** Every event of second factors with its exact payload, and every field value that lib/events.ts allows. */
import { readFileSync } from 'node:fs'
import t, { type Test } from '../../support/tap.ts'
import { memoryFactorStore } from '../../../lib/index.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { enrol, type FactorApp, factorApp, formOf, logIn } from '../../support/factors.ts'
import {
  addWith,
  asked,
  finish,
  grant,
  MFA_GRANT,
  type PasskeyApp,
  passkeyApp,
  post,
  signInOptions
} from '../../support/passkeys.ts'
import { ask, emailApp, enter } from '../email-codes/support.ts'

type Facts = Record<string, unknown>
type Told = Pick<FactorApp, 'events' | 'sub'>
interface Row<Subject extends Told = FactorApp> {
  event: string
  subject: (t: Test) => Promise<Subject>
  /** Raises the event once, and returns its expected facts besides `userId`. */
  act: (subject: Subject) => Promise<Facts>
}

const withApp = async (t: Test): Promise<FactorApp> => await factorApp(t)
const withPasskey = async (t: Test): Promise<PasskeyApp> => await passkeyApp(t)
const bare = async (t: Test): Promise<FactorApp> => await factorApp(t, {}, { enrolled: false })

async function give(subject: FactorApp, proof: Facts): Promise<number> {
  return (
    await post(subject, '/auth/token', { grant_type: MFA_GRANT, mfa_token: (await asked(subject)).mfa_token, ...proof })
  ).statusCode
}
const idOf = async ({ app, sub }: FactorApp): Promise<string> => (await app.authority.factors(sub)).factors[0]?.id ?? ''
const wrongCode = (subject: FactorApp): string => subject.code(5)

/** The session in which the app was set up, fresh again, and worth `mfa`. */
async function fresh({ app, code }: FactorApp, remember = {}) {
  const browser = testBrowser(app)
  await logIn(browser)
  await browser.submit('/auth/second-factor', { code: code(), ...remember })
  return browser
}
async function sidOf({ app, sub }: FactorApp): Promise<unknown> {
  return (await app.authority.sessions(sub)).toSorted(
    (one, other) => Number(other.createdAt) - Number(one.createdAt)
  )[0]?.id
}

const freshToken = async (subject: PasskeyApp): Promise<string> =>
  (await grant(subject, subject.passkey.get(await signInOptions(subject)))).json<{ access_token: string }>()
    .access_token

const ROWS: Row[] = []
function add<Subject extends Told>(event: string, subject: Row<Subject>['subject'], act: Row<Subject>['act']): void {
  ROWS.push({ event, subject, act } as unknown as Row)
}

add('second_factor_failed', withApp, async (subject) => {
  await give(subject, { otp: wrongCode(subject) })
  return { kind: 'totp', reason: 'wrong', clientId: null }
})
add('second_factor_failed', withApp, async (subject) => {
  await give(subject, { otp: subject.code() })
  await give(subject, { otp: subject.code() })
  return { kind: 'totp', reason: 'replayed', clientId: null }
})
add('second_factor_failed', withApp, async (subject) => {
  for (let failures = 0; failures < 100; failures++) await subject.store.countFailure({ userId: subject.sub, max: 100 })
  await give(subject, { otp: subject.code() })
  return { kind: 'totp', reason: 'disabled', clientId: null }
})
add('second_factor_failed', withApp, async (subject) => {
  await give(subject, { recovery_code: '0000-0000-0000-0000' })
  return { kind: 'recovery_code', reason: 'wrong', clientId: null }
})
add('second_factor_failed', withPasskey, async (subject) => {
  const { mfa_token: ticket, passkey_options: options } = await asked(subject)
  const credential = subject.passkey.get(options)
  await finish(subject, ticket, { ...credential, response: { ...credential.response, signature: 'AAAA' } })
  return { kind: 'passkey', reason: 'wrong', clientId: null }
})
add('second_factor_failed', withPasskey, async (subject) => {
  const { mfa_token: ticket, passkey_options: options } = await asked(subject)
  const credential = subject.passkey.get(options)
  await finish(subject, ticket, credential)
  await finish(subject, ticket, credential)
  return { kind: 'passkey', reason: 'replayed', clientId: null }
})
add('factor_replayed', withApp, async (subject) => {
  await give(subject, { otp: subject.code() })
  await give(subject, { otp: subject.code() })
  return { factorId: await idOf(subject) }
})
add('factor_disabled', withApp, async (subject) => {
  for (let failures = 0; failures < 99; failures++) await subject.store.countFailure({ userId: subject.sub, max: 100 })
  await give(subject, { otp: wrongCode(subject) })
  return { kind: 'totp' }
})
add('factor_added', bare, async (subject) => {
  const { access_token: token } = (
    await post(subject, '/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD })
  ).json<{ access_token: string }>()
  const { id } = await addWith(subject, softPasskey({ origin: ISSUER }), token)
  return { factorId: id, kind: 'passkey', sid: await sidOf(subject) }
})
add('factor_added', bare, async (subject) => {
  const { browser } = subject
  await logIn(browser)
  await enrol(subject, browser)
  return { factorId: await idOf(subject), kind: 'totp', sid: await sidOf(subject) }
})
add('factor_removed', withApp, async (subject) => {
  const factorId = await idOf(subject)
  const browser = await fresh(subject)
  const { action, fields } = formOf((await browser.get('/auth/security')).body)
  await browser.submit(action, { ...fields, decision: 'remove' })
  return { factorId, kind: 'totp', by: 'user' }
})
add('factor_removed', withPasskey, async (subject) => {
  await subject.app.inject({
    method: 'DELETE',
    url: `/auth/factors/${subject.factorId}`,
    headers: bearer(await freshToken(subject))
  })
  return { factorId: subject.factorId, kind: 'passkey', by: 'user' }
})
add('factor_removed', withPasskey, async ({ app, sub, factorId }) => {
  await app.authority.removeFactor(sub, factorId, { by: 'carol' })
  return { factorId, kind: 'passkey', by: 'host', admin: 'carol' }
})
add('factor_removed', withApp, async ({ app, sub }) => {
  await app.authority.resetFactors(sub)
  return { factorId: null, kind: null, by: 'host' }
})
add('factor_removed', withApp, async ({ app, sub }) => {
  await app.authority.resetFactors(sub, { by: 'admin-7' })
  return { factorId: null, kind: null, by: 'host', admin: 'admin-7' }
})
add(
  'factor_removed',
  async (t) => {
    const factors = memoryFactorStore()
    const subject = await emailApp(t, { factors }, { verified: false })
    await factors.addTotp({
      userId: subject.sub,
      factor: {
        id: 'thief',
        sealedSecret: 'sealed',
        lastStep: 0,
        failures: 0,
        knownFailures: 0,
        disabled: false,
        name: null,
        createdAt: 0,
        lastUsedAt: null,
        provisional: true
      },
      limit: 10
    })
    return subject
  },
  async ({ browser, mail }) => {
    await ask(browser)
    await enter(browser, (await mail()).code)
    return { factorId: 'thief', kind: 'totp', by: 'mailbox' }
  }
)
add('recovery_code_used', withApp, async (subject) => {
  await give(subject, { recovery_code: subject.codes[0] })
  return { left: 9 }
})
add('recovery_codes_replaced', withPasskey, async (subject) => {
  const token = await freshToken(subject)
  await post(subject, '/auth/factors/recovery-codes', undefined, token)
  return { sid: (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Facts)['sid'] }
})
add(
  'device_remembered',
  async (t) => await factorApp(t, { mfa: { rememberDevice: {} } }),
  async (subject) => {
    await fresh(subject, { remember: 'on' })
    return { sid: String }
  }
)
add('devices_forgotten', withApp, async ({ app, sub }) => {
  await app.authority.forgetDevices(sub)
  return { by: 'host' }
})
add(
  'devices_forgotten',
  async (t) => await factorApp(t, { mfa: { rememberDevice: {} } }),
  async (subject) => {
    const browser = await fresh(subject, { remember: 'on' })
    const { body } = await browser.get('/auth/security')
    await browser.submit(formOf(body, body.indexOf('Remembered browsers')).action, { decision: 'forget' })
    return { by: 'user' }
  }
)

/** `event field value` of all raised events. */
const seen = new Set<string>()

for (const [index, { event, subject: make, act }] of ROWS.entries()) {
  t.test(`emits ${event} once with its exact fields: case ${index}`, async (t) => {
    const subject = await make(t)
    subject.events.length = 0
    const expected = { userId: subject.sub, ...(await act(subject)) }
    const told = subject.events.filter(({ name }) => name === event).map(({ payload }) => payload as Facts)
    t.equal(told.length, 1)
    const { time, requestId, ip, userAgent, ...facts } = told[0] ?? {}
    t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.equal(requestId === null, ip === undefined && userAgent === undefined, 'where the host asked there is no request')
    t.strictSame(Object.keys(facts).toSorted(), Object.keys(expected).toSorted())
    t.match(facts, expected)
    for (const [field, value] of Object.entries(facts)) seen.add(`${event} ${field} ${String(value)}`)
  })
}

t.test('emits every second factor event, with every field value that the event types list', async (t) => {
  const source = readFileSync(new URL('../../../lib/events.ts', import.meta.url), 'utf8')
  const named = [
    ...source.matchAll(
      /^ {2}(second_factor_failed|factor_\w+|recovery_code\w+|device_remembered|devices_forgotten): \{\s([^}]*)\}$/gm
    )
  ].flatMap(([, event = '', fields = '']) =>
    [...fields.matchAll(/(\w+)\??: ((?:\s*\|?\s*'\w+')+)/g)].flatMap(([, field = '', values = '']) =>
      [...values.matchAll(/'(\w+)'/g)].map(([, value = '']) => `${event} ${field} ${value}`)
    )
  )
  t.ok(named.length >= 13, String(named.length))
  t.strictSame(
    named.filter((one) => !seen.has(one)),
    []
  )
  const events = [
    ...source.matchAll(
      /^ {2}(second_factor_failed|factor_\w+|recovery_code\w+|device_remembered|devices_forgotten): \{/gm
    )
  ].map(([, event]) => event)
  t.strictSame(
    events.filter((event) => !ROWS.some((row) => row.event === event)),
    []
  )
})
