import { StartError, UpstreamError } from '../errors.ts'
import type {
  ConnectionOption,
  ConnectionOptions,
  OauthProvider,
  OpenidProvider,
  Provider,
  ProviderMistake
} from '../ports/provider.ts'
import type { UpstreamWishes } from '../ports/upstream.ts'
import { PROFILE_CLAIMS } from '../protocol/user-claims.ts'

/**
 * Returns the argument of `google(…)` or a similar function unchanged. Checks that the argument is an object, because a
 * host without types can omit it.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` for anything but an object
 */
export function optionsOf<Options extends object>(
  maker: string,
  given: Options,
  takes = '{ clientId, clientSecret }'
): Options {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given
  const kind = Array.isArray(given) ? 'an array' : `a ${typeof given}`
  const got = given === undefined ? 'nothing' : given === null ? 'null' : kind
  throw new StartError(
    'FST_AUTHORITY_INVALID_OPTIONS',
    `Invalid option "connections": ${maker}(…) got ${got}; it takes ${takes}. ` +
      `Call it as ${maker}(${takes}), with what the provider gave you.`
  )
}

type Asked =
  | 'brand'
  | 'mark'
  | 'parameters'
  | 'formPost'
  | 'provesFreshness'
  | 'clientAuthentication'
  | 'secretRequired'
  | 'mistake'
  | 'wishes'
  | 'acceptsIssuer'
type Given<Kind, More extends keyof Kind = never> = Omit<Kind, Asked | More | 'protocol'> &
  Partial<Pick<Kind, (Asked | More) & keyof Kind>>

/** Fills in the defaults of an OpenID provider: endpoints from discovery, and claims from userinfo too. */
export function openidProvider(
  given: Given<OpenidProvider, 'endpoints' | 'signingAlgs' | 'userinfo' | 'scopes'>
): OpenidProvider {
  return {
    ...common(given.issuer),
    protocol: 'openid',
    endpoints: null,
    signingAlgs: null,
    userinfo: true,
    scopes: ['openid', 'profile', 'email'],
    ...given
  }
}

/** Fills in the defaults of an OAuth 2.0 provider whose own API identifies the user. */
export function oauthProvider(given: Given<OauthProvider>): OauthProvider {
  return {
    ...common(given.issuer),
    protocol: 'oauth2',
    ...given,
    clientAuthentication: given.clientAuthentication ?? 'client_secret_post'
  }
}

function common(issuer: string): Pick<OpenidProvider, Asked> {
  return {
    brand: null,
    mark: null,
    parameters: {},
    formPost: false,
    provesFreshness: false,
    clientAuthentication: 'metadata',
    secretRequired: false,
    mistake: null,
    wishes: () => ({}),
    acceptsIssuer: (iss) => iss === issuer
  }
}

/**
 * Makes a connection. The `id` and `name` in `options` replace the defaults of the second argument. If there is a
 * `mark`, the `brand` is the default id.
 */
export function connection(
  options: ConnectionOptions & Pick<ConnectionOption, 'privateKey' | 'keyId' | 'teamId'>,
  { id, name, mark }: { id: string; name: string; mark?: Provider['mark'] },
  provider: Provider
): ConnectionOption {
  return {
    ...options,
    id: options.id ?? id,
    name: options.name ?? name,
    provider: mark === undefined ? provider : { ...provider, brand: id, mark }
  }
}

/** @see OpenID Connect Core 1.0 §3.1.2.1 */
export function openidWishes({ loginHint, uiLocales, prompt, maxAge }: UpstreamWishes): Record<string, string> {
  return {
    ...(loginHint === undefined ? {} : { login_hint: loginHint }),
    ...(uiLocales === undefined ? {} : { ui_locales: uiLocales }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(maxAge === undefined ? {} : { max_age: String(maxAge) })
  }
}

export function parameterMistake(parameters: unknown): ProviderMistake | null {
  const fits =
    typeof parameters === 'object' &&
    parameters !== null &&
    Object.values(parameters).every((value) => typeof value === 'string')
  return fits ? null : { option: 'parameters', got: parameters, takes: 'an object of strings' }
}

type Claims = Readonly<Record<string, unknown>>

export function profileClaims(claims: Claims): Record<string, unknown> {
  return Object.fromEntries(
    PROFILE_CLAIMS.flatMap((name) => (text(claims[name]) === undefined ? [] : [[name, claims[name]]]))
  )
}

/** Returns a non-empty string unchanged, and `undefined` for any other value. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Converts `auth_time` from seconds to milliseconds. `undefined`: it is missing or no number. */
export function authenticatedAt({ auth_time: seconds }: Claims): number | undefined {
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1000 : undefined
}

/** Returns the answer of a provider's API unchanged. @throws UpstreamError `userinfo` if it is not an object */
export function object(answer: unknown): Claims {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    throw new UpstreamError('userinfo', 'The API of the provider answered something else than an object.')
  return answer as Claims
}
