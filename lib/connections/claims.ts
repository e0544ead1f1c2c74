import { UpstreamError } from '../errors.ts'

type Claims = Readonly<Record<string, unknown>>

/**
 * The claims of a profile that are taken from a provider. None of them identifies the user here or gives rights. @see
 * OpenID Connect Core 1.0 §5.1
 */
const PROFILE = [
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'picture',
  'profile',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale'
]

export function profileClaims(claims: Claims): Record<string, unknown> {
  return Object.fromEntries(PROFILE.flatMap((name) => (text(claims[name]) === undefined ? [] : [[name, claims[name]]])))
}

/** The string, where it is one and not empty; else `undefined`. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** `auth_time`, in milliseconds. */
export function authenticatedAt({ auth_time: seconds }: Claims): number | undefined {
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1000 : undefined
}

/** The answer of an API that should be an object. @throws UpstreamError `userinfo` */
export function object(answer: unknown): Claims {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    throw new UpstreamError('userinfo', 'The API of the provider answered something else than an object.')
  return answer as Claims
}
