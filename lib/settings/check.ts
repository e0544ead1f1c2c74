import type { GrantDeclaration } from '../oauth/deps.ts'
import { parseBypassList } from '../limits/bypass-list.ts'
import { hasKeys } from '../clients/rights.ts'
import { checkClients } from './check-clients.ts'
import { checkIssuer, checkNames, checkPages, checkPaths } from './check-addresses.ts'
import { resolveSettings, type Settings, withoutUndefined } from './settings.ts'
import { badOption, invalid, makingOf, requireAssertions, schemaError } from './option-error.ts'
import { STORE_OPERATIONS } from '../ports/tracing.ts'
import { OWN_FIELDS } from '../ports/user-store.ts'
import type { AuthorityOptions, FeatureSection, optionsSchema } from './options.ts'
import { SECRET_TAKES } from './schema-words.ts'
import { ARGON2_MAX } from '../protocol/bounds.ts'
import { isObject } from '../protocol/json.ts'
import type { RedisClient } from '../adapters/redis/connection.ts'

/** OWASP's equivalent argon2id settings all have at least this product of KiB and passes. */
const MIN_ARGON2_WORK = 35_840

/**
 * Checks the host's options and fills in defaults. `undefined` means absent at every depth.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the option's path, the value and the accepted values
 */
export function checkedSettings(
  options: unknown,
  schema: ReturnType<typeof optionsSchema>,
  features: readonly FeatureSection[],
  grants: readonly GrantDeclaration[]
): Settings {
  if (!isObject(options)) throw invalid('options', options, 'an object with issuer and users')
  // Ignores `logLevel`, because Fastify passes this register option of its own to plugins.
  const { logLevel: _logLevel, ...given } = withoutUndefined(schema, options) as Record<string, unknown>
  for (const { before } of features) before?.(given)
  const error = schemaError(schema, given)
  if (error !== null) throw error
  const shaped = given as unknown as AuthorityOptions
  const { state, clients } = shaped
  checkIssuer(shaped)
  checkStores(shaped)
  const settings = resolveSettings(shaped, features)
  checkCosts(settings)
  checkSecrets(shaped)
  checkClients(settings, grants)
  if (Array.isArray(clients) && clients.some(hasKeys))
    requireAssertions(state, 'a client has keys', 'a signature is accepted only once')
  checkPages(shaped)
  checkRegistration(shaped, settings)
  checkBypass(settings)
  checkNames(settings)
  checkPaths(settings)
  return settings
}

function checkStores({ users, state, redis }: AuthorityOptions): void {
  for (const method of ['findById', 'findByUsername']) {
    if (!hasMethod(users, method))
      throw invalid('users', users, `a UserStore: ${makingOf(users) ?? `it lacks ${method}`}`)
  }
  for (const method of STORE_OPERATIONS.users) {
    if ((users as unknown as Record<string, unknown>)[method] !== undefined && !hasMethod(users, method))
      throw invalid(`users.${method}`, (users as unknown as Record<string, unknown>)[method], 'a function')
  }
  if (
    state !== undefined &&
    !(
      isObject(state) &&
      ['tokens', 'oneTimeTokens', 'browserSessions', 'consents', 'keys'].every((port) =>
        isObject((state as unknown as Record<string, unknown>)[port])
      )
    )
  ) {
    throw invalid(
      'state',
      state,
      `a State, such as memoryState(), sqliteState(db), redisState(client) or postgresState(db)${stateHint(state)}`
    )
  }
  for (const method of ['tryWrite', 'sweep'] as const)
    if (state !== undefined && !hasMethod(state, method)) throw invalid(`state.${method}`, state[method], 'a function')
  if (state?.assertions !== undefined && !hasMethod(state.assertions, 'claim'))
    throw invalid('state.assertions', state.assertions, 'an AssertionStore, which has claim')
  if (redis !== undefined && redis !== true && !isRedisClient(redis))
    throw invalid('redis', redis, 'true, or an ioredis client or cluster: new Redis(url) makes one')
}

/** A hint for the error: how to make a state from the given value. `''`: there is no hint. */
function stateHint(given: unknown): string {
  const making = makingOf(given)
  if (making !== null) return `: ${making}`
  return hasMethod(given, 'read') && hasMethod(given, 'commit') ? ': recordState(store) makes one of a RecordStore' : ''
}

