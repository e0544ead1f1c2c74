import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { memoryState } from '../../lib/adapters/memory/record-store.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { UsernameTakenError } from '../../lib/errors.ts'
import type { AttemptLimit, AttemptStore } from '../../lib/ports/attempt-store.ts'
import type { Clock } from '../../lib/ports/clock.ts'
import type { State } from '../../lib/ports/state.ts'
import type { User, UserStore } from '../../lib/ports/user-store.ts'
import { attemptStoreContract } from '../../lib/testing/attempt-store-contract.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/doubles.ts'
import { stateContract } from './suites/state-contract.ts'
import { IDENTITY_METHODS } from '../../lib/testing/user-fixtures.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'
import { failing } from './support/failing.ts'

function stateWith(fault: (state: State) => Partial<State>): () => Promise<{ state: State }> {
  return async () => {
    const state = memoryState()
    return { state: { ...state, ...fault(state) } }
  }
}

t.test('userStoreContract finds a setPasswordHash that compares and writes in two steps', async (t) => {
  const racy = (store: ReturnType<typeof memoryUserStore>): UserStore => ({
    ...store,
    async setPasswordHash(id, next, expected) {
      const user = await store.findById(id)
      if (user === null || (expected !== undefined && user.passwordHash !== expected)) return false
      await setImmediate()
      return await store.setPasswordHash(id, next)
    }
  })
  const names = await failing(userStoreContract(async () => ({ store: racy(memoryUserStore()) })))
  t.same(names, ['setPasswordHash: replaces the hash in one of 50 parallel calls with the same `expected`'])
})

const MISTAKES: Record<
  string,
  { make(store: ReturnType<typeof memoryUserStore>): Partial<UserStore>; found: string[] }
> = {
  'reads a user and writes back all fields': {
    make: (store) => ({
      async update(id, patch) {
        const user = await store.findById(id)
        await setImmediate()
        const { passwordHash: _hash, ...rest } = { ...user }
        return user === null ? null : await store.update(id, { ...rest, ...patch })
      }
    }),
    found: [
      'update: loses no change in parallel updates of different fields and of the password',
      'update: returns null and writes nothing for an outdated expected version, if the store has versions',
      'update: applies one of 20 parallel updates with the same expected version, if the store has versions'
    ]
  },
  'compares the version in a separate step': {
    make: (store) => ({
      async update(id, patch, expected) {
        const user = await store.findById(id)
        if (expected !== undefined && user?.version !== expected) return null
        await setImmediate()
        return await store.update(id, patch)
      }
    }),
    found: ['update: applies one of 20 parallel updates with the same expected version, if the store has versions']
  },
  'checks the username in a separate step without a unique index': {
    make(store) {
      const names = new Map<string, string>()
      return {
        async update(id, patch) {
          if (patch.username === undefined) return await store.update(id, patch)
          if ((await store.findByUsername(patch.username)) !== null) throw new UsernameTakenError()
          await setImmediate()
          return await store.update(id, patch).catch(async () => {
            names.set(id, patch.username ?? '')
            return { ...(await store.findById(id)), username: patch.username } as User
          })
        }
      }
    },
    found: [
      'update: gives a username to one of 20 users in parallel updates, and rejects the others',
      'update: gives a username to only one of a parallel update and create'
    ]
  },
  'compares emails case-sensitively': {
    make: (store) => ({
      findByEmail: async (email) => (await store.findByEmail(email)).filter((user) => user.email === email)
    }),
    found: ['find: finds a user by the whole email, in any case of its letters']
  },
  'updates username and email in two steps': {
    make: (store) => ({
      async update(id, { username, ...rest }, expected) {
        const user = await store.update(id, rest, expected)
        return user === null || username === undefined ? user : await store.update(id, { username })
      }
    }),
    found: ['update: rejects a taken username, and writes nothing of the patch']
  },
  'stores null instead of removing a field': {
    make: (store) => ({
      async update(id, patch, expected) {
        return await store.update(
          id,
          Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null)),
          expected
        )
      }
    }),
    found: [
      'update: removes a field that is null in the patch',
      'update: stores a profile field exactly as given, or not at all'
    ]
  },
  'creates the user in an update': {
    make(store) {
      return {
        async update(id, patch, expected) {
          return (
            (await store.update(id, patch, expected)) ??
            (await store.create({ passwordHash: 'h', username: id, ...patch } as never))
          )
        }
      }
    },
    found: [
      'update: returns null for an unknown user, and creates none',
      'remove: removes the user despite parallel writes, and later writes find no user'
    ]
  },
  'never increments the version': {
    make(store) {
      const still = (user: User | null): User | null => (user === null ? null : { ...user, version: 1 })
      return {
        findById: async (id) => still(await store.findById(id)),
        update: async (id, patch, expected) =>
          expected === undefined || expected === 1 ? still(await store.update(id, patch)) : null
      }
    },
    found: [
      'update: returns null and writes nothing for an outdated expected version, if the store has versions',
      'update: applies one of 20 parallel updates with the same expected version, if the store has versions'
    ]
  },
  'removes a user by username': {
    make: (store) => ({
      async remove(id) {
        await store.remove(((await store.findByUsername(id)) ?? (await store.findById(id)))?.id ?? id)
      }
    }),
    found: ['remove: removes only the user with that id, and ignores an unknown id']
  },
  'only marks a user as removed': {
    make: (store) => ({
      async remove(id) {
        await store.update(id, { disabled: true })
      }
    }),
    found: [
      'remove: removes only the user with that id, and ignores an unknown id',
      'remove: frees the username for a new user with another id',
      'remove: resolves in each of 20 parallel calls for the same user'
    ]
  },
  'ignores the limit of a list': {
    make: (store) => ({
      list: async (query) => await store.list({ ...query, limit: 100 })
    }),
    found: ['list: lists every user once, newest first, in pages of any size']
  },
  'rejects the removal of an unknown user': {
    make: (store) => ({
      async remove(id) {
        if ((await store.findById(id)) === null) throw new Error('There is no such user.')
        await store.remove(id)
      }
    }),
    found: ['remove: removes only the user with that id, and ignores an unknown id']
  }
}

