import { argumentsOf, type Batch, brokenConnection, type Call, codeOf, newBatch, noAnswer, notConnected, rejectAll, settle, withoutArguments } from './batch.ts'
import { defineScript, type Programme, programmeOf, programmeOfOne, type Script } from './script.ts'

/** What a `Redis` and a `Cluster` of ioredis 5 and 6 have in common. Nothing of ioredis is imported. */
export interface RedisClient {
  readonly status: string
  readonly isCluster: boolean
  connect(): Promise<unknown>
  evalsha(sha1: Buffer, numberOfKeys: number, ...keysAndArguments: Array<string | number>): Promise<unknown>
  eval(lua: Buffer, numberOfKeys: number, ...keysAndArguments: Array<string | number>): Promise<unknown>
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

export interface RedisConnection {
  /**
   * Runs a script with its keys and `ARGV`, at most once, and resolves to its reply. A key must have a hash tag: the script derives
   * its other keys from it, so that a `keyPrefix` of the client and the slots of a Cluster hold for them as well.
   *
   * Scripts that are asked for in one turn of the event loop go to the server as one command, at most 64 of them, where they are
   * of the connection's programme. Each is done whole, with nothing in between, and the failure of one is its own.
   *
   * Rejects within `timeoutMs` where there is no reply, and at once where the client is not connected. What was sent may then
   * have been done nevertheless, and may still be when a server that hung goes on; it is not sent a second time. The error says
   * nothing of keys and arguments.
   */
  run(script: Script, keys: string | readonly string[], args: ReadonlyArray<string | number>): Promise<unknown>
  /** Milliseconds since the epoch, by the server's clock. In a Cluster always that of the same slot. Rejects as `run` does. */
  time(): Promise<number>
  /** Whether any keys may be in one command: not in a Cluster, and not where the server has refused it. */
  spansSlots(): boolean
}

export interface RedisConnectionOptions {
  timeoutMs?: number
  /** The scripts that may go together. Any other goes with its like alone. */
  programme?: Programme
}

/** How often a server that has stopped answering is asked again whether it does. */
const ASK_AGAIN_MS = 1000
/** So that one command never keeps the server from all others for long. */
const CALLS_A_COMMAND = 64

const TIME = defineScript("local time = redis.call('TIME') return time[1] * 1000 + math.floor(time[2] / 1000)")
const NOTHING = defineScript('return 1')
export const CONNECTION_SCRIPTS: readonly Script[] = [TIME, NOTHING]
const OWN_KEY = '{authority}'
const OWN_PROGRAMME = programmeOf(CONNECTION_SCRIPTS)

/** How a server says that it will not have these keys in one command. */
const TOGETHER_REFUSED: readonly string[] = ['CROSSSLOT', 'NOPERM']

/** The states of an ioredis client in which a call may come to an answer. */
const CONNECTED_OR_SOON: readonly string[] = ['ready', 'wait', 'connecting', 'connect']

/** What is under way on a client, each with its end when the connection breaks. */
const underWay = new WeakMap<RedisClient, Set<() => void>>()

/** One pair of listeners for the life of the client, however many connections share it. */
function underWayOn (client: RedisClient): Set<() => void> {
  const known = underWay.get(client)
  if (known !== undefined) return known
  const batches = new Set<() => void>()
  const broken = (): void => { for (const end of batches) end() }
  client.on('close', broken)
  // A node of a Cluster. It isn't known whose calls were on it, but what has been written to another is answered all the same.
  if (client.isCluster) client.on('-node', broken)
  underWay.set(client, batches)
  return batches
}

/**
 * The one way to Redis: scripts, each with a bound on its time. Never puts anything into ioredis's offline queue, and lets nothing
 * be sent again by ioredis after a broken connection: a redemption done twice would look like a replay.
 */
export function redisConnection (client: RedisClient, { timeoutMs = 250, programme = OWN_PROGRAMME }: RedisConnectionOptions = {}): RedisConnection {
  const sent = underWayOn(client)
  /** What this turn of the event loop has asked for, by what may go together. */
  const waiting = new Map<string, { programme: Programme, calls: Call[], spansSlots: boolean }>()
  /** In a Cluster a key leads to the server; elsewhere, one that is not under the prefixes of the stores may not be allowed. */
  const ownKeys = client.isCluster ? OWN_KEY : []
  let spansSlots = !client.isCluster
  let whenReady: Promise<void> | null = null
  /** When a server that left a call unanswered is asked again (`performance.now()`); 0: it answers. */
  let askAgainAt = 0

  /** Shared by all who wait, or many calls at start would make many listeners. */
  function becomesReady (): Promise<void> {
    whenReady ??= new Promise<void>((resolve, reject) => {
      const events = ['ready', 'close', 'end'] as const
      const done = (): void => {
        for (const event of events) client.off(event, done)
        whenReady = null
        if (client.status === 'ready') resolve()
        else reject(notConnected())
      }
      for (const event of events) client.on(event, done)
      if (client.status === 'wait') client.connect().catch(() => {})
    })
    return whenReady
  }

  /** What there is to say where nothing can be sent now. */
  function refused (): (() => Error) | null {
    if (!CONNECTED_OR_SOON.includes(client.status)) return notConnected
    // Replies come in order. Whatever is sent behind a call that hangs would be done, unwanted, when the server goes on.
    return askAgainAt > 0 ? noAnswer : null
  }

  async function exchange (batch: Batch): Promise<unknown> {
    if (client.status !== 'ready') await becomesReady()
    const args = argumentsOf(batch)
    try {
      return await client.evalsha(batch.mayBeSent(batch.programme.sha1), ...args)
    } catch (error) {
      if (codeOf(error) !== 'NOSCRIPT') throw error
      return await client.eval(batch.mayBeSent(batch.programme.lua), ...args)
    }
  }

  function send (batch: Batch): void {
    const finish = (): void => {
      clearTimeout(timer)
      sent.delete(broken)
      batch.end()
    }
    const broken = (): void => {
      askAgainAt = 0
      batch.end()
      // Calls to the other nodes of a Cluster go on.
      if (client.isCluster) return
      finish()
      rejectAll(batch, brokenConnection)
    }
    const tooLate = (): void => {
      if (!sent.has(broken)) return
      // In a Cluster one node may hang while the others answer.
      if (!client.isCluster && client.status === 'ready') askAgainAt = performance.now() + ASK_AGAIN_MS
      finish()
      rejectAll(batch, () => new Error(`Redis did not answer within ${timeoutMs} ms.`))
    }
    // It may be this process that was busy for so long: an answer that has come meanwhile is read first.
    const timer = setTimeout(() => { setImmediate(tooLate) }, timeoutMs)
    timer.unref()
    sent.add(broken)
    exchange(batch).then((reply) => {
      // Also where nobody waits for it any more: the server answers again.
      askAgainAt = 0
      settle(batch, reply)
      finish()
    }, (error: unknown) => {
      askAgainAt = 0
      const over = batch.isOver()
      finish()
      if (over || !goApart(batch, error)) rejectAll(batch, () => over ? brokenConnection() : withoutArguments(error))
    })
  }

  /**
   * A server may be a cluster without the client's knowing, or have rules on keys that some calls break. It has done nothing then, and
   * gets what has different keys apart from now on.
   */
  function goApart (batch: Batch, error: unknown): boolean {
    if (!batch.spansSlots || !TOGETHER_REFUSED.includes(codeOf(error) ?? '')) return false
    spansSlots = false
    for (const call of batch.calls) {
      if (typeof call.keys === 'string' || call.keys.length < 2) enqueue(call)
      else call.reject(withoutArguments(error))
    }
    return true
  }

  function flush (): void {
    const groups = [...waiting.values()]
    waiting.clear()
    const error = refused()
    for (const { calls, ...group } of groups) {
      if (error !== null) rejectAll({ calls }, error)
      else for (let at = 0; at < calls.length; at += CALLS_A_COMMAND) send(newBatch(group, calls.slice(at, at + CALLS_A_COMMAND)))
    }
  }

  const programmeWith = (script: Script): Programme => programme.numbers.has(script) ? programme : programmeOfOne(script)

  function enqueue (call: Call): void {
    const one = programmeWith(call.script)
    const together = spansSlots ? one.sha1 : `${one.sha1} ${String(call.keys)}`
    const group = waiting.get(together)
    if (group !== undefined) {
      group.calls.push(call)
      return
    }
    if (waiting.size === 0) setImmediate(flush)
    waiting.set(together, { programme: one, calls: [call], spansSlots })
  }

  function run (script: Script, keys: string | readonly string[], args: ReadonlyArray<string | number>): Promise<unknown> {
    const error = refused()
    if (error === noAnswer && performance.now() >= askAgainAt) {
      askAgainAt = performance.now() + ASK_AGAIN_MS
      send(newBatch({ programme: programmeWith(NOTHING), spansSlots: false }, [{ script: NOTHING, keys: ownKeys, args: [], resolve () {}, reject () {} }]))
    }
    if (error !== null) return Promise.reject(error())
    return new Promise((resolve, reject) => { enqueue({ script, keys, args, resolve, reject }) })
  }

  return {
    run,
    async time () { return Number(await run(TIME, ownKeys, [])) },
    spansSlots: () => spansSlots
  }
}
