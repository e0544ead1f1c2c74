import { type AuthorityOptions, type Client, memoryUserStore, type User, type UserStore } from '../../../lib/index.ts'
import { steppedClock, type SteppedClock } from '../../../lib/testing/index.ts'
import { freePort } from '../../support/free-port.ts'
import { CALLBACK, CLIENTS, LOGGED_OUT, openidApp, type OpenidApp, SECRET } from '../../support/openid.ts'
import { httpBrowser, type HttpBrowser } from './http-browser.ts'
import { readKeys, type PublicKey } from './jwt-checks.ts'

export interface Teardown {
  teardown(task: () => Promise<void>): void
}

/** Registrations of the suite's clients: with a secret and without PKCE, for HTTP Basic or the body. */
export interface SuiteClient {
  id: string
  secret: string
  redirectUri: string
  auth: 'basic' | 'post'
}
export const FIRST: SuiteClient = { id: 'suite', secret: SECRET, redirectUri: CALLBACK, auth: 'basic' }
export const SECOND: SuiteClient = {
  id: 'suite2',
  secret: `${SECRET} 2`,
  redirectUri: `${CALLBACK}?dummy1=lorem&dummy2=ipsum`,
  auth: 'basic'
}
export const BY_POST: SuiteClient = { id: 'suite3', secret: `${SECRET} 3`, redirectUri: CALLBACK, auth: 'post' }

const THIRD: Client = {
  clientId: 'suite3',
  clientSecret: BY_POST.secret,
  requirePkce: false,
  redirectUris: [CALLBACK],
  postLogoutRedirectUris: [LOGGED_OUT]
}
export const SUITE_CLIENTS: Client[] = [...CLIENTS, THIRD]
export const SUITE_SCOPES = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']

/** All standard claims, as rows of a user store have them. */
const PROFILE = {
  name: 'Ann Example',
  given_name: 'Ann',
  family_name: 'Example',
  middle_name: 'B.',
  nickname: 'Annie',
  profile: 'https://ann.example/',
  picture: 'https://ann.example/me.jpg',
  website: 'https://ann.example/blog',
  gender: 'female',
  birthdate: '1987-10-16',
  zoneinfo: 'Europe/Berlin',
  locale: 'de-DE',
  updated_at: new Date('2025-12-31T12:00:00.500Z'),
  email: 'ann@example.com',
  emailVerified: true,
  phone_number: '+49 30 901820',
  phone_number_verified: false,
  address: {
    formatted: 'Unter den Linden 1\n10117 Berlin',
    street_address: 'Unter den Linden 1',
    locality: 'Berlin',
    postal_code: '10117',
    country: 'DE'
  }
}

export interface Op extends Pick<OpenidApp, 'clock'> {
  issuer: string
  document: Readonly<Record<string, unknown>>
  keys: PublicKey[]
  /** The URL in a member of the metadata. */
  endpoint(name: string): string
  /** A browser of another person, or of the same one in private mode. */
  newBrowser(): HttpBrowser
}

/** The provider on a socket of its own, as the suite finds it: by its discovery document. */
export async function startOp(
  t: Teardown,
  { clients = SUITE_CLIENTS, clock = steppedClock() }: { clients?: Client[]; clock?: SteppedClock } = {}
): Promise<Op> {
  // The issuer must be known before the server listens.
  const port = await freePort()
  const issuer = `http://localhost:${port}`
  const options: Partial<AuthorityOptions> = {
    issuer,
    clients,
    clock,
    scopes: SUITE_SCOPES,
    users: withProfiles(memoryUserStore())
  }
  const { app, close } = await openidApp(options)
  t.teardown(close)
  await app.listen({ port, host: 'localhost' })
  const document = await json(`${issuer}/.well-known/openid-configuration`)
  const endpoint = (name: string): string => String(document[name])
  const keys = readKeys(await json(endpoint('jwks_uri')))
  return { clock, issuer, document, keys, endpoint, newBrowser: () => httpBrowser(issuer) }
}

async function json(url: string): Promise<Record<string, unknown>> {
  const response = await fetch(url)
  if (response.status !== 200 || response.headers.get('content-type')?.startsWith('application/json') !== true)
    throw new Error(`${url}: ${response.status} ${String(response.headers.get('content-type'))}`)
  return (await response.json()) as Record<string, unknown>
}

function withProfiles(store: ReturnType<typeof memoryUserStore>): UserStore {
  const known = (user: User | null): User | null => (user === null ? null : { ...user, ...PROFILE })
  return {
    ...store,
    findById: async (id) => known(await store.findById(id)),
    findByUsername: async (username) => known(await store.findByUsername(username))
  }
}
