/** A service with APIs, and a function that asks its token endpoint. */
import type { Test } from '../../support/tap.ts'
import type { AuthorityOptions, Client } from '../../../lib/index.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { ISSUER } from '../../support/app.ts'
import { authorizePath, basic, CALLBACK, KEYS, openidApp, type OpenidApp, SECRET } from '../../support/openid.ts'

export const ORDERS = 'https://orders.example.com'
export const MAIL = `${ISSUER}/mail`
const RESOURCES: AuthorityOptions['resources'] = [
  {
    resource: ORDERS,
    name: 'Orders',
    scopes: { 'orders:read': 'see your orders', 'orders:write': { en: 'change your orders' } },
    accessToken: { expiresIn: 120, alg: 'RS256' }
  },
  { resource: '/mail', scopes: { 'mail:read': 'read your mail' } },
  { resource: 'https://internal.example.com/v1', scopes: ['internal'], allowedClients: ['machine'] }
]
const CLIENTS: Client[] = [
  { clientId: 'spa', redirectUris: [CALLBACK], grantTypes: ['authorization_code', 'refresh_token', 'password'] },
  { clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials'] },
  {
    clientId: 'orders-api',
    clientSecret: SECRET,
    grantTypes: ['client_credentials'],
    introspects: [`${ORDERS}/`],
    resources: [ORDERS]
  },
  { clientId: 'other', redirectUris: [CALLBACK], firstParty: false, resources: [ORDERS], name: 'Other' }
]

export async function started(t: Test, options: Partial<AuthorityOptions> = {}): Promise<OpenidApp> {
  const test = await openidApp({ clients: CLIENTS, resources: RESOURCES, keys: KEYS, ...options })
  t.teardown(test.close)
  return test
}

export async function token(
  { app }: Pick<OpenidApp, 'app'>,
  params: Record<string, string> | string,
  headers: Record<string, string> = {}
): Promise<{ status: number; body: Record<string, string>; claims: Record<string, unknown> }> {
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: String(new URLSearchParams(params))
  })
  const body = reply.json<Record<string, string>>()
  return {
    status: reply.statusCode,
    body,
    claims: body.access_token === undefined ? {} : decodeJwt(body.access_token).claims
  }
}

export const password = { grant_type: 'password', username: 'ann', password: 'correct horse battery', client_id: 'spa' }
export const machine = { grant_type: 'client_credentials' }
export const asMachine = basic('machine', SECRET)

export const path = (resources: string[], params: Record<string, string | undefined> = {}): string =>
  authorizePath(params) + resources.map((one) => `&resource=${encodeURIComponent(one)}`).join('')
