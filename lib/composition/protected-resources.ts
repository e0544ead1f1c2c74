import type { FastifyInstance } from 'fastify'
import type { ApiKeys } from '../accounts/slots.ts'
import type { OAuthError } from '../errors.ts'
import { type Hook, tokenOrKeyCheck } from '../http/edge/hook.ts'
import { tokenCheck } from '../http/edge/possession.ts'
import type { Clock } from '../ports/clock.ts'
import { logLine } from '../ports/log.ts'
import { resourceNamed } from '../protocol/resource.ts'
import { unknownScopeWarning } from './guards.ts'
import { resourceGuards, serveMetadata } from '../resource/resource-guards.ts'
import type { AuthRequirements } from '../settings/auth-requirements.ts'
import { checkClientResources } from '../settings/check-clients.ts'
import { badOption, schemaError } from '../settings/option-error.ts'
import { addApi, PROTECTED_RESOURCE, type ProtectedResourceOptions } from '../settings/sections/resources.ts'
import type { Settings } from '../settings/settings.ts'
import type { AccessTokens, Possession } from '../tokens/access-tokens.ts'

/**
 * The guard of an API in this app: an `onRequest` hook that accepts only tokens and API keys for this API, and sets
 * `request.auth`. Otherwise 401, with a challenge that names the metadata of the API.
 */
export interface ProtectedResource extends Hook {
  /** Makes a hook to follow this one: 403 unless all these scopes were granted. */
  requireScope: (...scopes: string[]) => Hook
  /**
   * Makes a hook to follow this one: 401 `insufficient_user_authentication` unless the user signed in at most `maxAge`
   * seconds ago and with at least this `acr`. 403 `access_denied` for an API key and for the own token of a client,
   * because a sign-in would not help.
   * @see RFC 9470
   */
  requireAuth: (required: AuthRequirements) => Hook
  /**
   * Makes the error for a handler to throw if the token lacks scopes of an operation: 403, with a challenge that names
   * all scopes of the operation.
   */
  insufficientScope: (scopes: readonly string[]) => OAuthError
}

/** Makes `app.protectedResource`. @see RFC 9728 */
export function protectedResources(
  host: FastifyInstance,
  settings: Settings,
  {
    accessTokens,
    possession,
    keys,
    clock
  }: { accessTokens: AccessTokens; possession: Possession | null; keys: ApiKeys | null; clock: Clock }
): (options: ProtectedResourceOptions) => ProtectedResource {
  const { apis, issuer, acrValues, decorators: names } = settings
  let isOpen = true
  host.addHook('onReady', (done) => {
    isOpen = false
    checkClientResources(settings)
    const { undescribed } = apis
    if (undescribed.length > 0)
      host.log.warn(
        ...logLine(
          'FST_AUTHORITY_NOTICE',
          `people see these scopes of APIs by their bare names: ${undescribed.join(', ')}. Give each a description: ` +
            `scopes: { '${undescribed[0]}': 'see your orders' }.`
        )
      )
    done()
  })
  return (given) => {
    const path = names.protectedResource
    if (!isOpen)
      throw badOption(path, 'it was called after the app was ready; call it before app.ready() or app.listen()')
    if (host.prefix !== '')
      throw badOption(
        path,
        `the plugin was registered below the prefix ${host.prefix}, and the metadata of an API belong to the root; ` +
          'register it in a plugin without a prefix'
      )
    const error = schemaError(PROTECTED_RESOURCE, given)
    if (error !== null) throw error
    const api = resourceNamed(given.resource, apis.resources, issuer) ?? addApi(given, path, settings, apis)
    const scopes = Array.isArray(given.scopes) ? (given.scopes as string[]) : Object.keys(given.scopes ?? {})
    const unknown = scopes.find((scope) => !api.scopes.includes(scope))
    if (unknown !== undefined)
      throw badOption(`${path}.scopes`, `${unknown} is no scope that the option resources has for ${api.resource}`)
    const facts = {
      resource: api.resource,
      issuer,
      name: api.name ?? given.name ?? null,
      dpopAlgs: possession?.algs ?? []
    }
    serveMetadata(host, { ...facts, scopes: api.scopes })
    const { authenticate, requireScope, ...others } = resourceGuards(
      tokenOrKeyCheck(tokenCheck({ accessTokens, possession }, api), keys, api.resource),
      { ...facts, scopes: scopes.length === 0 ? api.scopes : scopes },
      {
        clock,
        acrValues,
        names: { auth: names.auth, requireScope: `${path}.requireScope`, requireAuth: `${path}.requireAuth` }
      }
    )
    const warnOf = unknownScopeWarning(host.log, `${path}.requireScope`, `The API ${api.resource}`, api.scopes)
    return Object.assign(authenticate, {
      ...others,
      requireScope(...given: string[]) {
        const hook = requireScope(...given)
        for (const scope of given) warnOf(scope)
        return hook
      }
    })
  }
}
