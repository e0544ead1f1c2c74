import { slotOf } from '../accounts/slots.ts'
import { hasBcrypt } from '../adapters/imported-hashes/imported-hash-verifier.ts'
import { systemClock } from '../adapters/node/system.ts'
import { redisState } from '../adapters/redis/record-store.ts'
import { HOST_BUDGET_MS, within } from '../boundary/answers.ts'
import { settingsOf } from '../composition/compose.ts'
import type { Services } from '../composition/services.ts'
import { isMisfit, StartError } from '../errors.ts'
import type { ManagedKey } from '../keys/manage-keys.ts'
import { isOutage } from '../ports/outage.ts'
import type { User } from '../ports/user-store.ts'
import { ADMIN_SCOPES } from '../protocol/scope.ts'
import { isLoopbackHost } from '../protocol/redirect-uri.ts'
import type { AuthorityOptions } from '../settings/options.ts'
import { census } from './census.ts'
import { CliError, type Config, type ConfigCommand, NO_BCRYPT, Said } from './command.ts'
import { keyRow } from './keys.ts'
import { rehearse } from './rehearsal.ts'
import { type Place, placesOf, stateOf } from './stores.ts'

/** A problem. Programs read `check`. People read `problem`, which also says what to do. */
interface Fault {
  check:
    | 'options'
    | 'settings'
    | 'store'
    | 'migrations'
    | 'clock'
    | 'keys'
    | 'workers'
    | 'redis'
    | 'proxy'
    | 'messages'
    | 'connection'
    | 'memory'
    | 'roles'
    | 'hashes'
    | 'limits'
  problem: string
}

type Found = (check: Fault['check'], problem: string) => void

interface Report {
  faults: Fault[]
  /**
   * Milliseconds by which the clock of the state's server is ahead. `null`: the state store has no clock, did not
   * answer, or lacks migrations.
   */
  clockOffsetMs: number | null
  keys: Array<ReturnType<typeof keyRow>>
  /** The number of users per format of their password hash. */
  hashes: Record<string, number>
  callbacks: Array<{ connection: string; url: string }>
  /** Notes that do not change the exit code: settings that may be intended, and checks that were left out. */
  notes: Fault[]
}

const CHECKS: Readonly<Record<string, Fault['check']>> = {
  FST_AUTHORITY_EVICTION: 'redis',
  FST_AUTHORITY_CLOCK_SKEW: 'clock'
}
/** Log codes that are ignored, because `doctor` checks stores, keys and providers itself. */
const CHECKED = ['FST_AUTHORITY_STORE_DOWN', 'FST_AUTHORITY_KEYS_FAILED', 'FST_AUTHORITY_PROVIDER_DOWN']

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const ask = async <Answer>(work: () => Promise<Answer>): Promise<Answer> =>
  await within(HOST_BUDGET_MS, systemClock, work)

export const DOCTOR: ConfigCommand = {
  name: 'doctor',
  takes: [],
  flags: ['online'],
  does: 'Looks for mistakes in the configuration and the stores, and changes nothing. `--online` asks the providers.',
  async check(config, { online = false }) {
    const report: Report = { faults: [], clockOffsetMs: null, keys: [], hashes: {}, callbacks: [], notes: [] }
    const outage = await examine(config, online, report)
    if (report.faults.length === 0) return new Said(report, 'Found no fault.', report)
    throw new CliError(outage ? 3 : 1, '', report)
  }
}

