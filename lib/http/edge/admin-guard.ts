import type { FastifyReply, FastifyRequest } from 'fastify'
import { mayUse, requireFirstParty } from '../../clients/rights.ts'
import type { GrantDeps } from '../../oauth/deps.ts'
import { CLIENT_CREDENTIALS } from '../../oauth/grants/client-credentials.ts'
import type { Client, GrantType } from '../../ports/client-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import { type AdminScope, isAdminScope } from '../../protocol/scope.ts'
import { boundKey } from '../../protocol/dpop.ts'
import {
  insufficientAuthentication,
  insufficientScope,
  invalidToken,
  isEnough,
  type StepUp,
  withoutActor
} from '../../protocol/bearer.ts'
import { type ActorSignIn, liveSession } from '../../sessions/active-user.ts'
import { callerFact, type Guard } from './callers.ts'
import { guarded } from './error-reply.ts'
import { type Check, foundBy } from './hook.ts'
import type { RequestLimiter } from './limit.ts'

/** The caller of an admin endpoint, whom the host's `admin.allow` accepts for this request. */
export interface AdminCaller {
  /** `null`: a machine client. */
  user: User | null
  client: Client | null
  /** The admin scopes of the token that the host still allows. */
  scopes: readonly AdminScope[]
  /** The sign-in of the token. `null`: a machine client has none. */
  signIn: ActorSignIn | null
  /** The caller as the audit log and events name it. */
  by: { type: 'user' | 'client'; id: string }
}

interface GuardDeps {
  grants: GrantDeps
  token: Check<AccessTokenClaims>
  limiter: RequestLimiter
}

/** The sign-in that administration requires: at most an hour old. */
export const ADMIN_SIGN_IN: StepUp = { maxAge: 3600, acr: null }

const callers = callerFact<AdminCaller>()

/** The caller that `adminGuard` let in. */
export const adminOf = callers.of

/**
 * Lets in an administrator or a machine client with this scope. A request counts under the rule `admin` once its token
 * has passed the checks of user and client, even if the scope is missing.
 */
export const adminGuard = (scope: AdminScope, deps: GuardDeps): Guard => ({
  onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
    callers.set(request, await guarded(async () => await adminCaller(scope, [request, reply], deps)))
  }
})

async function adminCaller(
  scope: AdminScope,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  deps: GuardDeps
): Promise<AdminCaller> {
  const claims = await foundBy(deps.token, request, reply)
  const { user, client } = await subjectOf(claims, deps)
  const userId = user?.id ?? `client ${client?.clientId ?? ''}`
  await deps.limiter.reserve(request, reply, { rule: 'admin', userId }, async () => {})
  const asked = (claims.scope?.split(' ') ?? []).filter(isAdminScope)
  const given = asked.length === 0 ? [] : await deps.grants.administration?.allow({ user, client, scopes: asked })
  const scopes = asked.filter((one) => given?.includes(one))
  if (!scopes.includes(scope)) throw insufficientScope([scope])
  const by =
    user === null ? ({ type: 'client', id: client?.clientId ?? '' } as const) : { type: 'user' as const, id: user.id }
  const signIn = claims.sid === undefined ? null : { sid: claims.sid, client, jkt: boundKey(claims) }
  return { user, client, scopes, signIn, by }
}

/**
 * Finds the token's user, whose session must be live and whose sign-in must be recent. For a token without a session,
 * finds the machine client. Refuses third-party clients and tokens with `act`.
 */
async function subjectOf(
  claims: AccessTokenClaims,
  { grants }: GuardDeps
): Promise<{ user: User | null; client: Client | null }> {
  // Refuses a token with `act`, because nobody may use the administration on behalf of a user.
  if (claims['act'] !== undefined) throw withoutActor()
  const client = await requireFirstParty(claims, grants.clients)
  if (claims.sid === undefined) {
    if (client === null || !mayUse(client, CLIENT_CREDENTIALS.type as GrantType))
      throw invalidToken('The token belongs to no session.')
    return { user: null, client }
  }
  const { user, family } = await liveSession(claims, { sessions: grants.sessions, users: grants.accounts.users })
  if (!isEnough(family, ADMIN_SIGN_IN, grants.accounts.clock.now())) throw insufficientAuthentication(ADMIN_SIGN_IN, [])
  return { user, client }
}

/** @throws OAuthError `insufficient_scope` if the caller lacks the scope */
export function requireAdminScope({ scopes }: Pick<AdminCaller, 'scopes'>, scope: AdminScope): void {
  if (!scopes.includes(scope)) throw insufficientScope([scope])
}
