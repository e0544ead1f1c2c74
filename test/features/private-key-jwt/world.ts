/** A client with a key, and its requests. */
import { randomUUID } from 'node:crypto'
import type { AuthorityOptions, Client } from '../../../lib/index.ts'
import { ISSUER, testApp, type TestApp } from '../../support/app.ts'
import type { Test } from '../../support/tap.ts'
import { jws, type SigningKey, signingKey } from '../resource/world.ts'

export const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
export const SECRET = 'c2VjcmV0IG9mIDMyIGJ5dGVzIG9yIG1vcmU'
export const KEY = signingKey('ES256', 'k1')
export const publicJwk = (key: SigningKey): Record<string, unknown> => ({ ...key.jwk, kid: key.kid })
export const machine: Client = {
  clientId: 'machine',
  jwks: { keys: [publicJwk(KEY)] },
  grantTypes: ['client_credentials', 'password', 'refresh_token'],
  scopes: ['read']
}
export const shop: Client = {
  clientId: 'shop',
  clientSecret: SECRET,
  grantTypes: ['client_credentials'],
  scopes: ['read']
}

export async function started(t: Test, options: Partial<AuthorityOptions> = {}): Promise<TestApp> {
  const test = await testApp({ scopes: ['openid', 'offline_access', 'read'], clients: [machine, shop], ...options })
  t.teardown(test.close)
  return test
}

export interface Changes {
  header?: Record<string, unknown>
  payload?: Record<string, unknown>
  key?: SigningKey
}

export function assertionOf({ clock }: Pick<TestApp, 'clock'>, { header, payload, key = KEY }: Changes = {}): string {
  const now = clock.now() / 1000
  return jws(
    { alg: key.alg, kid: key.kid, typ: 'JWT', ...header },
    { iss: 'machine', sub: 'machine', aud: ISSUER, jti: randomUUID(), iat: now, exp: now + 60, ...payload },
    key
  )
}

export async function ask(
  { app }: Pick<TestApp, 'app'>,
  params: Record<string, unknown>,
  { url = '/auth/token', headers = {} }: { url?: string; headers?: Record<string, string> } = {}
): Promise<{ status: number; body: Record<string, string> }> {
  const payload = url === '/auth/token' ? { grant_type: 'client_credentials', ...params } : { token: 'x', ...params }
  const reply = await app.inject({ method: 'POST', url, headers, payload })
  return { status: reply.statusCode, body: reply.json() }
}
export const signed = (assertion: string): Record<string, string> => ({
  client_assertion_type: TYPE,
  client_assertion: assertion
})
export const refusal = ({ status, body }: { status: number; body: Record<string, string> }): unknown[] => [
  status,
  body.error
]