/** Fills the report. @returns true if a store could not be reached */
async function examine(config: Config, online: boolean, report: Report): Promise<boolean> {
  const { options } = config
  const found = (check: Fault['check'], problem: string): void => {
    report.faults.push({ check, problem })
  }
  const noted: Found = (check, problem) => {
    report.notes.push({ check, problem })
  }
  const places = acceptedPlaces(options, found, noted)
  const stores = places ?? storesOf(options)
  const { readable, hasOutage } = await examineStores(stores, found)
  let isLate = false
  /** Runs a check of a readable store. Reports a failure as a fault, so that other checks still run. */
  const examining = async (option: Place['option'], work: () => Promise<unknown>): Promise<void> => {
    if (!readable.has(option)) return
    try {
      await work()
    } catch (error) {
      isLate ||= isOutage(error)
      found('store', storeProblem(option, error))
    }
  }
  if (places !== null) {
    const { refusal, warnings } = await rehearse(config, readable, async (services) => {
      await examining('state', async () => {
        report.keys = (await examineKeys(services, found)).map(keyRow)
      })
      await examineConnections(services, online, report, found)
      // Tries the host's `admin.allow`. A failure logs a warning, which becomes a fault below.
      await services.grants.administration?.allow({ user: NOBODY, client: null, scopes: [...ADMIN_SCOPES] })
    })
    if (refusal !== null) found('options', refusal)
    for (const { code, text } of warnings) if (!CHECKED.includes(code)) found(CHECKS[code] ?? 'settings', text)
  }
  await examining('state', async () => {
    await examineServer(config, report, found, noted)
  })
  await examining('redis', async () => {
    await examineCounters(options, found)
  })
  await examining('users', async () => {
    const firebase = places === null ? null : settingsOf(options).password.firebase
    report.hashes = await census(options.users, firebase, ask)
  })
  if (places !== null && options.redis === true)
    noted('redis', 'redis is true, so doctor did not look at the client of the app. Set redis to the client.')
  if ((report.hashes['bcrypt'] ?? 0) > 0 && !(await hasBcrypt())) found('hashes', NO_BCRYPT)
  examineSurroundings(config, stores, found)
  examineChoices(options, stores, found, noted)
  return hasOutage || isLate
}

/** A user who does not exist, for trial calls of the host's functions. */
const NOBODY: User = { id: 'nobody', username: 'nobody@doctor.invalid', passwordHash: null }

/** Returns the stores of valid options. `null`: the plugin refuses the options, so it can't start. */
function acceptedPlaces(options: AuthorityOptions, found: Found, noted: Found): Place[] | null {
  try {
    settingsOf(options)
    return placesOf(options)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    found('options', error.message)
    noted('options', 'The other options, the keys and the connections were not checked. Mend this option first.')
    return null
  }
}

/** Returns the stores of refused options. Empty if an option's value is no store. */
function storesOf(options: AuthorityOptions): Place[] {
  try {
    return placesOf(options)
  } catch {
    return []
  }
}

function storeProblem(option: Place['option'], error: unknown): string {
  const part = isMisfit(error) ? 'methods' : 'server'
  return `The store of the option ${option} can't be used: ${messageOf(error)} Look at its ${part}.`
}

/** Returns the options whose stores answer and need no migration. Reports a fault of each other store. */
async function examineStores(
  places: readonly Place[],
  found: Found
): Promise<{ readable: Set<Place['option']>; hasOutage: boolean }> {
  const readable = new Set<Place['option']>()
  let hasOutage = false
  for (const { option, pending, look } of places) {
    try {
      const steps = await ask(pending)
      if (steps.length > 0) {
        found('migrations', `The store of the option ${option} lacks migrations (${steps.join('; ')}). Run migrate.`)
        continue
      }
      await ask(look)
      readable.add(option)
    } catch (error) {
      hasOutage ||= isOutage(error)
      found('store', storeProblem(option, error))
    }
  }
  return { readable, hasOutage }
}

async function examineKeys({ keys }: Services, found: Found): Promise<ManagedKey[]> {
  const listed = (await keys?.list()) ?? []
  for (const { kid, state } of listed)
    if (state === 'unreadable')
      found('keys', `The option secret does not open the signing key ${kid}. Put the former secret into its array.`)
  return listed
}

