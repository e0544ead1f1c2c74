import { DEADLINE_STEPS } from '../../ports/outage.ts'
import { endOfTurn } from '../../ports/turn.ts'
import {
  brokenConnection,
  codeOf,
  defineKeyScript,
  noAnswer,
  notConnected,
  type Script,
  tooLate,
  wipeableTexts,
  type WipeableTexts,
  withoutArguments
} from './refusal.ts'

/** The common part of a `Redis` and a `Cluster` of ioredis 5 and 6. This package does not import ioredis. */
export interface RedisClient {
  readonly status: string
  readonly isCluster: boolean
  connect(): Promise<unknown>
  evalsha(sha1: Buffer, numberOfKeys: number, ...keysAndArguments: Array<string | number>): Promise<unknown>
  eval(lua: Buffer, numberOfKeys: number, ...keysAndArguments: Array<string | number>): Promise<unknown>
  pipeline(commands: unknown[][]): { exec(): Promise<Array<[error: Error | null, reply?: unknown]> | null> }
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

type Answer = [error: Error | null, reply?: unknown]
type Command = [
  name: 'eval' | 'evalsha',
  text: Buffer,
  numberOfKeys: number,
  ...keysAndArguments: Array<string | number>
]

export interface RedisConnection {
  /**
   * Runs a script with its keys and `ARGV`, at most once, and resolves to its reply. A key needs a hash tag, because a
   * script may derive further keys from it, which get its slot and the `keyPrefix` of the client. Scripts of one turn
   * of the event loop go to the server in one write, in a Cluster one for each slot. Each script is atomic and fails
   * alone. Rejects if a trip to the server has no reply within `timeoutMs`, and at once if the client is not connected
   * or the server has left an earlier call unanswered. The first call may take three trips: to connect, to name a
   * script that the server does not know, and to send its text. A rejected script may have run nevertheless, or may run
   * when a server that hung goes on. It is not sent again. The error contains no keys and no arguments.
   */
  run(script: Script, keys: string | readonly string[], args: ReadonlyArray<string | number>): Promise<unknown>
  /**
   * Milliseconds since the epoch, by the clock of the server: in a Cluster, of the node that has the key. Rejects as
   * `run` does.
   */
  time(key: string): Promise<number>
}

export interface RedisConnectionOptions {
  timeoutMs?: number | undefined
}

/** A script to run, and the promise of its reply. */
interface Call {
  readonly script: Script
  /** The declared keys of the script. */
  readonly keys: readonly string[]
  readonly args: ReadonlyArray<string | number>
  resolve(reply: unknown): void
  reject(error: Error): void
}

/** The interval in milliseconds at which a server that has stopped answering is probed. */
const ASK_AGAIN_MS = 1000

const TIME = defineKeyScript("local time = redis.call('TIME') return time[1] * 1000 + math.floor(time[2] / 1000)")
const NOTHING = defineKeyScript('return 1')

/** The refusals of a Cluster node that has not run the script, because the slot of its keys moves or has moved. */
const ELSEWHERE: readonly unknown[] = ['ASK', 'MOVED', 'TRYAGAIN']

/**
 * While a slot moves, a Cluster checks only the declared keys. If the only declared key does not exist, the script goes
 * to the new node, where it would run on an incomplete set of records and give a wrong answer. With a second missing
 * key the new node answers TRYAGAIN, and ioredis retries until the slot has moved. Scripts with derived keys need that.
 * A script that touches only declared keys is correct anyway.
 */
function declared({ isCluster }: RedisClient, script: Script, keys: string | readonly string[]): readonly string[] {
  if (typeof keys !== 'string') return keys
  return isCluster && script.derivesKeys ? [keys, `${keys}:none`] : [keys]
}

/** The states of an ioredis client in which a call may still get an answer. */
const CONNECTED_OR_SOON: readonly string[] = ['ready', 'wait', 'connecting', 'connect']

/** The functions that end the calls under way on a client when its connection breaks. */
const underWay = new WeakMap<RedisClient, Set<() => void>>()

/** Adds the listeners once for the life of the client, also if several connections share it. */
function underWayOn(client: RedisClient): Set<() => void> {
  const known = underWay.get(client)
  if (known !== undefined) return known
  const pipelines = new Set<() => void>()
  const broken = (): void => {
    for (const end of pipelines) end()
  }
  client.on('close', broken)
  // A node left the Cluster. It is unknown which calls went to that node, and the other nodes still answer their calls.
  if (client.isCluster) client.on('-node', broken)
  underWay.set(client, pipelines)
  return pipelines
}

/**
 * Runs all scripts in Redis, each with a time limit. Keeps commands out of ioredis's offline queue and out of its
 * retries after a broken connection, because a code that is redeemed twice looks like a replay.
 */
export function redisConnection(
  client: RedisClient,
  { timeoutMs = 250 }: RedisConnectionOptions = {}
): RedisConnection {
  const sent = underWayOn(client)
  /** The calls of this turn of the event loop, in a Cluster grouped by hash tag. */
  const waiting = new Map<string, Call[]>()
  let whenReady: Promise<void> | null = null
  /** The time (`performance.now()`) of the next probe of a server that left a call unanswered. 0: it answers. */
  let askAgainAt = 0

  /** Shares one promise, so that many calls at the start add few listeners. */
  function becomesReady(): Promise<void> {
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

  /** Makes the error of a new call if nothing can be sent now. `null`: calls can be sent. */
  function refused(): (() => Error) | null {
    if (!CONNECTED_OR_SOON.includes(client.status)) return notConnected
    // Replies come in order. A command sent behind a hanging one would still run, unwanted, when the server goes on.
    return askAgainAt > 0 ? noAnswer : null
  }

  async function answersTo(commands: Command[]): Promise<readonly Answer[]> {
    const [[name, ...args], more] = commands as [Command, Command?]
    if (more !== undefined) return (await client.pipeline(commands).exec()) ?? []
    // Avoids a pipeline, which costs some microseconds.
    return [
      await client[name](...args).then(
        (reply): Answer => [null, reply],
        (error: Error): Answer => [error]
      )
    ]
  }

  /** Settles each call with its reply, and resolves to the calls that were not run and can be sent once more. */
  async function exchange(calls: readonly Call[], texts: WipeableTexts, inFull: boolean): Promise<Call[]> {
    const digests = new Map<Script, Buffer>()
    const commands = calls.map(({ script, keys, args }): Command => {
      const known = digests.get(script)
      const digest = known ?? texts.bufferOf(script.sha1)
      digests.set(script, digest)
      // The first call of a script sends its text. Later calls in the pipeline send the digest.
      return inFull && known === undefined
        ? ['eval', texts.bufferOf(script.lua), keys.length, ...keys, ...args]
        : ['evalsha', digest, keys.length, ...keys, ...args]
    })
    const answers = await answersTo(commands)
    return calls.filter((call, index) => {
      const [error, reply] = answers[index] ?? [brokenConnection()]
      if (error === null) call.resolve(reply)
      else if (texts.areWiped()) call.reject(brokenConnection())
      else if (!inFull && (codeOf(error) === 'NOSCRIPT' || isForAnotherNode(error, calls))) return true
      else call.reject(withoutArguments(error))
      return false
    })
  }

  /** Calls `nextTrip` before another trip to the server. */
  async function exchangeAll(calls: readonly Call[], texts: WipeableTexts, nextTrip: () => void): Promise<void> {
    if (client.status !== 'ready') {
      await becomesReady()
      nextTrip()
    }
    const again = await exchange(calls, texts, false)
    if (again.length === 0) return
    nextTrip()
    // Sends single commands in a Cluster, because ioredis follows a moved slot for single commands but not inside a
    // pipeline.
    const groups = client.isCluster ? again.map((call) => [call]) : [again]
    await Promise.all(groups.map((group) => exchange(group, texts, true)))
  }

  function send(calls: readonly Call[]): void {
    const texts = wipeableTexts()
    const finish = (): void => {
      clearTimeout(timer)
      sent.delete(broken)
    }
    const giveUp = (error: () => Error): void => {
      texts.wipe()
      finish()
      rejectAll(calls, error)
    }
    const broken = (): void => {
      askAgainAt = 0
      // In a Cluster, calls to the other nodes continue, so no call is rejected here.
      if (client.isCluster) texts.wipe()
      else giveUp(brokenConnection)
    }
    let trip = 0
    let steps = 0
    const expire = (expired: number): void => {
      if (expired !== trip || !sent.has(broken)) return
      // Holds back no new calls in a Cluster, because one node may hang while the others answer.
      if (!client.isCluster && client.status === 'ready') askAgainAt = performance.now() + ASK_AGAIN_MS
      giveUp(() => tooLate(timeoutMs))
    }
    // `setImmediate` lets the process read an answer that arrived before the last timer.
    const step = (): void => {
      if (++steps < DEADLINE_STEPS) timer.refresh()
      else setImmediate(expire, trip)
    }
    const timer = setTimeout(step, timeoutMs / DEADLINE_STEPS)
    timer.unref()
    sent.add(broken)
    const nextTrip = (): void => {
      if (!sent.has(broken)) return
      trip++
      steps = 0
      timer.refresh()
    }
    exchangeAll(calls, texts, nextTrip)
      .catch((error: unknown) => {
        rejectAll(calls, () => (texts.areWiped() ? brokenConnection() : withoutArguments(error)))
      })
      .finally(() => {
        // Lets new calls through, also after a late reply, because the reply shows that the server answers again.
        askAgainAt = 0
        finish()
      })
  }

  function flush(): void {
    const groups = [...waiting.values()]
    waiting.clear()
    const error = refused()
    for (const calls of groups) {
      if (error !== null) rejectAll(calls, error)
      else send(calls)
    }
  }

  function enqueue(call: Call): void {
    const together = client.isCluster ? slotNameOf(call) : ''
    const group = waiting.get(together)
    if (group !== undefined) {
      group.push(call)
      return
    }
    if (waiting.size === 0) void endOfTurn().then(flush)
    waiting.set(together, [call])
  }

  function run(
    script: Script,
    keys: string | readonly string[],
    args: ReadonlyArray<string | number>
  ): Promise<unknown> {
    const error = refused()
    if (error === noAnswer && performance.now() >= askAgainAt) {
      askAgainAt = performance.now() + ASK_AGAIN_MS
      send([{ script: NOTHING, keys: [], args: [], resolve() {}, reject() {} }])
    }
    if (error !== null) return Promise.reject(error())
    return new Promise((resolve, reject) => {
      enqueue({ script, keys: declared(client, script, keys), args, resolve, reject })
    })
  }

  return {
    run,
    async time(key) {
      return Number(await run(TIME, key, []))
    }
  }
}

/** The text between the braces of the call's first key. Calls with the same text go to the same node. */
function slotNameOf({ keys: [key = ''] }: Call): string {
  return key.slice(key.indexOf('{') + 1, key.indexOf('}'))
}

/** False for a single command, whose redirection ioredis has followed already. */
const isForAnotherNode = (error: Error, calls: readonly Call[]): boolean =>
  calls.length > 1 && ELSEWHERE.includes(codeOf(error))

function rejectAll(calls: readonly Call[], error: () => Error): void {
  for (const call of calls) call.reject(error())
}
