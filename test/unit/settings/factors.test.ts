/**
 * Checks of the options of second factors, passkeys and codes by email: the errors of impossible combinations, and
 * accepted combinations.
 */
import { Redis } from 'ioredis'
import Database from 'libsql'
import t from '../../support/tap.ts'
import { google } from '../../../lib/connections/index.ts'
import {
  memoryFactorStore,
  memoryUserStore,
  postgresFactorStore,
  redisFactorStore,
  sqliteFactorStore,
  type StartError
} from '../../../lib/index.ts'
import { settingsOf } from '../../../lib/composition/compose.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../../lib/protocol/request-params.ts'

const base = {
  issuer: 'https://auth.example',
  users: memoryUserStore(),
  secret: 'a secret of more than 32 bytes, for tests only'
}
const factors = memoryFactorStore()
const sendMessage = async (): Promise<void> => {}
const app = { clientId: 'app', grantTypes: [TOKEN_EXCHANGE_GRANT] }
const ropc = (acr: string) => ({ clientId: 'ropc', grantTypes: ['password', 'refresh_token'], acr })
const connection = (more: object = {}) => google({ clientId: 'client', clientSecret: 'secret', ...more })

function refusal(options: object): string {
  try {
    settingsOf({ ...base, ...options })
    return 'taken'
  } catch (error) {
    t.equal((error as StartError).code, 'FST_AUTHORITY_INVALID_OPTIONS')
    return (error as StartError).message
  }
}

const rows: Array<[options: object, message: RegExp]> = [
  // The methods of the port, except the optional ones.
  ...Object.keys(factors)
    .filter((name) => !['kind', 'durable', 'keepSeal', 'prepare', 'pending', 'sweep'].includes(name))
    .map((name): [object, RegExp] => [
      { factors: { ...factors, [name]: undefined } },
      new RegExp(`^Invalid option "factors": .*lacks ${name}`)
    ]),
  [{ passkeys: {} }, /^Invalid option "passkeys": got an object; it takes nothing where the option factors is not set/],
  [{ passkeys: { rpName: undefined } }, /^Invalid option "passkeys"/],
  [{ passkeys: { prompt: false } }, /^Invalid option "passkeys"/],
  [
    { clients: [app] },
    /^Invalid option "clients\[0\]\.grantTypes": got "urn:ietf:params:oauth:grant-type:token-exchange"; it takes the token exchange only where a connection has audiences/
  ],
  [
    { clients: [{ clientId: 'other' }, app], connections: [connection()] },
    /^Invalid option "clients\[1\]\.grantTypes"/
  ],
  [
    { clients: [ropc('mfa')], pages: { loginUrl: '/sign-in' } },
    /^Invalid option "clients\[0\]\.acr": got "mfa"; it takes what the grant "password" can be worth where the client has no other \(with the option factors that is more\)/
  ],
  [
    { clients: [ropc('connection')], connections: [connection()] },
    /^Invalid option "clients\[0\]\.acr": got "connection"/
  ],
  [
    { factors, clients: [ropc('connection')], connections: [connection()] },
    /^Invalid option "clients\[0\]\.acr".*a sign-in elsewhere is none of it/
  ],
  [
    { factors, pages: false, mfa: { rememberDevice: {} } },
    /^Invalid option "mfa\.rememberDevice": got an object; it takes false where pages is false/
  ],
  [{ factors, pages: false, mfa: { rememberDevice: { expiresIn: 600 } } }, /^Invalid option "mfa\.rememberDevice"/],
  [
    { factors, mfa: { totpIssuer: 'Acme: Accounts' } },
    /^Invalid option "mfa\.totpIssuer": got "Acme: Accounts"; it takes a name without a colon/
  ],
  [
    { factors, mfa: { methods: ['totp', 'totp'] } },
    /^Invalid option "mfa\.methods": got an array of "totp", "totp"; it takes an array of .* each once/
  ],
  [{ factors, mfa: { methods: ['totp', 'passkey', 'recovery_code', 'passkey'] } }, /^Invalid option "mfa\.methods"/]
]

t.test('refuses impossible combinations of the options of second factors, and names the option', async (t) => {
  for (const [options, message] of rows) t.match(refusal(options), message)
})

t.test('accepts possible combinations of the options of second factors', async (t) => {
  const taken: object[] = [
    { passkeys: false },
    { passkeys: undefined },
    { passkeys: {}, factors },
    { mfa: {} },
    { clients: [app], connections: [connection({ audiences: ['ios'] })] },
    { factors, clients: [ropc('mfa')] },
    { factors, clients: [ropc('phr')] },
    { clients: [ropc('password')], pages: { loginUrl: '/sign-in' } },
    {
      clients: [
        {
          ...ropc('mfa'),
          grantTypes: ['password', 'authorization_code'],
          redirectUris: ['https://app.example/callback']
        }
      ],
      pages: { loginUrl: '/sign-in' }
    },
    { clients: { findById: async () => null } },
    { factors, pages: false, mfa: { rememberDevice: false } },
    { factors, pages: { loginUrl: '/sign-in' }, mfa: { rememberDevice: {} } },
    { factors, pages: { title: 'Acme: Accounts' } },
    { factors, mfa: { methods: ['passkey', 'totp'], totpIssuer: 'Acme' } },
    { factors, mfa: { methods: [] } },
    { emailSignIn: {}, sendMessage, pages: { loginUrl: '/sign-in' } }
  ]
  for (const options of taken) t.equal(refusal(options), 'taken', JSON.stringify(options))
})

t.test('requires a secret for a durable factor store, and none for one in memory', async (t) => {
  const db = new Database(':memory:')
  const client = new Redis({ lazyConnect: true })
  t.teardown(() => {
    db.close()
    client.disconnect()
  })
  const query = (): Promise<never> => Promise.reject(new Error('asked for nothing'))
  for (const factors of [sqliteFactorStore(db), postgresFactorStore({ query }), redisFactorStore(client)])
    t.match(refusal({ factors, secret: undefined }), /^Invalid option "secret": got nothing.*outlives the process/)
  t.equal(refusal({ factors: memoryFactorStore(), secret: undefined }), 'taken')
})

t.test('converts the lifetime of a remembered device to milliseconds', async (t) => {
  const remembered = (rememberDevice: { expiresIn?: number }): number | null | undefined =>
    settingsOf({ ...base, factors, mfa: { rememberDevice } }).shared.factors?.rememberDeviceMs
  t.equal(remembered({ expiresIn: 600 }), 600_000)
  t.equal(remembered({}), 30 * 86_400_000)
})
