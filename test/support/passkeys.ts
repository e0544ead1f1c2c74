/** A user with a passkey, added and used over the JSON endpoints, as by a host's own front end. */
import type { AuthorityOptions } from '../../lib/index.ts'
import {
  authAs,
  softPasskey,
  type SoftAssertion,
  type SoftPasskey,
  type SoftPasskeyOptions
} from '../../lib/testing/index.ts'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../../lib/protocol/webauthn-options.ts'
import {
  bearer,
  ISSUER,
  type LightMyRequestResponse,
  PASSWORD,
  signIn,
  signUp,
  type TestApp,
  type testApp
} from './app.ts'
import { type FactorApp, factorApp } from './factors.ts'

export const PASSKEY_GRANT = 'urn:fastify-authority:grant-type:passkey'
export const MFA_GRANT = 'urn:fastify-authority:grant-type:mfa'

export interface PasskeyApp extends FactorApp {
  passkey: SoftPasskey
  /** The access token of the sign-in that added it; good for changes for five minutes. */
  token: string
  factorId: string
}

type App = Pick<TestApp, 'app'>

export const post = async (
  { app }: App,
  url: string,
  payload: object | undefined,
  token?: string,
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> =>
  await app.inject({
    method: 'POST',
    url,
    ...(payload === undefined ? {} : { payload }),
    headers: { ...(token === undefined ? {} : bearer(token)), ...headers }
  })

export async function creationOptions(
  subject: App,
  token: string,
  kind?: 'passkey' | 'security_key'
): Promise<PasskeyCreationOptions> {
  const reply = await post(subject, '/auth/factors/passkeys/options', kind === undefined ? undefined : { kind }, token)
  if (reply.statusCode !== 200) throw new Error(`options: ${reply.statusCode} ${reply.body}`)
  return reply.json<{ options: PasskeyCreationOptions }>().options
}

export const add = async (
  subject: App,
  token: string,
  credential: unknown,
  name?: string
): Promise<LightMyRequestResponse> =>
  await post(subject, '/auth/factors/passkeys', { credential, ...(name === undefined ? {} : { name }) }, token)

/** Adds a passkey of this authenticator. */
export async function addWith(
  subject: App,
  passkey: SoftPasskey,
  token: string,
  kind?: 'passkey' | 'security_key'
): Promise<{ id: string }> {
  const reply = await add(subject, token, passkey.create(await creationOptions(subject, token, kind)))
  if (reply.statusCode !== 201) throw new Error(`add: ${reply.statusCode} ${reply.body}`)
  return reply.json()
}

export async function signInOptions({ app }: App): Promise<PasskeyRequestOptions> {
  return (await app.inject('/auth/passkey-challenge')).json<{ options: PasskeyRequestOptions }>().options
}

export const grant = async (
  subject: App,
  credential: object | string,
  extra: Record<string, string> = {},
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> =>
  await post(
    subject,
    '/auth/token',
    {
      grant_type: PASSKEY_GRANT,
      credential: typeof credential === 'string' ? credential : JSON.stringify(credential),
      ...extra
    },
    undefined,
    headers
  )

/** The password grant's answer to a user with a second factor. */
export async function asked(
  subject: App,
  username = 'ann'
): Promise<{ mfa_token: string; methods: string[]; passkey_options: PasskeyRequestOptions }> {
  return (await post(subject, '/auth/token', { grant_type: 'password', username, password: PASSWORD })).json()
}

export const finish = async (
  subject: App,
  ticket: string,
  credential: SoftAssertion
): Promise<LightMyRequestResponse> =>
  await post(subject, '/auth/token', {
    grant_type: MFA_GRANT,
    mfa_token: ticket,
    credential: JSON.stringify(credential)
  })

/** Another person with a passkey of theirs, and two-step sign-in on. */
export async function somebody(
  subject: Pick<FactorApp, 'app' | 'store'>,
  username: string,
  options: Partial<SoftPasskeyOptions> = {}
): Promise<{ sub: string; passkey: SoftPasskey; token: string; factorId: string }> {
  const { sub } = await signUp(subject.app, username)
  const { access_token: token } = await signIn(subject.app, username)
  const passkey = softPasskey({ origin: ISSUER, ...options })
  const { id: factorId } = await addWith(subject, passkey, token)
  await subject.store.setTwoStep({ userId: sub, on: true })
  return { sub, passkey, token, factorId }
}

/** Turns two-step sign-in on with recovery codes, directly in the store: no sign-in ends, and no message is sent. */
export async function turnTwoStepOn({ app, store, sub, events }: FactorApp): Promise<string[]> {
  await store.setTwoStep({ userId: sub, on: true })
  const told = events.length
  const before = (await app.authority.sessions(sub)).map(({ id }) => id)
  const headers = await authAs(app, { id: sub }, { acr: 'phr' })
  const reply = await app.inject({ method: 'POST', url: '/auth/factors/recovery-codes', headers })
  for (const { id } of await app.authority.sessions(sub))
    if (!before.includes(id)) await app.authority.revokeSession(sub, id)
  events.length = told
  return reply.json<{ recovery_codes: string[] }>().recovery_codes
}

/** Ann, who has a passkey, and two-step sign-in on. */
export async function passkeyApp(
  t: { teardown(close: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {},
  soft: Partial<SoftPasskeyOptions> = {},
  before?: Parameters<typeof testApp>[2],
  { twoStep = true } = {}
): Promise<PasskeyApp> {
  const subject = await factorApp(t, options, { enrolled: false, ...(before === undefined ? {} : { before }) })
  const { access_token: token } = await signIn(subject.app)
  const passkey = softPasskey({ origin: ISSUER, ...soft })
  const { id } = await addWith(subject, passkey, token)
  return { ...subject, passkey, token, factorId: id, codes: twoStep ? await turnTwoStepOn(subject) : [] }
}