function checkCosts({ password: { memoryCost, timeCost }, refreshToken, accessToken, session }: Settings): void {
  if (memoryCost * timeCost < MIN_ARGON2_WORK)
    throw invalid(
      'password.timeCost',
      timeCost,
      `a number of passes so that memoryCost × timeCost is ${MIN_ARGON2_WORK} or more (it is ${memoryCost * timeCost})`
    )
  if (memoryCost * timeCost > ARGON2_MAX.work)
    throw invalid(
      'password.timeCost',
      timeCost,
      `a number of passes so that memoryCost × timeCost is ${ARGON2_MAX.work} or less (it is ` +
        `${memoryCost * timeCost}): no stored hash that takes more is ever run`
    )
  const lifetime = refreshToken.expiresInMs / 1000
  if (accessToken.expiresInSeconds > lifetime)
    throw invalid(
      'accessToken.expiresIn',
      accessToken.expiresInSeconds,
      `no more than refreshToken.expiresIn (${lifetime})`
    )
  if (session.idleTimeoutMs > session.expiresInMs)
    throw invalid(
      'session.idleTimeout',
      session.idleTimeoutMs / 1000,
      `no more than session.expiresIn (${session.expiresInMs / 1000})`
    )
}

function checkSecrets({ secret, password, keys, accessToken }: AuthorityOptions): void {
  const secrets = secret === undefined ? [] : [secret].flat()
  for (const [index, one] of secrets.entries()) {
    if (isRepetition(one)) throw invalid(Array.isArray(secret) ? `secret[${index}]` : 'secret', one, SECRET_TAKES, true)
  }
  if (password?.pepper === true && secrets.length === 0)
    throw invalid('password.pepper', true, 'true only where the option secret is set')
  if (keys !== undefined && accessToken?.alg !== undefined)
    throw invalid(
      'accessToken.alg',
      accessToken.alg,
      'nothing where the option keys is set: the first of those keys signs'
    )
  if (!Array.isArray(keys)) {
    if (keys !== undefined && isRepetition(keys.secret)) throw invalid('keys.secret', keys.secret, SECRET_TAKES, true)
    return
  }
  const kids = keys.map(({ kid }) => kid).filter((kid) => kid !== undefined)
  for (const [index, { kid }] of keys.entries()) {
    if (kid !== undefined && kids.indexOf(kid) !== kids.lastIndexOf(kid))
      throw invalid(`keys[${index}].kid`, kid, 'an id that no other key has')
  }
}

function isRepetition(secret: string): boolean {
  return /^([^]{1,4})\1*$/.test(secret)
}

function checkRegistration({ registration, users, sendMessage }: AuthorityOptions, settings: Settings): void {
  if (registration === undefined || registration === false) return
  if (!hasMethod(users, 'create')) throw invalid('registration', registration, 'false, or a UserStore with create')
  const fields = settings.registration === false ? null : settings.registration.fields
  if (fields !== null) {
    const reserved = Object.keys(fields.properties).find((name) => name !== 'email' && OWN_FIELDS.has(name))
    if (reserved !== undefined)
      throw invalid(`registration.fields.${reserved}`, 'a field', "another name: this one is not the caller's to set")
    if ('email' in fields.properties && registration.username !== 'any')
      throw invalid(
        'registration.fields.email',
        'a field',
        'nothing: the username is the email address. For other usernames besides it, set ' +
          'registration.username to "any"'
      )
  }
  if (registration.verifyEmail === true) {
    if (sendMessage === undefined) throw invalid('registration.verifyEmail', true, 'true only where sendMessage is set')
    if (!hasMethod(users, 'setEmailVerified'))
      throw invalid('registration.verifyEmail', true, 'true only with a UserStore that has setEmailVerified')
  }
}

function checkBypass({ rateLimit }: Settings): void {
  if (rateLimit === false) return
  for (const [index, entry] of rateLimit.bypass.entries()) {
    try {
      parseBypassList([entry])
    } catch (error) {
      throw badOption(
        `rateLimit.bypass[${index}]`,
        error instanceof Error
          ? error.message.replace(/^rateLimit\.bypass: |\.$/g, '')
          : 'it is no address and no CIDR range'
      )
    }
  }
}

function hasMethod(value: unknown, name: string): boolean {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === 'function'
  )
}

/** True if the value has the methods of an ioredis `Redis` or `Cluster` that the library uses. */
export function isRedisClient(value: unknown): value is RedisClient {
  return (
    ['evalsha', 'eval', 'pipeline', 'connect', 'on', 'off'].every((name) => hasMethod(value, name)) &&
    typeof (value as { status?: unknown }).status === 'string'
  )
}