for (const [what, { make, found }] of Object.entries(MISTAKES))
  t.test(`userStoreContract finds a store that ${what}`, async (t) => {
    const names = await failing(
      userStoreContract(async () => {
        const store = memoryUserStore()
        return { store: { ...store, ...make(store) } }
      })
    )
    for (const name of found) t.ok(names.includes(name), name)
    t.ok(
      names.every((name) => /^(?:find|list|update|remove): /.test(name)),
      names.join(', ')
    )
  })

t.test('userStoreContract accepts a store without versions', async (t) => {
  const bare = (user: User | null): User | null => {
    if (user === null) return null
    const { version: _version, ...rest } = user
    return rest as User
  }
  const names = await failing(
    userStoreContract(async () => {
      const store = memoryUserStore()
      return {
        store: {
          ...store,
          findById: async (id) => bare(await store.findById(id)),
          findByUsername: async (name) => bare(await store.findByUsername(name)),
          create: async (user) => bare(await store.create(user)) as User,
          update: async (id, patch) => bare(await store.update(id, patch))
        }
      }
    })
  )
  t.same(names, [])
})

/** A store that returns rows of a database, with flags in the form that `flag` makes. */
function rowsOf(flag: (value: unknown) => unknown): UserStore {
  const store = memoryUserStore()
  const row = (user: User | null): User | null =>
    user === null
      ? (undefined as never)
      : {
          ...user,
          email: user.email ?? (null as never),
          emailVerified: flag(user.emailVerified) as never,
          disabled: flag(user.disabled) as never
        }
  return {
    ...store,
    findById: async (id) => row(await store.findById(id)),
    findByUsername: async (username) => row(await store.findByUsername(username)),
    create: async (user) => row(await store.create(user)) as User
  }
}

for (const [what, flag] of Object.entries<(value: unknown) => unknown>({
  '0 and 1': (value) => (value === true ? 1 : 0),
  '0n and 1n': (value) => (value === true ? 1n : 0n),
  'a Date and null': (value) => (value === true ? new Date() : null),
  'left-out flags': (value) => (value === true ? true : undefined)
}))
  t.test(`userStoreContract accepts flags as the plugin does: ${what}, and undefined for no user`, async (t) => {
    t.same(await failing(userStoreContract(async () => ({ store: rowsOf(flag) }))), [])
  })

