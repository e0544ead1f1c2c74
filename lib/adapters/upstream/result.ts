import { UpstreamError } from '../../errors.ts'
import type { Assertion } from '../../ports/provider.ts'
import type { UpstreamResult } from '../../ports/upstream.ts'

type Claims = Readonly<Record<string, unknown>>

const MAX_SUBJECT = 255
/** Most databases can't hold these. */
const UNSTORABLE = /[\0\p{Cs}]/u
const MAX_EMAIL = 254
/** Of one text of a profile, in characters. */
const MAX_TEXT = 2048

/** What the ID token says goes before what userinfo says. */
export function mergedClaims(idToken: Claims, userinfo: Claims): Record<string, unknown> {
  const { email: _email, email_verified: _verified, ...others } = { ...userinfo, ...idToken }
  // An address goes with the word on that address: one's is not verified by what the other says of another.
  const source =
    idToken['email'] === undefined ||
    (idToken['email_verified'] === undefined && userinfo['email'] === idToken['email'])
      ? userinfo
      : idToken
  return {
    ...others,
    ...Object.fromEntries(
      ['email', 'email_verified'].filter((name) => source[name] !== undefined).map((name) => [name, source[name]])
    )
  }
}

/**
 * What the use cases learn. An address that the provider has not verified is not among it. @throws UpstreamError
 * `userinfo` for an assertion without a subject
 */
export function resultOf(
  { assertion, claims }: { assertion: Assertion; claims: Claims },
  issuer: string
): Omit<UpstreamResult, 'tokens'> {
  const { subject, issuer: own = issuer, email, emailVerified, emailAuthoritative, authenticatedAt } = assertion
  if (typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT || UNSTORABLE.test(subject))
    throw new UpstreamError(
      'userinfo',
      `The provider's word on who the person is has no subject of 1 to ${MAX_SUBJECT} characters that can be stored.`
    )
  const verified = emailVerified === true && typeof email === 'string' && email !== '' && email.length <= MAX_EMAIL
  const profile = Object.fromEntries(Object.entries(assertion.profile ?? {}).filter(([, value]) => isPlain(value)))
  return {
    assertion: {
      issuer: own,
      subject,
      ...(verified ? { email } : {}),
      emailAuthoritative: verified && emailAuthoritative === true,
      profile,
      ...(typeof authenticatedAt === 'number' ? { authenticatedAt } : {})
    },
    claims: { ...claims, ...profile }
  }
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= MAX_TEXT : typeof value === 'boolean' || typeof value === 'number'
}
