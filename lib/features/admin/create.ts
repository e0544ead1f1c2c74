import { slotOf } from '../../accounts/slots.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { allowing, protecting, protectingGreater } from './allow.ts'
import type { AdminDeps } from './endpoints/acting.ts'
import { adminEndpoints } from './endpoints/users.ts'
import type { AdminSettings, ImpersonationSettings } from './options.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { ImpersonationAnswer, ImpersonationAsk } from '../../accounts/managed-users.ts'
import { addressed } from '../../accounts/outbox.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { GrantDeps } from '../../oauth/deps.ts'
import { tokenTypeOf } from '../../oauth/issue-tokens.ts'
import { scopesWithin } from '../../oauth/target.ts'
import { parseScope, scopeMember, admittedScopes } from '../../protocol/scope.ts'
import { isActive } from '../../sessions/active-user.ts'
import { allowedScopes, hostClaims } from '../../tokens/disclosure.ts'

export async function create(
  { allow, isProtected, fields, impersonation, pages }: AdminSettings,
  { accounts, grants }: Kernel
): Promise<Parts> {
  const deps: AdminDeps = {
    accounts,
    fields,
    impersonates: impersonation !== null,
    isProtected: protecting(isProtected ?? protectingGreater(allow), accounts),
    users() {
      const found = slotOf(accounts, 'users')
      if (found === null) throw new Error('The use cases of administration are missing.')
      return found
    }
  }
  const administration = { allow: allowing(allow, accounts) }
  const adminPages = pages ? (await import('./pages/routes.ts')).adminPages : null
  return {
    administration,
    account:
      impersonation === null
        ? {}
        : { impersonate: async (asked) => await impersonate(asked, impersonation, { accounts, grants: grants() }) },
    endpoints: adminEndpoints(deps),
    ...(adminPages === null ? {} : { pages: adminPages({ ...deps, ...administration }) })
  }
}

/**
 * Issues an access token with which an actor uses the service as the user. Creates no refresh token, ID token or
 * session. The token contains no authentication time, so routes that require a recent sign-in reject it.
 * @throws OAuthError `conflict` if the user is disabled, or if the actor is a user without an active account
 * @throws OAuthError `access_denied` for a client as the actor
 * @throws OAuthError `invalid_scope` if no requested scope can be granted
 */
export async function impersonate(
  { user, actor, reason, scope, signIn }: ImpersonationAsk,
  { expiresInSeconds, notify }: ImpersonationSettings,
  { accounts, grants }: { accounts: AccountsDeps; grants: GrantDeps }
): Promise<ImpersonationAnswer> {
  const { client, jkt, sid } = signIn ?? { client: null, jkt: null }
  if (user.disabled === true) throw new OAuthError('conflict', 'The user is disabled.')
  if (actor.type === 'client') throw new OAuthError('access_denied', 'A client acts in the name of nobody.')
  if (actor.type === 'user' && !isActive(await accounts.users.findById(actor.id)))
    throw new OAuthError('conflict', 'The actor has no active account.')
  const possible = scopesWithin(allowedScopes(client, grants.scopes), [], grants).filter(
    (one) => one !== 'offline_access'
  )
  const asked = parseScope(scope)
  const wanted = asked === undefined ? possible : possible.filter((one) => asked.includes(one))
  if (wanted.length === 0 && asked !== undefined)
    throw new OAuthError('invalid_scope', 'None of the requested scopes can be granted.')
  const scopes = await admittedScopes(wanted, null)
  await grants.accessTokens.ready(null)
  const extra = await hostClaims({ user, client, scopes: [...scopes] }, grants)
  const act = actor.type === 'user' ? ({ sub: actor.id } as const) : ({ sub: actor.id, type: actor.type } as const)
  const expiresIn = Math.min(expiresInSeconds, grants.accessTokens.secondsFor(null))
  const token = grants.accessTokens.mint({
    sub: user.id,
    scopes,
    act,
    jkt,
    extra,
    mostSeconds: expiresIn,
    ...(sid === undefined ? {} : { sid }),
    ...(client === null ? {} : { client_id: client.clientId })
  })
  accounts.events.emit('impersonated', { userId: user.id, actor, reason, scope: scopes.join(' ') }, NO_REQUEST)
  if (notify)
    accounts.outbox?.post({
      kind: 'impersonated',
      by: 'host',
      user: addressed(user),
      locale: undefined,
      origin: NO_REQUEST
    })
  return { access_token: token, token_type: tokenTypeOf(jkt), expires_in: expiresIn, ...scopeMember(scopes), act }
}
