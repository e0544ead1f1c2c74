import { Type } from '@sinclair/typebox'
import { Errors } from '@sinclair/typebox/errors'
import { UpstreamError } from '../../../errors.ts'
import type { Assertion } from '../../../ports/provider.ts'
import type { UpstreamResult } from '../../../ports/upstream.ts'
import { STORABLE } from '../../../protocol/bounds.ts'

type Claims = Readonly<Record<string, unknown>>

const MAX_SUBJECT = 255
const MAX_ISSUER = 2048
const MAX_EMAIL = 254
/** The maximum length of a profile text, in characters. */
const MAX_TEXT = 2048

/** A claim of the ID token wins over one of userinfo. */
export function mergedClaims(idToken: Claims, userinfo: Claims): Record<string, unknown> {
  const { email: _email, email_verified: _verified, ...others } = { ...userinfo, ...idToken }
  // An address and `email_verified` come from the same source, because one source does not verify the other's address.
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

/** The required claims about a person. An invalid address or profile is left out below. */
const AssertionSchema = Type.Object({
  subject: Type.RegExp(STORABLE, {
    minLength: 1,
    maxLength: MAX_SUBJECT,
    description: `a text of 1 to ${MAX_SUBJECT} characters that can be stored`
  }),
  issuer: Type.Optional(
    Type.RegExp(STORABLE, {
      minLength: 1,
      maxLength: MAX_ISSUER,
      description: `a text of 1 to ${MAX_ISSUER} characters that can be stored, or nothing`
    })
  ),
  email: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'a text, or nothing' })),
  profile: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'an object, or nothing' })),
  authenticatedAt: Type.Optional(Type.Number({ minimum: 0, description: 'milliseconds since the epoch, or nothing' })),
  claims: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'an object, or nothing' }))
})

/** @throws UpstreamError `userinfo` */
function checkAssertion(assertion: unknown): asserts assertion is Assertion {
  const wrong = Errors(AssertionSchema, assertion).First()
  if (wrong === undefined) return
  const field = wrong.path.split('/')[1] ?? ''
  throw new UpstreamError(
    'userinfo',
    field === '' || wrong.schema.description === undefined
      ? "The provider's word on who the person is has no subject: it is no object of an assertion."
      : `The provider's word on who the person is does not fit: ${field} has to be ${wrong.schema.description}.`
  )
}

/**
 * The assertion as the use cases get it. An address that the provider has not verified is not part of it.
 * @throws UpstreamError `userinfo` for an assertion that does not fit
 */
export function resultOf(
  { assertion, claims }: { assertion: Assertion; claims: Claims },
  issuer: string
): Omit<UpstreamResult, 'tokens'> {
  checkAssertion(assertion)
  const { subject, issuer: own = issuer, email, emailVerified, emailAuthoritative, authenticatedAt } = assertion
  const verified = emailVerified === true && typeof email === 'string' && email !== '' && email.length <= MAX_EMAIL
  const profile = Object.fromEntries(Object.entries(assertion.profile ?? {}).filter(([, value]) => isPlain(value)))
  return {
    assertion: {
      issuer: own,
      subject,
      ...(verified ? { email } : {}),
      emailAuthoritative: verified && emailAuthoritative === true,
      profile,
      ...(authenticatedAt === undefined ? {} : { authenticatedAt })
    },
    claims: { ...claims, ...profile }
  }
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= MAX_TEXT : typeof value === 'boolean' || typeof value === 'number'
}
