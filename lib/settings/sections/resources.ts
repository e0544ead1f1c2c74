import { Type } from '@sinclair/typebox'
import type { ScopeTexts } from '../../pages/own-texts.ts'
import { canonicalResource, type Resource, resourceUrl } from '../../protocol/resource.ts'
import { isScopeToken, isReservedScope } from '../../protocol/scope.ts'
import { CLAIM_SCOPES } from '../../protocol/user-claims.ts'
import { badOption, invalid } from '../option-error.ts'
import {
  filled,
  type Given,
  list,
  oneOf,
  option,
  required,
  seconds,
  section,
  shortText,
  text,
  words
} from '../schema-words.ts'

const RESOURCE_TAKES =
  'an absolute https URL (http on loopback) without query and fragment, or a path such as "/mcp", which is joined to ' +
  "the issuer's origin"
const DESCRIPTIONS_TAKE = 'an array of scope tokens, each once, or an object of them with a description each'
/** Scopes of the service itself, which no API may have. */
const OF_THE_SERVICE: readonly string[] = ['openid', 'offline_access', ...CLAIM_SCOPES]

/** The scopes of an API: names, or names with a description for people, in English or by language. */
export type ScopeDescriptions = readonly string[] | Readonly<Record<string, string | ScopeTexts[string]>>

const description = shortText(300, { takes: 'a text of 1 to 300 characters' })
const RESOURCE_TOKEN = {
  /** Lifetime of the API's access tokens in seconds. */
  expiresIn: seconds(1, 86_400, { otherwise: '`accessToken.expiresIn`' }),
  /** The algorithm of the API's access tokens. With the option `keys`, one of the keys must have this algorithm. */
  alg: oneOf(['ES256', 'RS256'], { otherwise: '`accessToken.alg`' })
}

/** The fields that `app.protectedResource` takes. */
const GUARDED = {
  /**
   * The API: an absolute URL, or a path that is joined to the issuer's origin. This URL is the `aud` of its tokens, as
   * given here. Requests may spell it with another case of scheme and host, with the default port, and with or without
   * the slash of an empty path.
   */
  resource: required(text({ minLength: 1, maxLength: 512, takes: RESOURCE_TAKES })),
  /** The name of the API for people. */
  name: shortText(100, { otherwise: 'its URL' }),
  /**
   * The scopes of the API: `{ 'orders:read': 'see your orders' }`, with one description or one for each language; or
   * an array of names. A scope belongs to one API or to the option `scopes`.
   */
  scopes: option<ScopeDescriptions>(
    Type.Union(
      [
        words({ uniqueItems: true, takes: DESCRIPTIONS_TAKE }),
        Type.Record(
          Type.String(),
          Type.Union([description, Type.Record(Type.String(), description)], {
            takes: 'a description for people, or one for each language, such as { en: "see your orders" }'
          }),
          { takes: DESCRIPTIONS_TAKE }
        )
      ],
      { takes: DESCRIPTIONS_TAKE, otherwise: 'none' }
    )
  )
}

export const PROTECTED_RESOURCE = section<ProtectedResourceOptions>(GUARDED)
export interface ProtectedResourceOptions extends Given<Omit<typeof GUARDED, 'resource'>> {
  /** The API: an absolute URL, or a path that is joined to the issuer's origin. This URL is the `aud` of its tokens. */
  resource: string
}

const RESOURCE = {
  ...GUARDED,
  /** Settings of the API's access tokens that differ from the option `accessToken`. */
  accessToken: section<Given<typeof RESOURCE_TOKEN>>(RESOURCE_TOKEN),
  /** The ids of the clients that may request tokens for the API. An API with such a list accepts no API keys. */
  allowedClients: words({ takes: 'an array of client ids', otherwise: 'all' })
}

/** An API that tokens of this service can be for. */
export interface ResourceOptions
  extends ProtectedResourceOptions, Given<Pick<typeof RESOURCE, 'accessToken' | 'allowedClients'>> {}

export const RESOURCE_OPTIONS = {
  /**
   * The APIs that tokens can be for (RFC 8707). A request names an API by `resource` or `audience`. The token is then
   * for that API alone and has the scopes of that API alone.
   */
  resources: list(section<ResourceOptions>(RESOURCE, { takes: 'an API' }), { default: [] })
}

