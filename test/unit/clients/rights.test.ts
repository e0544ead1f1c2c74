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

t.test('allows a client without grantTypes only authorization codes and refresh tokens', async (t) => {
  t.equal(mayUse(CLIENT, 'authorization_code'), true)
  t.equal(mayUse(CLIENT, 'refresh_token'), true)
  t.equal(mayUse(CLIENT, 'password'), false)
  t.equal(mayUse(CLIENT, 'client_credentials'), false)
  t.equal(mayUse({ grantTypes: ['password'] }, 'authorization_code'), false)
  t.equal(mayUse({ grantTypes: [] }, 'refresh_token'), false)
})

t.test('treats every client as first-party unless it sets firstParty to false', async (t) => {
  t.equal(isFirstParty(CLIENT), true)
  t.equal(isFirstParty({ firstParty: undefined }), true)
  t.equal(isFirstParty({ firstParty: false }), false)
  t.equal(isFirstParty(null), true, 'the account itself')
})

t.test('requires PKCE of every client except a confidential one that opts out', async (t) => {
  t.equal(needsPkce({}), true)
  t.equal(needsPkce({ requirePkce: false }), true)
  t.equal(needsPkce({ clientSecret: SECRET }), true)
  t.equal(needsPkce({ clientSecret: SECRET, requirePkce: false }), false)
})

t.test('accepts a registered redirect URI, and another loopback port only for a native client', async (t) => {
  const redirectUris = ['http://127.0.0.1/cb', 'https://app.example/cb']
  t.equal(mayBeAnsweredAt(CLIENT, 'https://app.example/cb'), false, 'it has registered nothing')
  t.equal(mayBeAnsweredAt({ ...CLIENT, redirectUris }, 'https://app.example/cb'), true)
  t.equal(mayBeAnsweredAt({ ...CLIENT, redirectUris }, 'http://127.0.0.1:4000/cb'), false)
  t.equal(mayBeAnsweredAt({ ...CLIENT, redirectUris, applicationType: 'native' }, 'http://127.0.0.1:4000/cb'), true)
  t.equal(isNativeRedirect({ ...CLIENT, applicationType: 'native' }, 'http://127.0.0.1:4000/cb'), true)
  t.equal(isNativeRedirect({ ...CLIENT, applicationType: 'native' }, 'https://app.example/cb'), false)
  t.equal(isNativeRedirect(CLIENT, 'http://127.0.0.1:4000/cb'), false)
})

t.test('derives origins from redirect URIs unless the client registers origins', async (t) => {
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
