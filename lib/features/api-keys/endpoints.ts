import { type Static, Type } from '@sinclair/typebox'
import { timeOf } from '../../accounts/export-user.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import type { ApiKeys, NewApiKey } from '../../accounts/slots.ts'
import { OAuthError } from '../../errors.ts'
import { accountOf } from '../../http/edge/caller-guards.ts'
import { originOf } from '../../http/edge/request-origin.ts'
import { type Endpoint, endpoint, type HttpDeps } from '../../http/edge/endpoint.ts'
import { Empty, Id } from '../../http/edge/schemas.ts'
import { namedResources } from '../../oauth/target.ts'
import type { ApiKeyRecord } from '../../ports/api-key-store.ts'
import type { Client } from '../../ports/client-store.ts'
import { resourceUrl } from '../../protocol/resource.ts'
import { allowedScopes } from '../../tokens/disclosure.ts'

const Time = Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339' })
const ApiKey = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  resource: Type.Union([Type.String(), Type.Null()], { description: '`null`: the own routes of the host.' }),
  created_at: Type.String({ description: 'RFC 3339' }),
  last_used_at: Time,
  expires_at: Time
})

/** Describes a key for its user and for administrators, without the secret. */
export const shownKey = ({
  id,
  name,
  scopes,
  resource,
  createdAt,
  lastUsedAt,
  expiresAt
}: ApiKeyRecord): Static<typeof ApiKey> => ({
  id,
  name,
  scopes: [...scopes],
  resource,
  created_at: new Date(createdAt).toISOString(),
  last_used_at: timeOf(lastUsedAt),
  expires_at: timeOf(expiresAt)
})

/**
 * Checks a key that a client creates with its user's access token. The key can't have scopes or an API that the client
 * itself may not have. @throws OAuthError `invalid_scope`, `invalid_target`
 */
function requireRights(
  client: Client,
  { scopes = [], resource }: Pick<NewApiKey, 'scopes'> & { resource?: string },
  grants: HttpDeps['grants']
): void {
  const allowed = allowedScopes(client, grants.scopes)
  const others = scopes.filter((scope) => !allowed.includes(scope))
  if (others.length > 0)
    throw new OAuthError('invalid_scope', `The client can't have these scopes: ${others.join(' ')}.`)
  if (resource !== undefined) namedResources({ resource: resourceUrl(resource, grants.issuer) }, client, grants)
}

/** The endpoints for the API keys of the signed-in user. */
export function apiKeyEndpoints(keys: ApiKeys): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api-keys',
      callers: 'account',
      summary: 'List my API keys',
      what: "Lists the user's API keys, the oldest first, also expired ones. No key itself is among the answers.",
      answers: { 200: Type.Object({ api_keys: Type.Array(ApiKey) }) },
      handle: async (request) => ({ api_keys: (await keys.list(accountOf(request).user.id)).map(shownKey) })
    }),
    endpoint({
      method: 'POST',
      path: '/api-keys',
      callers: 'account',
      summary: 'Create an API key',
      what:
        'Makes a key. `key` is in this answer alone. Without `scopes` the key has none. `resource` is an API of ' +
        'the service, and without it the key is for the own routes of the host. `expires_in` is in seconds. ' +
        'By the token of a client, scopes and API are among those of the client. There is the event ' +
        '`api_key_created`. The sign-in must be at most five minutes old.',
      body: Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 100 }),
          scopes: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 50 })),
          resource: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
          expires_in: Type.Optional(Type.Integer({ minimum: 1 }))
        },
        { additionalProperties: false }
      ),
      answers: { 201: Type.Composite([ApiKey, Type.Object({ key: Type.String() })]) },
      errors: {
        400: ['invalid_scope', 'invalid_target'],
        401: { insufficient_user_authentication: 'the sign-in is not fresh, RFC 9470' },
        409: { api_key_limit: '`apiKeys.maxPerUser` keys that have not expired' }
      },
      handle: async (request, _reply, { grants }) => {
        const { accounts } = grants
        const { user, client, sid, authentication } = accountOf(request)
        const origin = originOf(request)
        if (client !== null) requireRights(client, request.body, grants)
        await requireProof('apiKeys', { user, sid, authentication, origin }, accounts)
        const { expires_in: expiresIn, ...asked } = request.body
        const made = await keys.create({ ...asked, userId: user.id, expiresIn }, { sid, origin })
        return { ...shownKey(made), key: made.key }
      }
    }),
    endpoint({
      method: 'DELETE',
      path: '/api-keys/:id',
      callers: 'account',
      summary: 'Revoke one of my API keys',
      what: 'Ends the key at once. There is the event `api_key_revoked`.',
      params: Id,
      answers: { 204: Empty },
      errors: { 404: 'not_found' },
      handle: async (request) => {
        const cause = { by: 'user', origin: originOf(request) } as const
        if (!(await keys.revoke(accountOf(request).user.id, request.params.id, cause)))
          throw new OAuthError('not_found', 'There is no such API key.')
      }
    })
  ]
}
