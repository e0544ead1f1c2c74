import type { FastifyBaseLogger } from 'fastify'
import { hostHook } from '../boundary/host-hooks.ts'
import { misfit } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import { logLine } from '../ports/log.ts'
import type { Connection } from '../ports/upstream.ts'
import type { ConnectionSettings } from '../settings/sections/connections.ts'

/** How long an answer of the hook is cached, so that strangers cannot call it more often. */
const KEPT_MS = 1000
/** How long a page waits for the hook. */
const PAGE_WAIT_MS = 500

/** True if a connection is on: by its option, or by a hook of the host's that is called once a second at most. */
export function connectionSwitch(
  { id, enabled }: Pick<ConnectionSettings, 'id' | 'enabled'>,
  { clock, log }: { clock: Clock; log: FastifyBaseLogger }
): Pick<Connection, 'enabled' | 'shown'> {
  if (typeof enabled === 'boolean') return { enabled: async () => enabled, shown: async () => enabled }
  const hook = hostHook(
    enabled,
    (answer) => {
      if (typeof answer !== 'boolean')
        throw misfit('hook', { source: 'connections.enabled', got: answer, takes: 'true or false' })
      return answer
    },
    clock
  )
  let last: { answer: boolean; at: number } | null = null
  let pending: Promise<boolean> | null = null

  const ask = async (): Promise<boolean> => {
    let answer = false
    try {
      answer = await hook()
    } catch (error) {
      log.error(
        ...logLine(
          'FST_AUTHORITY_HOOK_FAILED',
          `the function enabled of the connection "${id}" failed; nobody signs in through it meanwhile`,
          { err: error }
        )
      )
    }
    last = { answer, at: clock.monotonic() }
    pending = null
    return answer
  }
  const now = async (): Promise<boolean> =>
    last !== null && clock.monotonic() - last.at < KEPT_MS ? last.answer : await (pending ??= ask())

  return {
    enabled: now,
    async shown() {
      const answer = now()
      let cancel = (): void => {}
      const late = new Promise<boolean>((resolve) => {
        cancel = clock.after(PAGE_WAIT_MS, () => {
          resolve(last?.answer ?? false)
        })
      })
      return await Promise.race([answer, late]).finally(() => {
        cancel()
      })
    }
  }
}
