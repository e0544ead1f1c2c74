import t from '../../support/tap.ts'
import type { Client } from '../../../lib/ports/client-store.ts'
import {
  isFirstParty,
  isNativeRedirect,
  mayBeAnsweredAt,
  mayUse,
  needsPkce,
  originsOf
} from '../../../lib/clients/rights.ts'

const CLIENT: Client = { clientId: 'app' }
const SECRET = 'x'.repeat(32)

t.test('a client without grant types may use codes and refresh tokens, and nothing else', async (t) => {
  t.equal(mayUse(CLIENT, 'authorization_code'), true)
  t.equal(mayUse(CLIENT, 'refresh_token'), true)
  t.equal(mayUse(CLIENT, 'password'), false)
  t.equal(mayUse(CLIENT, 'client_credentials'), false)
  t.equal(mayUse({ grantTypes: ['password'] }, 'authorization_code'), false)
  t.equal(mayUse({ grantTypes: [] }, 'refresh_token'), false)
})

t.test("only a client that says so is not the host's own", async (t) => {
  t.equal(isFirstParty(CLIENT), true)
  t.equal(isFirstParty({ firstParty: undefined }), true)
  t.equal(isFirstParty({ firstParty: false }), false)
  t.equal(isFirstParty(null), true, 'the account itself')
})

t.test('only a confidential client can go without PKCE', async (t) => {
  t.equal(needsPkce({}), true)
  t.equal(needsPkce({ requirePkce: false }), true)
  t.equal(needsPkce({ clientSecret: SECRET }), true)
  t.equal(needsPkce({ clientSecret: SECRET, requirePkce: false }), false)
})

t.test('a client is answered where it has registered, a native one on any port of the device', async (t) => {
  const redirectUris = ['http://127.0.0.1/cb', 'https://app.example/cb']
  t.equal(mayBeAnsweredAt(CLIENT, 'https://app.example/cb'), false, 'it has registered nothing')
  t.equal(mayBeAnsweredAt({ ...CLIENT, redirectUris }, 'https://app.example/cb'), true)
  t.equal(mayBeAnsweredAt({ ...CLIENT, redirectUris }, 'http://127.0.0.1:4000/cb'), false)
  t.equal(mayBeAnsweredAt({ ...CLIENT, redirectUris, applicationType: 'native' }, 'http://127.0.0.1:4000/cb'), true)
  t.equal(isNativeRedirect({ ...CLIENT, applicationType: 'native' }, 'http://127.0.0.1:4000/cb'), true)
  t.equal(isNativeRedirect({ ...CLIENT, applicationType: 'native' }, 'https://app.example/cb'), false)
  t.equal(isNativeRedirect(CLIENT, 'http://127.0.0.1:4000/cb'), false)
})

t.test('pages of a client are at the origins that it registers, else at those of its redirect URIs', async (t) => {
  t.strictSame(
    originsOf({
      redirectUris: [
        'https://app.example/a',
        'https://app.example:8443/',
        'http://localhost:3000/cb',
        'com.example:/cb',
        'javascript:alert(1)',
        'no URI'
      ]
    }),
    ['https://app.example', 'https://app.example:8443', 'http://localhost:3000']
  )
  t.strictSame(originsOf({}), [])
  t.strictSame(originsOf({ origins: [], redirectUris: ['https://app.example/a'] }), [])
  t.strictSame(originsOf({ origins: ['https://app.example', 'capacitor://localhost', 'null', 'no URL'] }), [
    'https://app.example',
    'capacitor://localhost'
  ])
})
