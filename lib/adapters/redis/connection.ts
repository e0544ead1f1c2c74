import { createHash } from 'node:crypto'

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

export interface Script {
  readonly lua: string
  readonly sha1: string
}

export interface RedisConnection {
  /**
   * Runs a script with `KEYS[1]` and `ARGV`, at most once, and resolves to its reply. The one key must have a hash tag: the script
   * derives its other keys from `KEYS[1]`, so that a `keyPrefix` of the client and the slots of a Cluster hold for them as well.
   *
   * Rejects within `timeoutMs` where there is no reply, and at once where the client is not connected. What was sent may then
   * have been done nevertheless, and may still be when a server that hung goes on; it is not sent a second time. The error says
   * nothing of keys and arguments.
   */
  run(script: Script, key: string, args: ReadonlyArray<string | number>): Promise<unknown>
  /** Milliseconds since the epoch, by the server's clock. In a Cluster always that of the same slot. Rejects as `run` does. */
  time(): Promise<number>
}

export function defineScript (lua: string): Script {
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') }
}

/** How often a server that has stopped answering is asked again whether it does. */
const ASK_AGAIN_MS = 1000

const TIME = defineScript("local time = redis.call('TIME') return time[1] * 1000 + math.floor(time[2] / 1000)")
const NOTHING = defineScript('return 1')
const OWN_KEY = '{authority}'

/** The states of an ioredis client in which a call may come to an answer. */
const CONNECTED_OR_SOON: readonly string[] = ['ready', 'wait', 'connecting', 'connect']

interface Call {
  /** The script or its digest, as ioredis is to send it. Throws when the call is over. */
  mayBeSent(text: string): Buffer
  /** From now on nothing that does anything is sent. */
  end(): void
  isOver(): boolean
}

/**
 * ioredis keeps a command and sends it again after a reconnection, a redirection or a failover, also when nobody waits for it any
 * more, and has no way to take one back. But it reads a buffer anew whenever it sends it: so what is over is overwritten with what
 * is neither the digest of a script nor Lua, which the server refuses.
 */
function newCall (): Call {
  const buffers: Buffer[] = []
  let over = false
  return {
    mayBeSent (text) {
      if (over) throw brokenConnection()
      const buffer = Buffer.from(text)
      buffers.push(buffer)
      return buffer
    },
    end () {
      over = true
      for (const buffer of buffers) buffer.fill('x')
    },
    isOver: () => over
  }
}

const notConnected = (): Error => new Error('Redis is not connected.')
const brokenConnection = (): Error => new Error('The connection to Redis broke before it answered.')

/** The code of an error that the server answered with, such as `NOSCRIPT`; `null` for all others. */
function codeOf (error: unknown): string | null {
  return error instanceof Error && error.name === 'ReplyError' ? /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR' : null
}

/** The errors of ioredis hold the command with its arguments, and those of the server may quote them. */
function withoutArguments (error: unknown): Error {
  const code = codeOf(error)
  if (code === null) return new Error(`Redis could not be asked: ${error instanceof Error ? error.name : 'unknown error'}.`)
  const line = error instanceof Error ? /user_script:(\d+)/.exec(error.message)?.[1] : undefined
  return new Error(`Redis refused: ${code}${line === undefined ? '' : `, line ${line} of the script`}.`)
}

/** What is under way on a client, each with its end when the connection breaks. */
const underWay = new WeakMap<RedisClient, Set<() => void>>()

/** One pair of listeners for the life of the client, however many connections share it. */
function underWayOn (client: RedisClient): Set<() => void> {
  const known = underWay.get(client)
  if (known !== undefined) return known
  const calls = new Set<() => void>()
  const broken = (): void => { for (const end of calls) end() }
  client.on('close', broken)
  // A node of a Cluster. It isn't known whose calls were on it, but what has been written to another is answered all the same.
  if (client.isCluster) client.on('-node', broken)
  underWay.set(client, calls)
  return calls
}

/**
 * The one way to Redis: scripts, each with a bound on its time. Never puts anything into ioredis's offline queue, and lets nothing
 * be sent again by ioredis after a broken connection: a redemption done twice would look like a replay.
 */
export function redisConnection (client: RedisClient, { timeoutMs = 250 }: { timeoutMs?: number } = {}): RedisConnection {
  const calls = underWayOn(client)
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

  async function send (script: Script, key: string, args: ReadonlyArray<string | number>, call: Call): Promise<unknown> {
    if (client.status !== 'ready') await becomesReady()
    try {
      return await client.evalsha(call.mayBeSent(script.sha1), 1, key, ...args)
    } catch (error) {
      if (codeOf(error) !== 'NOSCRIPT') throw error
      return await client.eval(call.mayBeSent(script.lua), 1, key, ...args)
    }
  }

  function attempt (script: Script, key: string, args: ReadonlyArray<string | number>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = newCall()
      const finish = (): void => {
        clearTimeout(timer)
        calls.delete(broken)
        call.end()
      }
      const broken = (): void => {
        askAgainAt = 0
        call.end()
        // Calls to the other nodes of a Cluster go on.
        if (client.isCluster) return
        finish()
        reject(brokenConnection())
      }
      const tooLate = (): void => {
        if (!calls.has(broken)) return
        // In a Cluster one node may hang while the others answer.
        if (!client.isCluster && client.status === 'ready') askAgainAt = performance.now() + ASK_AGAIN_MS
        finish()
        reject(new Error(`Redis did not answer within ${timeoutMs} ms.`))
      }
      // It may be this process that was busy for so long: an answer that has come meanwhile is read first.
      const timer = setTimeout(() => { setImmediate(tooLate) }, timeoutMs)
      timer.unref()
      calls.add(broken)
      send(script, key, args, call).finally(() => {
        // Also where nobody waits for it any more: the server answers again.
        askAgainAt = 0
      }).then(resolve, (error: unknown) => { reject(call.isOver() ? brokenConnection() : withoutArguments(error)) }).finally(finish)
    })
  }

  async function run (script: Script, key: string, args: ReadonlyArray<string | number>): Promise<unknown> {
    if (!CONNECTED_OR_SOON.includes(client.status)) throw notConnected()
    // Replies come in order. Whatever is sent behind a call that hangs would be done, unwanted, when the server goes on.
    if (askAgainAt > 0) {
      if (performance.now() >= askAgainAt) {
        askAgainAt = performance.now() + ASK_AGAIN_MS
        attempt(NOTHING, OWN_KEY, []).catch(() => {})
      }
      throw new Error('Redis does not answer.')
    }
    return attempt(script, key, args)
  }

  return {
    run,
    async time () { return Number(await run(TIME, OWN_KEY, [])) }
  }
}
