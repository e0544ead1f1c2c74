import type { ScopeTexts } from '../pages/own-texts.ts'
import { ACR_VALUES, CONNECTION_ACR, MFA_ACR, PASSKEY_ACR, PASSWORD_ACR } from '../protocol/authentication.ts'
import { DEFAULTS } from './defaults.ts'
import type { AuthorityOptions } from './options.ts'
import { resolveConnections } from './sections/connections.ts'
import { resolveDecorators } from './sections/decorators.ts'
import { resolveFactors } from './sections/factors.ts'
import { resolvePages } from './sections/pages.ts'
import { resolvePassword } from './sections/password.ts'
import { resolveRateLimits } from './sections/rate-limit.ts'
import { resolveRegistration } from './sections/registration.ts'
import { resolveTokens } from './sections/tokens.ts'
import type { FeatureSection, Settings } from './settings.ts'

/**
 * Fills in the defaults. All other code reads the result. Destructuring treats `undefined` as absent; a spread over
 * defaults would replace the default by it.
 */
export function resolveSettings(options: AuthorityOptions, all: readonly FeatureSection[]): Settings {
  const {
    issuer,
    allowInsecureIssuer = DEFAULTS.allowInsecureIssuer,
    users,
    prefix = DEFAULTS.prefix,
    paths = {},
    state = null,
    redis = null,
    secret = [],
    keys = null,
    clients = []
  } = options
  const {
    passwordGrant = DEFAULTS.passwordGrant,
    scopes = DEFAULTS.scopes,
    sendMessage = null,
    claims = null,
    clock = null
  } = options
  // A sign-in page of the host's own can ask for a second factor of its own, and vouch for it.
  const hasOwnPage = options.pages !== false && options.pages?.loginUrl !== undefined
  const factors = resolveFactors(
    options,
    options.pages === false ? new URL(issuer).hostname : resolvePages(options.pages, issuer).title
  )
  const features = all.map((feature) => ({ ...feature, on: feature.resolve(options) })).filter(({ on }) => on !== null)
  const acr = new Set([
    PASSWORD_ACR,
    ...features.flatMap((feature) => feature.acr ?? []),
    ...(factors === null && !hasOwnPage ? [] : [MFA_ACR]),
    ...(factors === null || factors.passkeys === null ? [] : [PASSKEY_ACR]),
    ...((options.connections ?? []).length === 0 ? [] : [CONNECTION_ACR])
  ])
  return {
    issuer,
    allowInsecureIssuer,
    users,
    prefix,
    paths: Object.fromEntries(Object.entries(paths).filter(([, place]) => place !== undefined)),
    state,
    redis,
    secrets: [secret].flat(),
    keys,
    clients,
    passwordGrant,
    scopes: isList(scopes) ? scopes : Object.keys(scopes),
    scopeTexts: isList(scopes) ? {} : scopes,
    ...resolveTokens(options),
    acrValues: ACR_VALUES.filter((value) => acr.has(value)),
    pages: options.pages === false ? false : resolvePages(options.pages, issuer),
    password: resolvePassword(options.password),
    registration: options.registration === false ? false : resolveRegistration(options.registration),
    connections: resolveConnections(
      options.connections,
      options.registration !== false && users.createWithIdentity !== undefined
    ),
    sendMessage,
    factors,
    features: Object.fromEntries(features.map(({ name, on }) => [name, on])),
    rateLimit: resolveRateLimits(options.rateLimit),
    decorators: resolveDecorators(options.decorators),
    claims,
    clock
  }
}

function isList(scopes: readonly string[] | ScopeTexts): scopes is readonly string[] {
  return Array.isArray(scopes)
}