t.test('userStoreContract rejects text for a flag, and a count for a boolean', async (t) => {
  t.ok(
    (await failing(userStoreContract(async () => ({ store: rowsOf(String) })))).includes(
      'find: finds the user by id and by username'
    ),
    'text for a flag'
  )
  const counting = memoryUserStore()
  const store: UserStore = {
    ...counting,
    setPasswordHash: async (...args) => Number(await counting.setPasswordHash(...args)) as never
  }
  t.ok(
    (await failing(userStoreContract(async () => ({ store })))).includes(
      'setPasswordHash: replaces the hash, and returns whether the user exists'
    ),
    'a count for whether'
  )
})

t.test('userStoreContract finds a store that returns its own objects or looks up inherited keys', async (t) => {
  const own = (): UserStore => {
    const users: Record<string, User> = {}
    return {
      async findById(id) {
        return Object.values(users).find((user) => user.id === id) ?? null
      },
      async findByUsername(username) {
        return users[username] ?? null
      },
      async create(user) {
        return (users[user.username] = { ...user, id: `id of ${user.username}` })
      }
    }
  }
  const names = await failing(
    userStoreContract(
      async () => ({ store: own() }),
      ['setPasswordHash', 'setEmailVerified', 'update', 'remove', ...IDENTITY_METHODS]
    )
  )
  for (const name of [
    'find: returns null for an unknown id or username',
    'find: returns copies of users',
    'create: rejects a taken username, and leaves its user unchanged',
    'create: creates one user in 50 parallel calls with the same username',
    'create: keeps a username and a hash unchanged: __proto__'
  ])
    t.ok(names.includes(name), name)
  t.notOk(
    names.some((name) => name.startsWith('set')),
    'what is left out is not asked for'
  )
  t.ok(
    (await failing(userStoreContract(async () => ({ store: own() })))).some((name) =>
      name.startsWith('setEmailVerified')
    ),
    'unless it is'
  )
})

t.test('stateContract finds a rotation that checks and writes in two steps', async (t) => {
  const names = await failing(
    stateContract(
      stateWith(({ tokens }) => ({
        tokens: {
          ...tokens,
          async rotateToken(use, next) {
            const used = await tokens.useToken(use)
            await setImmediate()
            return used.outcome === 'used'
              ? {
                  outcome: 'rotated',
                  family: used.family,
                  undo: { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: null }
                }
              : used
          }
        }
      }))
    )
  )
  t.ok(names.includes('tokens: rotates once in 50 parallel rotations, and returns the successor to the other 49'))
})

t.test('stateContract finds a consumption that reads and discards in two steps', async (t) => {
  const names = await failing(
    stateContract(
      stateWith(({ oneTimeTokens }) => ({
        oneTimeTokens: {
          ...oneTimeTokens,
          async consume(purpose, digest, now) {
            const found = await oneTimeTokens.find(purpose, digest, now)
            await setImmediate()
            if (found !== null) await oneTimeTokens.discard(purpose, found.userId)
            return found
          }
        }
      }))
    )
  )
  t.same(names, [
    'oneTimeTokens: consumes a token in one of 50 parallel calls',
    'oneTimeTokens: leaves no token after a discard that races a consumption'
  ])
})

t.test('stateContract finds a grace time or an expiry that is 1 ms off', async (t) => {
  for (const [off, expected] of [
    [1, /grace time of 10000 ms$/],
    [-1, /grace time of 10000 ms$/]
  ] as const) {
    const names = await failing(
      stateContract(
        stateWith(({ tokens }) => ({
          tokens: {
            ...tokens,
            rotateToken: async (use, next) =>
              await tokens.rotateToken({ ...use, graceMs: use.graceMs === 0 ? 0 : use.graceMs + off }, next)
          }
        }))
      )
    )
    t.ok(names.some((name) => expected.test(name)))
    const late = await failing(
      stateContract(
        stateWith(({ tokens }) => ({
          tokens: { ...tokens, findFamily: async (sid, now) => await tokens.findFamily(sid, now + off) }
        }))
      )
    )
    t.ok(late.some((name) => /finds? a family (?:1 ms before|at) (?:idleE|e)xpiresAt$/.test(name)))
  }
})

