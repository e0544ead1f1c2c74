import { appsOf, passkeysOf, type ProvingDeps, secondFactorCheck } from './deps.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { ACCESS_TOKEN, required, TOKEN_EXCHANGE_GRANT, type TokenRequestParams } from '../../protocol/request-params.ts'
import { proveSecond, readFactor } from './finish-sign-in.ts'
import { asksSecondFactor, mustEnrol, tellOfEnrolment } from './two-step.ts'
import { openStep, sealStep } from './second-step.ts'
import type { FirstFactor } from '../../accounts/slots.ts'
import { mayUse } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import { askableScopes } from '../../oauth/target.ts'
import type { GrantCall, GrantContext, GrantDeps, GrantSignIn, GuessAtFactor } from '../../oauth/deps.ts'
import { commitTokens } from '../../oauth/issue-tokens.ts'

/**
 * Returns the error `mfa_required` if a sign-in by a grant needs a second step. The first factor is proved already. The
 * same client continues with the ticket `mfa_token`, and nothing is issued before. `null`: no second step is needed.
 */
export async function mfaRequired(
  { scopes, resources, factors: found, ...first }: GrantSignIn,
  { client, origin, knows }: GrantCall,
  accounts: ProvingDeps
): Promise<OAuthError | null> {
  const clientId = client?.clientId ?? null
  const { factors } = accounts
  if (found === null || !(await asksSecondFactor({ ...first, clientId }, found, factors, accounts))) return null
  const token = await sealStep(
    { ...first, clientId, scope: scopes.join(' '), resources },
    { page: false, clientId },
    accounts
  )
  accounts.events.emit('second_factor_required', { userId: first.user.id, clientId }, origin)
  const isKnown = knows(secondFactorCheck(first.user, found, { kind: 'totp' }))
  const options = passkeysOf(accounts)?.optionsFor({ user: first.user, found, purpose: 'second_factor' }) ?? null
  return new OAuthError('mfa_required', 'A second factor is needed.', {
    withoutStack: true,
    members: {
      mfa_token: token,
      methods: [
        ...((appsOf(accounts)?.counting(found.totp, isKnown) ?? []).length === 0 ? [] : ['totp']),
        ...(options === null ? [] : ['passkey']),
        ...(found.recoveryCodesLeft === 0 ? [] : ['recovery_code'])
      ],
      ...(options === null ? {} : { passkey_options: options })
    }
  })
}

/**
 * Returns the error `mfa_enrollment_required` if the user must set up a second factor first. The user does so on a
 * page, because no grant can set up a factor. `null`: the user need not.
 */
export async function enrolmentRequired(
  { user, methods }: Pick<FirstFactor, 'user' | 'methods'>,
  { client, origin }: GrantContext,
  accounts: ProvingDeps
): Promise<OAuthError | null> {
  const clientId = client?.clientId ?? null
  if (!(await mustEnrol({ user, methods, clientId }, accounts.factors, accounts))) return null
  tellOfEnrolment(user, clientId, origin, accounts)
  return new OAuthError(
    'mfa_enrollment_required',
    'A second factor has to be set up first. Sign in through the browser.',
    { withoutStack: true }
  )
}

/**
 * Finishes a password grant or a token exchange by the second factor. Only the client that began the sign-in can finish
 * it. The tokens are for the resources of the first request. Scopes that the client may no longer have are left out.
 * @see RFC 6749 §4.5
 */
export async function mfaGrant(
  params: TokenRequestParams<'mfa_token' | 'otp' | 'recovery_code' | 'credential'>,
  { client, jkt, origin }: GrantContext,
  deps: GrantDeps,
  accounts: ProvingDeps
): Promise<GuessAtFactor> {
  const clientId = client?.clientId ?? null
  const { factors } = accounts
  const given = readFactor(
    { code: params.otp, recoveryCode: params.recovery_code, credential: params.credential },
    accounts,
    { code: 'otp', recoveryCode: 'recovery_code' }
  )
  const step = await openStep(required(params, 'mfa_token'), { page: false, clientId }, accounts)
  const found = step === null ? null : await factors.store.findFactors(step.user.id)
  const gone = (): OAuthError => new OAuthError('invalid_grant', 'The mfa_token is invalid or has expired.')
  if (step === null || found === null || !hasFactor(found)) throw gone()
  const { user, by, connection } = step
  // The client still needs the right to the grant with which the sign-in began.
  if (client !== null && !mayUse(client, by === 'connection' ? TOKEN_EXCHANGE_GRANT : 'password'))
    throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
  return {
    check: secondFactorCheck(user, found, given),
    async finish({ isKnown }) {
      const at = { clientId, origin, locale: undefined, isKnown }
      const proved = await proveSecond({ step, found, given }, at, accounts)
      if (proved === null) throw gone()
      const allowed = askableScopes(client, deps)
      const scopes = step.scope.split(' ').filter((scope) => allowed.includes(scope))
      const isExchange = by === 'connection'
      const response = await commitTokens(
        {
          user: proved.user,
          by,
          connection,
          client,
          jkt,
          methods: proved.methods,
          scopes,
          resources: step.resources ?? [],
          origin,
          grantType: 'mfa',
          idToken: isExchange ? { nonce: step.nonce } : undefined
        },
        async () => {
          if ((await proved.confirm()) === null) throw gone()
          return null
        },
        deps
      )
      return isExchange ? { ...response, issued_token_type: ACCESS_TOKEN } : response
    }
  }
}
