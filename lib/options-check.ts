import { Kind, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { StartError } from './errors.ts'
import { parseBypassList } from './limits/bypass-list.ts'
import { DEFAULTS, type AuthorityOptions } from './options.ts'
import { OPTIONS_SCHEMA, registerFormats, type Said } from './options-schema.ts'

/** Options of interface sections that this version does not serve yet: named, so that none is ignored in silence. */
const NOT_YET = ['redis', 'idToken', 'authorizationCode', 'session', 'pages']
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
/** OWASP's equivalent argon2id settings all come to this product of KiB and passes, or more. */
const MIN_ARGON2_WORK = 35_840

/**
 * Checks what the host gave. Returns it unchanged.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the option's path, what it got and what it takes
 */
export function checkOptions (options: unknown): AuthorityOptions {
  if (!isObject(options)) throw invalid('options', options, 'an object with issuer and users')
  // Fastify hands its own register option through.
  const { logLevel: _logLevel, ...given } = options
  for (const name of NOT_YET) if (name in given) throw new StartError('FST_AUTHORITY_INVALID_OPTIONS', `Invalid option "${name}": this version does not have it yet. Leave it out.`)
  const error = Value.Errors(OPTIONS_SCHEMA, given).First()
  if (error !== undefined) throw schemaError(error, given)
  const checked = given as unknown as AuthorityOptions
  checkIssuer(checked.issuer)
  checkStores(checked)
  checkCosts(checked)
  checkSecrets(checked)
  checkClients(checked)
  checkRegistration(checked)
  checkBypass(checked)
  checkNames(checked)
  return checked
}

export function isLoopbackIssuer (issuer: string): boolean {
  return LOOPBACK.test(new URL(issuer).hostname)
}

function checkIssuer (issuer: string): void {
  const takes = 'an absolute https: URL without query, fragment, user name or trailing slash; http: only for localhost, 127.0.0.0/8 and [::1]'
  let url: URL
  try {
    url = new URL(issuer)
  } catch {
    throw invalid('issuer', issuer, takes)
  }
  const plain = url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
  const spelled = issuer === url.origin || issuer === url.href
  if (!plain || !spelled || issuer.endsWith('/') || /[?#]/.test(issuer) || url.username !== '' || url.password !== '') throw invalid('issuer', issuer, takes)
}

function checkStores ({ users, state }: AuthorityOptions): void {
  for (const method of ['findById', 'findByUsername']) {
    if (!hasMethod(users, method)) throw invalid('users', users, `a UserStore: it lacks ${method}`)
  }
  for (const method of ['create', 'setPasswordHash', 'setEmailVerified']) {
    if ((users as unknown as Record<string, unknown>)[method] !== undefined && !hasMethod(users, method)) throw invalid(`users.${method}`, (users as unknown as Record<string, unknown>)[method], 'a function')
  }
  if (state !== undefined && !(isObject(state) && ['tokens', 'oneTimeTokens', 'keys'].every((port) => isObject((state as unknown as Record<string, unknown>)[port])))) {
    throw invalid('state', state, 'a State, such as memoryState() or sqliteState(db)')
  }
}

function checkCosts ({ password = {}, refreshToken = {}, accessToken = {} }: AuthorityOptions): void {
  const { memoryCost = DEFAULTS.password.memoryCost, timeCost = DEFAULTS.password.timeCost } = password
  if (memoryCost * timeCost < MIN_ARGON2_WORK) throw invalid('password.timeCost', timeCost, `a number of passes so that memoryCost × timeCost is ${MIN_ARGON2_WORK} or more (it is ${memoryCost * timeCost})`)
  const lifetime = refreshToken.expiresIn ?? DEFAULTS.refreshToken.expiresIn
  const access = accessToken.expiresIn ?? DEFAULTS.accessToken.expiresIn
  if (access > lifetime) throw invalid('accessToken.expiresIn', access, `no more than refreshToken.expiresIn (${lifetime})`)
}

function checkSecrets ({ secret, password, keys }: AuthorityOptions): void {
  const secrets = secret === undefined ? [] : Array.isArray(secret) ? secret : [secret]
  if (secrets.some((one) => Buffer.byteLength(one) < 32 || /^(.)\1*$/.test(one))) throw invalid('secret', secret, 'random text of 32 bytes or more', true)
  if (password?.pepper === true && secrets.length === 0) throw invalid('password.pepper', true, 'true only where the option secret is set')
  if (isObject(keys) && typeof keys.secret === 'string' && /^(.)\1*$/.test(keys.secret)) throw invalid('keys.secret', keys.secret, 'random text of 32 bytes or more', true)
}

function checkClients ({ clients, scopes = [...DEFAULTS.scopes] }: AuthorityOptions): void {
  if (!Array.isArray(clients)) return
  const seen = new Set<string>()
  for (const [index, client] of clients.entries()) {
    if (seen.has(client.clientId)) throw invalid(`clients[${index}].clientId`, client.clientId, 'an id that no other client has')
    seen.add(client.clientId)
    const unknown = client.scopes?.find((scope) => !scopes.includes(scope))
    if (unknown !== undefined) throw invalid(`clients[${index}].scopes`, unknown, `scopes of the option scopes (${scopes.join(' ')})`)
  }
}

function checkRegistration ({ registration, users, sendMessage }: AuthorityOptions): void {
  if (registration === undefined || registration === false) return
  if (!hasMethod(users, 'create')) throw invalid('registration', registration, 'false, or a UserStore with create')
  if (registration.fields !== undefined) {
    const fields = registration.fields as TSchema
    if (fields[Kind] !== 'Object') throw invalid('registration.fields', fields, 'a Type.Object(…) of @sinclair/typebox')
    const reserved = ['id', 'username', 'password', 'passwordHash', 'emailVerified', 'disabled'].find((name) => name in fields.properties)
    if (reserved !== undefined) throw invalid(`registration.fields.${reserved}`, 'a field', 'another name: this one is not the caller\'s to set')
    registerFormats()
  }
  if (registration.verifyEmail === true) {
    if (sendMessage === undefined) throw invalid('registration.verifyEmail', true, 'true only where sendMessage is set')
    if (!hasMethod(users, 'setEmailVerified')) throw invalid('registration.verifyEmail', true, 'true only with a UserStore that has setEmailVerified')
  }
}

function checkBypass ({ rateLimit }: AuthorityOptions): void {
  if (rateLimit === undefined || rateLimit === false) return
  for (const [index, entry] of (rateLimit.bypass ?? []).entries()) {
    try {
      parseBypassList([entry])
    } catch (error) {
      throw invalid(`rateLimit.bypass[${index}]`, entry, error instanceof Error ? error.message : 'an address or a CIDR range')
    }
  }
}

function checkNames ({ decorators = {} }: AuthorityOptions): void {
  const names = Object.values({ ...DEFAULTS.decorators, ...decorators })
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw invalid('decorators', twice, 'four different names')
}

interface FoundError { path: string, value: unknown, schema: TSchema }

/** The deepest node that says what it takes: of a nested mistake, the innermost option is named. */
function schemaError ({ path, value, schema }: FoundError, options: unknown): StartError {
  const steps = path.split('/').slice(1).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  let node: TSchema | undefined = OPTIONS_SCHEMA
  let said: Said | undefined
  let confidential = false
  let depth = 0
  for (const [index, step] of [...steps, ''].entries()) {
    if (node === undefined) break
    if (typeof node.takes === 'string') { said = node as unknown as Said; depth = index }
    confidential ||= node.confidential === true
    node = (node.properties as Record<string, TSchema> | undefined)?.[step] ?? (node.items as TSchema | undefined)
  }
  const named = steps.map((step, index) => /^\d+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`).join('')
  const known = (parent(steps)?.properties as Record<string, TSchema> | undefined)
  if (known !== undefined && !(steps.at(-1) as string in known)) {
    return new StartError('FST_AUTHORITY_INVALID_OPTIONS', `Invalid option "${named}": there is no such option. There are: ${Object.keys(known).join(', ')}.`)
  }
  const saidAt = schema.takes === undefined ? steps.slice(0, depth) : steps
  const got = saidAt.reduce<unknown>((at, step) => isObject(at) || Array.isArray(at) ? (at as Record<string, unknown>)[step] : undefined, options)
  const takes = typeof schema.takes === 'string' ? schema.takes : said?.takes ?? 'something else'
  return invalid(named, schema.takes === undefined && depth === steps.length ? value : got, takes, confidential || schema.confidential === true)
}

function parent (steps: string[]): TSchema | undefined {
  let node: TSchema | undefined = OPTIONS_SCHEMA
  for (const step of steps.slice(0, -1)) node = (node?.properties as Record<string, TSchema> | undefined)?.[step] ?? (node?.items as TSchema | undefined)
  return node
}

function invalid (path: string, got: unknown, takes: string, confidential = false): StartError {
  return new StartError('FST_AUTHORITY_INVALID_OPTIONS', `Invalid option "${path}": got ${confidential && got !== undefined ? 'a value that is not shown' : show(got)}; it takes ${takes}.`)
}

function show (value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hasMethod (value: unknown, name: string): boolean {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && typeof (value as Record<string, unknown>)[name] === 'function'
}