/** The settings that the APIs are checked against. */
interface Around {
  issuer: string
  accessToken: { audience: string | readonly string[] }
  /** The option `scopes`. */
  scopes: readonly string[]
  scopeTexts: ScopeTexts
  keys: unknown
}

/** The APIs of the service. `app.protectedResource` may add more until the start ends. */
export interface Apis {
  resources: Resource[]
  /** The option `scopes`, and the scopes of the APIs. */
  scopes: string[]
  /** The texts of all scopes for the pages, and the names of the APIs. */
  texts: Record<string, ScopeTexts[string]>
  /** Scopes of APIs without a description. */
  undescribed: string[]
}

export function apisOf(given: readonly ResourceOptions[], around: Around): Apis {
  const apis: Apis = { resources: [], scopes: [...around.scopes], texts: { ...around.scopeTexts }, undescribed: [] }
  for (const [index, one] of given.entries()) addApi(one, `resources[${index}]`, around, apis)
  return apis
}

/**
 * Checks an API and adds it to `apis`.
 * @param path the path of the option, for the error
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function addApi(given: ResourceOptions, path: string, around: Around, apis: Apis): Resource {
  const { resource, texts, undescribed } = described(given, path, around, apis.resources)
  apis.resources.push(resource)
  apis.scopes.push(...resource.scopes)
  apis.undescribed.push(...undescribed)
  Object.assign(apis.texts, texts)
  return resource
}

/** Checks one API against the others and fills in its defaults. */
function described(
  { resource: given, name, scopes = [], accessToken, allowedClients }: ResourceOptions,
  path: string,
  { issuer, accessToken: { audience }, scopes: ofService, keys }: Around,
  others: readonly Resource[]
): { resource: Resource; texts: ScopeTexts; undescribed: string[] } {
  const at = (field: string): string => `${path}.${field}`
  const resource = resourceUrl(given, issuer)
  const canonicalOf = (one: string): string | null => canonicalResource(one, new URL(issuer).origin)
  const canonical = canonicalOf(resource)
  if (canonical === null || given.startsWith('//')) throw invalid(at('resource'), given, RESOURCE_TAKES)
  if (others.some((other) => other.canonical === canonical))
    throw invalid(at('resource'), given, 'a resource that is listed once')
  if ([issuer, audience].flat().some((own) => own === resource || canonicalOf(own) === canonical))
    throw invalid(at('resource'), given, 'another URL than the issuer and accessToken.audience')
  const texts = new Map<string, ScopeTexts[string]>([[resource, { en: name ?? resource }]])
  const entries = Array.isArray(scopes)
    ? (scopes as string[]).map((scope) => [scope, {}] as const)
    : Object.entries(scopes as Readonly<Record<string, string | ScopeTexts[string]>>)
  for (const [scope, said] of entries) {
    if (!isScopeToken(scope))
      throw invalid(at('scopes'), scope, 'scope tokens: printable ASCII without space and quote')
    if (OF_THE_SERVICE.includes(scope) || isReservedScope(scope))
      throw badOption(at('scopes'), `${scope} is a scope of the service, not of an API`)
    if (ofService.includes(scope) || others.some((other) => other.scopes.includes(scope)))
      throw badOption(at('scopes'), `${scope} belongs to another API or to the option scopes already`)
    texts.set(scope, typeof said === 'string' ? { en: said } : said)
  }
  const alg = accessToken?.alg ?? null
  if (alg !== null && keys !== null && !(Array.isArray(keys) && keys.some((key: { alg?: unknown }) => key.alg === alg)))
    throw invalid(at('accessToken.alg'), alg, 'the algorithm of one of the option keys')
  return {
    resource: {
      resource,
      canonical,
      name: name ?? null,
      scopes: entries.map(([scope]) => scope),
      allowedClients: allowedClients ?? null,
      expiresInSeconds: filled(RESOURCE_TOKEN, accessToken).expiresInSeconds,
      alg
    },
    texts: Object.fromEntries(texts),
    undescribed: entries.filter(([, said]) => Object.keys(said).length === 0).map(([scope]) => scope)
  }
}