t.test('attemptStoreContract finds a fixed window, and a check separate from the count', async (t) => {
  const fixedWindow = (clock: Clock): AttemptStore => {
    const counts = new Map<string, number>()
    const nameOf = ({ rule, key, windowMs }: AttemptLimit): string =>
      `${rule} ${key} ${Math.floor(clock.now() / windowMs)}`
    return {
      async reserve(_, limits) {
        const standings = limits.map((limit) => ({
          rule: limit.rule,
          max: limit.max,
          windowMs: limit.windowMs,
          remaining: Math.max(0, limit.max - (counts.get(nameOf(limit)) ?? 0)),
          resetMs: limit.windowMs - (clock.now() % limit.windowMs)
        }))
        await setImmediate()
        const [refusedBy] = standings.filter(({ remaining }) => remaining === 0)
        if (refusedBy !== undefined) return { allowed: false, refusedBy, standings }
        for (const limit of limits) counts.set(nameOf(limit), (counts.get(nameOf(limit)) ?? 0) + 1)
        return {
          allowed: true,
          standings: standings.map((standing) => ({ ...standing, remaining: standing.remaining - 1 }))
        }
      },
      async refund() {}
    }
  }
  const names = await failing(attemptStoreContract(async (clock) => ({ store: fixedWindow(clock) })))
  for (const name of [
    'allows 5 of 50 parallel attempts when max is 5',
    'stops counting an attempt exactly windowMs after it, and not 1 ms earlier',
    'allows at most max attempts in any span of windowMs, and refuses none below max',
    'counts an attempt after a refund for its own full window'
  ]) {
    t.ok(names.includes(`attempts: ${name}`), name)
  }
})

t.test('closes the subject of each case, and awaits the cases in runContract', async (t) => {
  let closed = 0
  const cases = userStoreContract(async () => ({
    store: { findById: async () => null, findByUsername: async () => null },
    async close() {
      closed++
    }
  }))
  const names = await failing(cases)
  t.equal(closed, cases.length)
  t.ok(names.length > 0 && names.length < cases.length)
  const run: Array<[string, Promise<void>]> = []
  runContract(cases, (name, fn) => {
    run.push([name, fn()])
  })
  t.same(
    run.map(([name]) => name),
    cases.map(({ name }) => name)
  )
  const settled = await Promise.allSettled(run.map(([, result]) => result))
  t.same(
    settled.flatMap(({ status }, index) => (status === 'rejected' ? [cases[index]?.name] : [])),
    names
  )
})

t.test('delayed reorders parallel calls the same way each time, and passes errors on', async (t) => {
  const order = async (): Promise<number[]> => {
    const called: number[] = []
    const store = delayed({
      inner: {
        call(index: number): Promise<number> {
          called.push(index)
          return Promise.resolve(index)
        }
      },
      plain: 7,
      fail(): Promise<void> {
        throw new Error('outage')
      }
    })
    t.equal(store.plain, 7)
    const results = Array.from({ length: 20 }, (_, index) => store.inner.call(index))
    t.equal(called.length, 0, 'no call is made in the same tick')
    t.same(
      await Promise.all(results),
      Array.from({ length: 20 }, (_, index) => index)
    )
    await t.rejects(store.fail(), /outage/)
    return called
  }
  const first = await order()
  t.not(first.join(), first.toSorted((a, b) => a - b).join())
  t.same(await order(), first)
})

t.test('stateContract finds a claim in two steps, and a claim that always answers fresh', async (t) => {
  const racy = (): ((digest: string) => Promise<'fresh' | 'replayed'>) => {
    const seen = new Set<string>()
    return async (digest) => {
      const isKnown = seen.has(digest)
      await setImmediate()
      seen.add(digest)
      return isKnown ? 'replayed' : 'fresh'
    }
  }
  t.same(
    await failing(stateContract(stateWith(() => ({ assertions: { claim: racy() }, sweep() {} })))).then((names) =>
      names.filter((name) => name.startsWith('assertions'))
    ),
    ['assertions: answers fresh to one of 50 parallel claims', 'assertions: sweeps only expired claims']
  )
  t.same(
    (await failing(stateContract(stateWith(() => ({ assertions: { claim: async () => 'fresh' } }))))).filter((name) =>
      name.startsWith('assertions')
    ).length,
    3
  )
})
