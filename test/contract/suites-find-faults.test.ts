import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { memoryState } from '../../lib/adapters/memory/state.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import type { AttemptLimit, AttemptStore } from '../../lib/ports/attempt-store.ts'
import type { Clock } from '../../lib/ports/clock.ts'
import type { State } from '../../lib/ports/state.ts'
import type { User, UserStore } from '../../lib/ports/user-store.ts'
import { attemptStoreContract } from '../../lib/testing/attempt-store-contract.ts'
import { runContract } from '../../lib/testing/contract.ts'
import type { ContractCase } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { stateContract } from '../../lib/testing/state-contract.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'

async function failing (cases: readonly ContractCase[]): Promise<string[]> {
  const names: string[] = []
  for (const { name, run } of cases) await run().catch(() => { names.push(name) })
  return names
}

function stateWith (fault: (state: State) => Partial<State>): () => Promise<{ state: State }> {
  return async () => {
    const state = memoryState()
    return { state: { ...state, ...fault(state) } }
  }
}

t.test('userStoreContract finds a store that looks first and writes later', async (t) => {
  const racy = (store: ReturnType<typeof memoryUserStore>): UserStore => ({
    ...store,
    async setPasswordHash (id, next, expected) {
      const user = await store.findById(id)
      if (user === null || (expected !== undefined && user.passwordHash !== expected)) return false
      await setImmediate()
      return await store.setPasswordHash(id, next)
    }
  })
  const names = await failing(userStoreContract(async () => ({ store: racy(memoryUserStore()) })))
  t.same(names, ['setPasswordHash: of 50 parallel compare-and-sets from one hash one wins'])
})

/** As rows of a database say it, by `flag`. */
function rowsOf (flag: (value: unknown) => unknown): UserStore {
  const store = memoryUserStore()
  const row = (user: User | null): User | null => user === null ? undefined as never : { ...user, email: user.email ?? null as never, emailVerified: flag(user.emailVerified) as never, disabled: flag(user.disabled) as never }
  return {
    ...store,
    findById: async (id) => row(await store.findById(id)),
    findByUsername: async (username) => row(await store.findByUsername(username)),
    create: async (user) => row(await store.create(user)) as User
  }
}

for (const [what, flag] of Object.entries<(value: unknown) => unknown>({
  '0 and 1': (value) => value === true ? 1 : 0,
  '0n and 1n': (value) => value === true ? 1n : 0n,
  'a Date and null': (value) => value === true ? new Date() : null,
  'what is not there': (value) => value === true ? true : undefined
})) t.test(`userStoreContract takes what the plugin takes: ${what}, and undefined for none`, async (t) => {
  t.same(await failing(userStoreContract(async () => ({ store: rowsOf(flag) }))), [])
})

t.test('userStoreContract refuses what the plugin refuses', async (t) => {
  t.ok((await failing(userStoreContract(async () => ({ store: rowsOf(String) })))).includes('find: finds the user by id and by username'), 'text for a flag')
  const counting = memoryUserStore()
  const store: UserStore = { ...counting, setPasswordHash: async (...args) => Number(await counting.setPasswordHash(...args)) as never }
  t.ok((await failing(userStoreContract(async () => ({ store })))).includes('setPasswordHash: replaces, and says whether there is such a user'), 'a count for whether')
})

t.test('userStoreContract finds a store that hands out its own objects, and one of plain object keys', async (t) => {
  const own = (): UserStore => {
    const users: Record<string, User> = {}
    return {
      async findById (id) { return Object.values(users).find((user) => user.id === id) ?? null },
      async findByUsername (username) { return users[username] ?? null },
      async create (user) { return users[user.username] = { ...user, id: `id of ${user.username}` } }
    }
  }
  const names = await failing(userStoreContract(async () => ({ store: own() }), ['setPasswordHash', 'setEmailVerified']))
  for (const name of [
    'find: resolves to null where there is none', 'find: hands out copies', 'create: rejects a taken username and leaves the user as it was',
    'create: of 50 parallel calls with one username one resolves', 'create: keeps a username and a hash as they are: __proto__'
  ]) t.ok(names.includes(name), name)
  t.notOk(names.some((name) => name.startsWith('set')), 'what is left out is not asked for')
  t.ok((await failing(userStoreContract(async () => ({ store: own() })))).some((name) => name.startsWith('setEmailVerified')), 'unless it is')
})

t.test('stateContract finds a rotation that looks first and writes later', async (t) => {
  const names = await failing(stateContract(stateWith(({ tokens }) => ({
    tokens: {
      ...tokens,
      async rotateToken (use, next) {
        const used = await tokens.useToken(use)
        await setImmediate()
        return used.outcome === 'used' ? { outcome: 'rotated', family: used.family, undo: { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: null } } : used
      }
    }
  }))))
  t.ok(names.includes('tokens: of 50 parallel rotations one is rotated, and 49 get its successor'))
})

