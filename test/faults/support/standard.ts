/** The common part of most scenarios: three or four instances, a file for users, faults of the instances themselves. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Place } from './settings.ts'
import type { TimedFault } from './scenario.ts'

export const INSTANCES = ['1', '2', '3', '4'] as const
/**
 * Enough instances for faults that affect all alike: one starts an action, another continues it, and a third reads it.
 */
export const THREE = INSTANCES.slice(0, 3)
/** Two of the four have a wall clock that is wrong. */
export const SKEWED: Readonly<Record<string, number>> = { 3: 300_000, 4: -300_000 }

interface Setup {
  teardown(task: () => unknown): void
}

export function temporaryFile(t: Setup): Extract<Place, { kind: 'sqlite' }> {
  const directory = mkdtempSync(join(tmpdir(), 'authority-faults-'))
  t.teardown(async () => {
    await rm(directory, { recursive: true, force: true })
  })
  return { kind: 'sqlite', file: join(directory, 'shared.db') }
}

export function killedInstance(name: string, at: number): TimedFault {
  return {
    name: `SIGKILL of instance ${name}`,
    at,
    recoveryMs: 500,
    down: [name],
    async run({ fleet, hold }) {
      await fleet.kill(name)
      await hold(500, 5000)
      await fleet.start(name)
    }
  }
}

export function stoppedInstance(name: string, at: number): TimedFault {
  return {
    name: `graceful stop of instance ${name}`,
    at,
    recoveryMs: 500,
    down: [name],
    // A request on a connection that is still open while the instance closes gets Fastify's own 503, which has no
    // Retry-After.
    excuses: [{ rules: ['retry-after'], reason: 'Fastify answers 503 by itself while it closes', beforeMs: 0 }],
    async run({ fleet, hold, stopped }) {
      stopped(await fleet.stopGracefully(name))
      await hold(300, 5000)
      await fleet.start(name)
    }
  }
}

/** While the counters can't be reached each instance counts for itself (`rateLimit.onStoreError: 'local'`). */
export const LIMITS_ARE_LOCAL = [
  { rules: ['limit'], reason: 'each instance counts for itself while the counters can not be reached', beforeMs: 4000 }
] as const
