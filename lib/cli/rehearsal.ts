import { memoryState } from '../adapters/memory/record-store.ts'
import { SERVICES, type Services } from '../composition/services.ts'
import authPlugin, { type AuthorityOptions } from '../index.ts'
import type { State } from '../ports/state.ts'
import { appOf, type Config } from './command.ts'
import { apiKeyStoreOf, auditLogOf, overlaid, type Place, stateOf, withLog } from './stores.ts'

/** A line of the log of the rehearsed start. */
interface Line {
  code: string
  text: string
}

/** The result of a start of the service that changes nothing. */
interface Rehearsal {
  /** The message of the error that stopped the start or `work`. `null`: neither failed. */
  refusal: string | null
  /** The warnings of the start. */
  warnings: Line[]
}

const PREFIX = 'fastify-authority: '

/** Returns the store without `prepare`, and with its methods replaced by those in `others`. */
const readOnly = <Store extends object>(store: Store, others: object = {}): Store =>
  overlaid(store, { prepare: undefined, ...others })

const nothing = async (): Promise<void> => {}

/**
 * Returns the options with stores to which the start writes nothing. `readable`: stores that answer and whose tables
 * are up to date. Only these are read, because a read of another store would migrate its tables.
 */
function harmless(options: AuthorityOptions, readable: ReadonlySet<Place['option']>): AuthorityOptions {
  const { redis, users, factors, apiKeys, audit } = options
  const [given, log, keyStore] = [stateOf(options), auditLogOf(options), apiKeyStoreOf(options)]
  const look = readable.has('state')
  const state: State & { evictionPolicy?: unknown } = {
    ...memoryState(),
    kind: given.kind,
    // `redis: true` stands for a client of the app, which does not exist in this process.
    shared: given.shared || redis === true,
    ...(look && given.time !== undefined ? { time: async () => await (given.time as () => Promise<number>)() } : {}),
    ...(look && 'evictionPolicy' in given ? { evictionPolicy: given.evictionPolicy } : {}),
    keys: {
      list: async () => (look ? await given.keys.list() : []),
      addIfAbsent: async () => false,
      retire: nothing,
      remove: nothing
    }
  }
  const keepSeal = factors?.keepSeal
  return {
    ...options,
    decorators: undefined,
    redis: undefined,
    state,
    users: readOnly(users),
    factors:
      factors === undefined
        ? undefined
        : readOnly(factors, {
            sweep: nothing,
            // Expects the current seal to be `''`. No store contains that, so the call changes nothing.
            keepSeal:
              keepSeal !== undefined && readable.has('factors')
                ? async (next: string) => await keepSeal.call(factors, next, '')
                : undefined
          }),
    apiKeys:
      apiKeys === undefined || keyStore === null
        ? undefined
        : {
            ...('store' in apiKeys ? apiKeys : {}),
            store: readOnly(keyStore, { sweep: nothing })
          },
    audit:
      audit === undefined || log === null
        ? undefined
        : withLog(audit, readOnly(log, { append: nothing, head: async () => null, prune: async () => 0 }))
  }
}

/** Starts the service without writing to its stores, and runs `work` if the start succeeded. */
export async function rehearse(
  config: Config,
  readable: ReadonlySet<Place['option']>,
  work: (services: Services) => Promise<void>
): Promise<Rehearsal> {
  const warnings: Line[] = []
  const write = (line: string): void => {
    const { code, msg } = JSON.parse(line) as { code?: string; msg?: string }
    if (code !== undefined && msg?.startsWith(PREFIX) === true) warnings.push({ code, text: msg.slice(PREFIX.length) })
  }
  const app = appOf(config, { level: 'warn', stream: { write } })
  try {
    await app.register(authPlugin, harmless(config.options, readable))
    await app.ready()
    const services = SERVICES.get(app.authority)
    if (services !== undefined) await work(services)
    return { refusal: null, warnings }
  } catch (error) {
    return { refusal: error instanceof Error ? error.message : String(error), warnings }
  } finally {
    await app.close()
  }
}