t.test('stateContract finds a consumption that looks first and discards later', async (t) => {
  const names = await failing(stateContract(stateWith(({ oneTimeTokens }) => ({
    oneTimeTokens: {
      ...oneTimeTokens,
      async consume (purpose, digest, now) {
        const found = await oneTimeTokens.find(purpose, digest, now)
        await setImmediate()
        if (found !== null) await oneTimeTokens.discard(purpose, found.userId)
        return found
      }
    }
  }))))
  t.same(names, ['oneTimeTokens: of 50 parallel consumptions one gets it'])
})

t.test('stateContract finds a grace time and an expiry that are 1 ms off', async (t) => {
  for (const [off, expected] of [[1, /grace time of 10000 ms, is/], [-1, /grace time of 10000 ms, is/]] as const) {
    const names = await failing(stateContract(stateWith(({ tokens }) => ({
      tokens: { ...tokens, rotateToken: async (use, next) => await tokens.rotateToken({ ...use, graceMs: use.graceMs === 0 ? 0 : use.graceMs + off }, next) }
    }))))
    t.ok(names.some((name) => expected.test(name)))
    const late = await failing(stateContract(stateWith(({ tokens }) => ({
      tokens: { ...tokens, findFamily: async (sid, now) => await tokens.findFamily(sid, now + off) }
    }))))
    t.ok(late.some((name) => /ms from (idleE|e)xpiresAt/.test(name)))
  }
})

t.test('attemptStoreContract finds a fixed window, and a check before the count', async (t) => {
  const fixedWindow = (clock: Clock): AttemptStore => {
    const counts = new Map<string, number>()
    const nameOf = ({ rule, key, windowMs }: AttemptLimit): string => `${rule} ${key} ${Math.floor(clock.now() / windowMs)}`
    return {
      async reserve (_, limits) {
        const standings = limits.map((limit) => ({ rule: limit.rule, max: limit.max, windowMs: limit.windowMs, remaining: Math.max(0, limit.max - (counts.get(nameOf(limit)) ?? 0)), resetMs: limit.windowMs - clock.now() % limit.windowMs }))
        await setImmediate()
        const [refusedBy] = standings.filter(({ remaining }) => remaining === 0)
        if (refusedBy !== undefined) return { allowed: false, refusedBy, standings }
        for (const limit of limits) counts.set(nameOf(limit), (counts.get(nameOf(limit)) ?? 0) + 1)
        return { allowed: true, standings: standings.map((standing) => ({ ...standing, remaining: standing.remaining - 1 })) }
      },
      async refund () {}
    }
  }
  const names = await failing(attemptStoreContract(async (clock) => ({ store: fixedWindow(clock) })))
  for (const name of ['of 50 parallel attempts max are allowed', 'the window is exact: a place is free windowMs after it was taken, and not 1 ms before', 'in no span of windowMs are more than max allowed, whatever the pattern', 'a refund leaves no trace in the window']) {
    t.ok(names.includes(`attempts: ${name}`), name)
  }
})

t.test('a case closes its subject, pass or fail, and runContract awaits the case', async (t) => {
  let closed = 0
  const cases = userStoreContract(async () => ({ store: { findById: async () => null, findByUsername: async () => null }, async close () { closed++ } }))
  const names = await failing(cases)
  t.equal(closed, cases.length)
  t.ok(names.length > 0 && names.length < cases.length)
  const run: Array<[string, Promise<void>]> = []
  runContract(cases, (name, fn) => { run.push([name, fn()]) })
  t.same(run.map(([name]) => name), cases.map(({ name }) => name))
  const settled = await Promise.allSettled(run.map(([, result]) => result))
  t.same(settled.flatMap(({ status }, index) => status === 'rejected' ? [cases[index]?.name] : []), names)
})

t.test('delayed lets parallel calls overtake each other, the same way each time, and passes errors on', async (t) => {
  const order = async (): Promise<number[]> => {
    const called: number[] = []
    const store = delayed({ inner: { call (index: number): Promise<number> { called.push(index); return Promise.resolve(index) } }, plain: 7, fail (): Promise<void> { throw new Error('outage') } })
    t.equal(store.plain, 7)
    const results = Array.from({ length: 20 }, (_, index) => store.inner.call(index))
    t.equal(called.length, 0, 'no call is made in the same tick')
    t.same(await Promise.all(results), Array.from({ length: 20 }, (_, index) => index))
    await t.rejects(store.fail(), /outage/)
    return called
  }
  const first = await order()
  t.not(first.join(), first.toSorted((a, b) => a - b).join())
  t.same(await order(), first)
})