async function examineConnections({ grants }: Services, online: boolean, report: Report, found: Found): Promise<void> {
  for (const [id, { callbackUrl, upstream }] of slotOf(grants.accounts, 'connections') ?? []) {
    report.callbacks.push({ connection: id, url: callbackUrl })
    if (!online) continue
    const flow = { state: 'doctor', nonce: 'doctor', codeVerifier: 'doctor', startedAt: 0, redirectUri: callbackUrl }
    try {
      await ask(async () => await upstream.authorizationUrl(flow, {}))
    } catch (error) {
      found('connection', `The connection ${id} can't be used: ${messageOf(error)} Look at its issuer.`)
    }
  }
}

/** Reads the clock of the state's server. Checks that a Redis keeps its data after a crash. */
async function examineServer({ options }: Config, report: Report, found: Found, noted: Found): Promise<void> {
  const state = stateOf(options)
  const { time } = state
  if (time !== undefined) report.clockOffsetMs = Math.round((await ask(() => time.call(state))) - systemClock.now())
  const keeps = await state.isAppendOnly?.()
  if (keeps === null) noted('redis', 'The Redis with the state refuses INFO, so appendonly is unknown. Allow INFO.')
  if (keeps === false)
    found('redis', 'The Redis with the state has no append-only file, so a crash signs people out. Set appendonly yes.')
}

/** Checks a Redis that holds only the rate limits. */
async function examineCounters({ redis }: AuthorityOptions, found: Found): Promise<void> {
  const policy = typeof redis === 'object' ? await ask(async () => await redisState(redis).evictionPolicy()) : null
  if (policy !== null)
    found(
      'redis',
      `The Redis with the rate limits has maxmemory-policy ${policy}, so it may forget attempts. Set it to noeviction.`
    )
}

/** Checks worker processes, the reverse proxy and `sendMessage`. */
function examineSurroundings({ options, fastify }: Config, places: readonly Place[], found: Found): void {
  const { WEB_CONCURRENCY, NODE_APP_INSTANCE } = process.env
  if (Number(WEB_CONCURRENCY) > 1 || NODE_APP_INSTANCE !== undefined)
    for (const { option, what, isMemory } of places)
      if (isMemory) found('workers', `${what} in memory, and there are several workers. Set ${option} to a store.`)
  const { protocol, hostname } = new URL(URL.canParse(options.issuer) ? options.issuer : 'http://localhost')
  const isProxied = protocol === 'https:' && !isLoopbackHost(hostname) && !('https' in (fastify ?? {}))
  if (isProxied && fastify?.trustProxy === undefined)
    found(
      'proxy',
      'The issuer is https:, and the configuration has no fastify.trustProxy, so all clients would share the address ' +
        'of the proxy. Set it to the addresses of your proxies, as in the app, or to false without one.'
    )
  const needed = (['registration', 'admin', 'factors'] as const).filter(
    (name) => options[name] !== undefined && options[name] !== false
  )
  if (options.sendMessage === undefined && needed.length > 0)
    found('messages', `sendMessage is missing, so nobody gets the messages of ${needed.join(', ')}. Set sendMessage.`)
}

/** Names of user fields that many apps use for authorization. */
const RIGHTS = /^(?:is)?_?(?:admin|superuser|roles?|groups?|permissions?|scopes?|rights)$/i

/** Reports options that are rarely intended in production. */
function examineChoices(options: AuthorityOptions, stores: readonly Place[], found: Found, noted: Found): void {
  // The plugin may have refused the options, so their values may have any type.
  const registration = options.registration as { fields?: { properties?: object } | null } | false | null | undefined
  const memory = stores.flatMap(({ option, isMemory }) => (isMemory ? [option] : []))
  if (memory.includes('users'))
    found('memory', 'The users are in memory, so they are gone when the process ends. Set users to a store.')
  else if (memory.includes('state'))
    noted('memory', 'The state is in memory, so a restart signs all people out. Set state or redis.')
  if (options.rateLimit === false)
    noted('limits', 'rateLimit is false, so nothing here slows down guesses of passwords. Leave the option out.')
  const fields = Object.keys((registration || {}).fields?.properties ?? {})
  for (const field of fields.filter((name) => RIGHTS.test(name)))
    found('roles', `registration.fields has ${field}, so people choose it for themselves. Keep it out of these fields.`)
}
