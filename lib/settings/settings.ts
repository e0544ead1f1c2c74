import type { ScopeTexts } from '../pages/own-texts.ts'
import { ACR_VALUES, MFA_ACR, PASSWORD_ACR } from '../protocol/authentication.ts'
import { type AuthorityOptions, type FeatureSection, KERNEL_OPTIONS, type SharedSettings } from './options.ts'
import type { MovablePath } from './paths.ts'
import { filled } from './schema-words.ts'
import { resolveDecorators } from './sections/decorators.ts'
import { resolvePages } from './sections/pages.ts'
import { resolvePassword } from './sections/password.ts'
import { resolveRateLimits } from './sections/rate-limit.ts'
import { resolveRegistration } from './sections/registration.ts'
import { type Apis, apisOf } from './sections/resources.ts'
import { resolveTokens } from './sections/tokens.ts'
import { Kind, type TSchema } from '@sinclair/typebox'

/**
 * The host's options without those that are `undefined`, at every depth that the schema describes. A value that the
 * schema leaves open, such as a store, a function or a hasher, stays the same object. An unknown name stays too, so
 * that it is refused whatever its value.
 */
export function withoutUndefined(schema: TSchema, value: unknown): unknown {
  const described = variantOf(schema, value)
  if (described === undefined) return value
  if (Array.isArray(value)) return value.map((entry) => withoutUndefined(described['items'] as TSchema, entry))
  const given = value as Record<string, unknown>
  const known = described['properties'] as Record<string, TSchema> | undefined
  // A record has one schema for all its values.
  const [each] = Object.values((described['patternProperties'] ?? {}) as Record<string, TSchema>)
  const isKnown = (name: string): boolean => known === undefined || Object.hasOwn(known, name)
  // Includes the names of the schema, because getters of a class are not among an object's own keys.
  const names = new Set([
    ...Object.keys(given),
    ...Object.keys(known ?? {}).filter((name) => given[name] !== undefined)
  ])
  return Object.fromEntries(
    [...names]
      .filter((name) => given[name] !== undefined || !isKnown(name))
      .map((name) => {
        const inner = known === undefined ? each : Object.hasOwn(known, name) ? known[name] : undefined
        return [name, inner === undefined ? given[name] : withoutUndefined(inner, given[name])]
      })
  )
}

/** The variant of the schema that describes this array or object. `undefined`: none does, or the value is a store. */
function variantOf(schema: TSchema, value: unknown): TSchema | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const variants = schema[Kind] === 'Union' ? (schema['anyOf'] as TSchema[]) : [schema]
  // Recognizes a store by its methods, with `in`, because a class has them in its prototype.
  const isStore = variants.some(
    (variant) =>
      variant[Kind] === 'Object' &&
      variant['additionalProperties'] !== false &&
      Object.keys(variant['properties'] as object).every((name) => name in value)
  )
  if (isStore) return undefined
  return variants.find((variant) =>
    Array.isArray(value)
      ? variant[Kind] === 'Array'
      : variant[Kind] === 'Record' || (variant[Kind] === 'Object' && variant['additionalProperties'] === false)
  )
}

/**
 * The checked options with every default filled in, and times with their unit in the name. No option is `undefined`.
 * `null`: the option is absent, or the plugin chooses.
 */
export interface Settings extends ReturnType<typeof resolveSettings> {}

/** Fills in the defaults. All other code reads the settings, not the options. */
export function resolveSettings(options: AuthorityOptions, all: readonly FeatureSection[]) {
  const { issuer, secret = [], pages: givenPages, registration } = options
  const { secret: _secret, ...settings } = filled(KERNEL_OPTIONS, options)
  const pages = givenPages === false ? (false as const) : resolvePages(givenPages, issuer)
  const features = all.map((feature) => ({ ...feature, on: feature.resolve(options) })).filter(({ on }) => on !== null)
  // With the host's own sign-in page, `MFA_ACR` is possible too, because that page may check a second factor.
  const hasOwnPage = pages !== false && pages.loginUrl !== null
  const acr = new Set([
    PASSWORD_ACR,
    ...features.flatMap((feature) => feature.acr ?? []),
    ...(hasOwnPage ? [MFA_ACR] : [])
  ])
  const { scopes, resources, ...plain } = settings
  const tokens = resolveTokens(options)
  const own = {
    scopes: isList(scopes) ? scopes : Object.keys(scopes),
    /** The host's descriptions of the scopes. */
    scopeTexts: isList(scopes) ? {} : scopes
  }
  const apis: Apis = apisOf(resources, { ...own, ...tokens, issuer, keys: settings.keys })
  return {
    ...plain,
    ...tokens,
    ...own,
    apis,
    /** The paths that the host has moved. */
    paths: Object.fromEntries(
      Object.entries(settings.paths ?? {}).filter(([, place]) => place !== undefined)
    ) as Readonly<{ [Name in MovablePath]?: string }>,
    /** The first secret seals, and all of them open. Empty if the option `secret` is absent. */
    secrets: [secret].flat(),
    /** The values of `acr` that sign-ins can have, from weak to strong. */
    acrValues: ACR_VALUES.filter((value) => acr.has(value)),
    pages,
    password: resolvePassword(options.password),
    registration: registration === false ? (false as const) : resolveRegistration(registration),
    shared: Object.assign({}, ...features.map(({ on, shares }) => shares?.(on))) as SharedSettings,
    notices: all.flatMap(({ notices }) => notices?.(options) ?? []),
    /** The settings of each feature that is on, by its name. */
    features: Object.fromEntries(features.map(({ name, on }) => [name, on])) as Readonly<Record<string, unknown>>,
    /** True if a provider may send the user back by a `POST` from its site. */
    takesAnswers: features.some(({ answersByPost, on }) => answersByPost?.(on) ?? false),
    rateLimit: resolveRateLimits(options.rateLimit),
    decorators: resolveDecorators(options.decorators)
  }
}

function isList(scopes: readonly string[] | ScopeTexts): scopes is readonly string[] {
  return Array.isArray(scopes)
}
