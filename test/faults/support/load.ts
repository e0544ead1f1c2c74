/**
 * Virtual users over HTTP: some use the service correctly, some guess passwords, and one requests the host's own route.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { basic } from '../../support/openid.ts'
import type { Fleet } from './fleet.ts'
import { type Answer, httpClient, sharedAgent } from './http-client.ts'
import { JOURNEYS, MIX } from './journeys.ts'
import type { Log } from './log.ts'
import { createMailbox } from './mailbox.ts'
import { schedule } from './schedule.ts'
import { API_CLIENT, ISSUER } from './settings.ts'
import { statusOf, type VirtualUser, virtualUser } from './virtual-user.ts'

export interface LoadSettings {
  seed: string
  users: number
  guessers: number
  /**
   * The minimum time between two journeys of a user. A slow machine makes fewer journeys by its own pace, without a
   * pause.
   */
  journeyEveryMs: number
  /** The time after which a client gives up, which is more than the service promises. */
  timeoutMs: number
  /** Weights of journeys that differ from the usual ones. */
  mix?: Partial<Record<keyof typeof MIX, number>>
}

export interface Load {
  /** Starts no new journey, and resolves when all have ended. */
  stop(): Promise<void>
}

const MAX_DEVICES = 4
const MAX_WAIT_MS = 1000
const LEAST_PAUSE_MS = 20
const PING_EVERY_MS = 250

export function startLoad(
  { log, fleet }: { log: Log; fleet: Fleet },
  { seed, users, guessers, journeyEveryMs, timeoutMs, mix = {} }: LoadSettings
): Load {
  const weights = { ...MIX, ...mix }
  const mailbox = createMailbox(1500)
  fleet.onMail((mail) => {
    mailbox.deliver(mail)
  })
  const apiAuthorization = basic(API_CLIENT.clientId, API_CLIENT.clientSecret).authorization
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const pause = async (ms: number): Promise<boolean> => await wait(ms, true, { signal: over.signal }).catch(() => false)
  const person = (name: string): VirtualUser =>
    virtualUser(name, {
      http: httpClient({ log, caller: name, agent: fleet.balancer.agent, timeoutMs }),
      mailbox,
      apiAuthorization,
      now: log.now
    })

  /** Waits as `Retry-After` says, but at most so long that a short run still observes the recovery. */
  async function waitAfter({ outcome }: Answer): Promise<boolean> {
    const saidMs =
      outcome.kind === 'answer' && outcome.retryAfter !== undefined
        ? Number(outcome.retryAfter) * 1000
        : journeyEveryMs * 2
    return await pause(Math.min(saidMs, MAX_WAIT_MS))
  }

  async function work(name: string): Promise<void> {
    const user = person(name)
    const choices = schedule(`${seed} ${name}`)
    while (!over.signal.aborted && !(await user.register())) await pause(MAX_WAIT_MS)
    while (!over.signal.aborted) {
      const begun = log.now()
      const device = user.devices[choices.upTo(Math.max(0, user.devices.length - 1))]
      if (device === undefined) {
        if ((await user.signIn()) === null) await pause(MAX_WAIT_MS)
      } else if (user.devices.length > MAX_DEVICES) {
        await JOURNEYS.revoke(device, { user, choices, waitAfter })
      } else {
        await JOURNEYS[choices.pick(weights)](device, { user, choices, waitAfter })
      }
      await pause(Math.max(LEAST_PAUSE_MS, begun + journeyEveryMs - log.now()))
    }
  }

  /** Bursts of wrong passwords, more at once than any limit lets through. */
  async function guess(name: string): Promise<void> {
    const user = person(name)
    while (!over.signal.aborted && !(await user.register())) await pause(MAX_WAIT_MS)
    while (!over.signal.aborted) {
      const answers = await Promise.all(Array.from({ length: 12 }, async () => await user.guess()))
      await pause(answers.some((answer) => statusOf(answer) === 429) ? MAX_WAIT_MS : journeyEveryMs)
    }
  }

  async function watch(): Promise<void> {
    const own = sharedAgent(8)
    while (await pause(PING_EVERY_MS)) {
      await Promise.all(
        [...fleet.running].map(async ([name, port]) => {
          await httpClient({
            log: {
              ...log,
              add: (entry) => {
                log.add({ ...entry, instance: name })
              }
            },
            port,
            caller: 'watch',
            agent: own,
            timeoutMs
          }).call({
            method: 'GET',
            path: '/ping',
            headers: { host: new URL(ISSUER).host },
            about: { operation: 'ping' }
          })
        })
      )
    }
    own.destroy()
  }

  const all = [
    ...Array.from({ length: users }, async (_, index) => {
      await work(`user-${index}`)
    }),
    ...Array.from({ length: guessers }, async (_, index) => {
      await guess(`guessed-${index}`)
    }),
    watch()
  ]
  return {
    async stop() {
      over.abort()
      await Promise.all(all)
    }
  }
}
