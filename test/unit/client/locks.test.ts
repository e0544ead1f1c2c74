/** One at a time where the browser has no Web Locks: a mark in the storage that tabs share. */
import { fileURLToPath } from 'node:url'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from '../../support/tap.ts'

type Lock = (name: string, waitMs?: number) => Promise<() => void>

/** `stale`: how many look-ups still find it free after another tab has written. */
async function lockWithoutWebLocks(t: Test, stale = 0): Promise<Lock> {
  const stored = new Map<string, string>()
  let looks = 0
  t.intercept(globalThis, 'navigator' as keyof typeof globalThis, { value: {} })
  t.intercept(globalThis, 'localStorage' as keyof typeof globalThis, {
    value: {
      getItem: (name: string) => (name === 'name' && looks++ < stale ? null : (stored.get(name) ?? null)),
      setItem: (name: string, value: string) => stored.set(name, value),
      removeItem: (name: string) => stored.delete(name)
    }
  })
  // Nobody waits for time here: a sleep is a turn of the event loop.
  t.intercept(globalThis, 'setTimeout', { value: (task: () => void) => setImmediate(task) })
  const { lock } = (await import(fileURLToPath(new URL('../../../lib/client/locks.ts', import.meta.url)))) as {
    lock: Lock
  }
  return lock
}

async function mostInside(lock: Lock, count: number): Promise<{ most: number; done: number }> {
  let inside = 0
  let most = 0
  let done = 0
  await Promise.all(
    Array.from({ length: count }, async () => {
      const release = await lock('name')
      most = Math.max(most, ++inside)
      for (let turns = 0; turns < 5; turns++) await turn()
      inside--
      done++
      release()
    })
  )
  return { most, done }
}

t.test('of five tabs one is inside at a time, and each has its turn', async (t) => {
  t.strictSame(await mostInside(await lockWithoutWebLocks(t), 5), { most: 1, done: 5 })
})

t.test('two that found it free in the same moment: whose mark stays has it', async (t) => {
  t.strictSame(await mostInside(await lockWithoutWebLocks(t, 4), 2), { most: 1, done: 2 })
})

t.test('one that never lets go stops nobody for ever', async (t) => {
  const lock = await lockWithoutWebLocks(t)
  await lock('name')
  await lock('name', 1000)
  t.pass('it went on without')
})
