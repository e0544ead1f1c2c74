import { Kind, type TSchema } from '@sinclair/typebox'
import type { RuleName } from '../lib/limits/rules.ts'
import { DEFAULTS } from '../lib/settings/defaults.ts'
import { OPTIONS_SCHEMA } from '../lib/settings/schema.ts'

/** One row: an option by its path from the top. */
export interface OptionRow {
  path: string
  takes: string
  default: string
  description: string
}

/** What the schema leaves to the name, in a few words more. */
const MEANINGS: Readonly<Record<string, string>> = {
  'keys.secret': 'A shared secret for HS256. There is no key set then.',
  'registration.fields': 'Extra profile fields, as a `Type.Object(…)` of @sinclair/typebox.',
  'registration.verifyEmail': 'Whether an account must confirm its e-mail address before it can sign in. Registration then answers 202 whoever asks. Needs `sendMessage`.',
  'clients.clientId': 'What the client is called in requests and tokens.',
  'clients.clientSecret': 'Without it the client is public. Make it in base64url, which is the same with and without form-encoding: `node -p "crypto.randomBytes(32).toString(\'base64url\')"`.',
  'clients.applicationType': 'Default: `web`. `native`: an app on the person\'s device, whose redirect URIs may have a private-use scheme with a dot, and any port of a loopback address.',
  'clients.redirectUris': 'Where codes may be sent: `https:`, `http:` on this machine, or for `native` a private-use scheme with a dot. Compared character by character; the port of a loopback address may be another for `native`.',
  'clients.postLogoutRedirectUris': 'Where a sign-out may lead. Compared character by character.',
  'clients.origins': 'Which pages may call by CORS. Default: the origins of `redirectUris`.',
  'clients.grantTypes': 'What the client may use. Default: `authorization_code` and `refresh_token`.',
  'clients.scopes': 'What the client may be granted. Default: all of `scopes`.',
  'clients.requirePkce': 'Default: `true`. `false` only with a `clientSecret`.',
  'clients.firstParty': 'Default: `true`. `false`: somebody else\'s program. It asks people for consent and never has the password grant.',
  'clients.name': 'What the pages call it. Default: its `clientId`.',
  'clients.logoUri': 'Its logo, on the consent page: an `https:` URL.',
  'clients.clientUri': 'A page about it, linked on the consent page: an `https:` URL.',
  'clients.idTokenSignedResponseAlg': 'Default: `RS256`.',
  'clients.idTokenClaims': 'Which claims its ID tokens have. Default: `idToken.claims`.',
  'clients.backchannelLogoutUri': 'Is told when a browser session ends that the client took part in (OpenID Connect Back-Channel Logout 1.0).',
  'clients.acr': 'What a sign-in must be worth at the least for this client to get tokens of the user, whatever `acr_values` the request has: one of `acr_values_supported`. Default: anything. [Step-up](../guides/step-up.md)',
  'decorators.authenticate': 'The hook that verifies the access token.',
  'decorators.authenticateOptional': 'The hook that verifies an access token where one was sent.',
  'decorators.requireFirstParty': 'The hook that refuses the tokens of other people\'s programs.',
  'decorators.requireScope': 'The hook that asks for scopes.',
  'decorators.requireAuth': 'The hook that asks for a recent sign-in, or a stronger one.',
  'decorators.authority': 'What the host can do from its own code.',
  'decorators.auth': 'Of the request: the claims of the access token.',
  'decorators.authSession': 'Of the request: who is signed in in this browser, where `app.authority.readSession` ran.',
  windowMs: 'Length of the sliding window.',
  max: 'How many pass in any window.',
  count: '`"failed"`: an attempt that succeeds is given back.',
  'rateLimit.apiKey.header': 'The request header with the key.',
  'rateLimit.apiKey.verify': '`(key) => boolean | { max }`, or a promise of it. Where it throws, the address counts.'
}

/** Every option of the schema, parents before children. Entries of lists are not options of their own, but for the fields of a client and of a connection. */
export function optionRows (): OptionRow[] {
  return Object.entries(properties(OPTIONS_SCHEMA)).flatMap(([name, schema]) => rowsOf(name, schema, required(OPTIONS_SCHEMA, name)))
}

function rowsOf (path: string, schema: TSchema, isRequired: boolean): OptionRow[] {
  const nested = objectOf(schema)
  const row: OptionRow = {
    path,
    takes: said(schema, 'takes') ?? 'an object',
    default: isRequired && schema['default'] === undefined ? '**required**' : defaultOf(path, schema),
    description: said(schema, 'description') ?? MEANINGS[path] ?? (path.startsWith('rateLimit.') ? MEANINGS[path.split('.').at(-1) ?? ''] : undefined) ?? ''
  }
  // What a store, a function bag or a host's own clock consists of is the port's matter.
  if (nested === undefined || Object.values(properties(nested)).every((member) => member[Kind] === 'Function')) return [row]
  // Nobody writes what the functions that make connections put there.
  return [row, ...Object.entries(properties(nested)).filter(([name]) => `${path}.${name}` !== 'connections.provider').flatMap(([name, member]) => rowsOf(`${path}.${name}`, member, required(nested, name)))]
}

/** The object inside: the schema itself, an alternative to `false`, or what a list holds. */
function objectOf (schema: TSchema): TSchema | undefined {
  if (schema[Kind] === 'Object') return schema
  const members = schema[Kind] === 'Union' ? schema['anyOf'] as TSchema[] : []
  const list = (schema[Kind] === 'Array' ? schema : members.find((member) => member[Kind] === 'Array'))?.['items'] as TSchema | undefined
  return members.find((member) => member[Kind] === 'Object' && !Object.values(properties(member)).every((one) => one[Kind] === 'Function')) ?? (list?.[Kind] === 'Object' ? list : undefined)
}

function defaultOf (path: string, schema: TSchema): string {
  const [, rule, field] = /^rateLimit\.(\w+)\.(\w+)$/.exec(path) ?? []
  if (field === 'windowMs' || field === 'max' || field === 'count') return code(DEFAULTS.rateLimit[rule as RuleName][field])
  const value: unknown = schema['default']
  if (value === undefined) return ''
  return typeof value === 'string' && !/^[/a-z:-]+$|\(\)$/i.test(value) ? value : code(value)
}

function code (value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

function said (schema: TSchema, what: 'takes' | 'description'): string | undefined {
  const value: unknown = schema[what]
  return typeof value === 'string' ? value : undefined
}

function properties (schema: TSchema): Record<string, TSchema> {
  return (schema['properties'] ?? {}) as Record<string, TSchema>
}

function required (schema: TSchema, name: string): boolean {
  return ((schema['required'] ?? []) as string[]).includes(name)
}
