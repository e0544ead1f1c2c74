import { OAuthError } from '../errors.ts'
import { covers } from './authentication.ts'

/** A route's requirements on the sign-in. If both are set, both must hold. @see RFC 9470 */
export interface StepUp {
  /** The greatest age of the sign-in in seconds. `null`: any age. */
  maxAge: number | null
  /** The lowest level of the sign-in. `null`: any level. */
  acr: string | null
}

/**
 * True if a sign-in is enough, at `now`. A sign-in without these facts is not enough: `acr` is no string, or
 * `authenticatedAt` no number.
 * @param now in milliseconds since the epoch, as is `authenticatedAt`
 */
export function isEnough(
  { acr, authenticatedAt }: { acr: unknown; authenticatedAt: unknown },
  required: StepUp,
  now: number
): boolean {
  if (required.acr !== null && !(typeof acr === 'string' && covers(acr, required.acr))) return false
  return (
    required.maxAge === null || (typeof authenticatedAt === 'number' && now - authenticatedAt <= required.maxAge * 1000)
  )
}

/**
 * The refusal of a token whose sign-in is too old or too weak: a 401 that names every requirement, so that one sign-in
 * meets them all.
 * @param acrValues accepted values, the weakest first
 * @see RFC 9470 §3
 */
export function insufficientAuthentication({ maxAge, acr }: StepUp, acrValues: readonly string[]): OAuthError {
  const description = acr === null ? 'A more recent sign-in is needed.' : 'Another sign-in is needed.'
  const enough = acr === null ? [] : acrValues.filter((value) => covers(value, acr))
  const params = [
    'error="insufficient_user_authentication"',
    `error_description="${description}"`,
    ...(enough.length === 0 ? [] : [`acr_values="${enough.join(' ')}"`]),
    ...(maxAge === null ? [] : [`max_age="${maxAge}"`])
  ]
  return new OAuthError('insufficient_user_authentication', description, {
    withoutStack: true,
    headers: { 'www-authenticate': `Bearer ${params.join(', ')}` }
  })
}
