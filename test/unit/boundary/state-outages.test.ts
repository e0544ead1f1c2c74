import t from '../../support/tap.ts'
import { OutageError } from '../../../lib/ports/outage.ts'
import type { State } from '../../../lib/ports/state.ts'
import { surviveStateOutages } from '../../../lib/boundary/state-outages.ts'
import { PostgresError } from '../../../lib/adapters/postgres/database.ts'
import { RedisRefusal } from '../../../lib/adapters/redis/refusal.ts'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { countingClock } from './counting-clock.ts'
import { family, next, use } from '../../contract/suites/token-fixtures.ts'

const GRACE_MS = 10_000

/** A state on a server that can be down, hang, or do the work and lose the answer. */
function stage(graceMs = GRACE_MS) {
  const clock = countingClock()
  const memory = memoryState()
  const graces: number[] = []
  const server: { fault: 'none' | 'down' | 'hangs' | 'answer lost'; trial: 'works' | 'hangs'; error: Error | null } = {
    fault: 'none',
    trial: 'works',
    error: null
  }
  const faulty = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get:
        (target, name, receiver) =>
        async (...args: unknown[]) => {
          const { fault } = server
          const [asked] = args
          if (typeof asked === 'object' && asked !== null && 'graceMs' in asked) graces.push(Number(asked.graceMs))
          if (server.error !== null) throw server.error
          if (fault === 'down') throw new OutageError('ECONNREFUSED')
          if (fault === 'hangs') return await new Promise(() => {})
          const answer: unknown = await Reflect.apply(
            Reflect.get(target, name, receiver) as (...given: unknown[]) => unknown,
            target,
            args
          )
          if (fault === 'answer lost') throw new OutageError('ECONNRESET')
          return answer
        }
    })
  const inner: State = {
    ...memory,
    tryWrite: async () => {
      if (server.trial === 'hangs') await new Promise(() => {})
    },
    tokens: faulty(memory.tokens),
    keys: faulty(memory.keys),
    consents: faulty(memory.consents),
    browserSessions: faulty(memory.browserSessions),
    oneTimeTokens: faulty(memory.oneTimeTokens)
  }
  const told: string[] = []
  const state = surviveStateOutages(inner, {
    clock,
    graceMs,
    onDegraded: (error) => {
      told.push(`degraded: ${(error as Error).message}`)
    },
    onRecovered: () => {
      told.push('recovered')
    }
  })
  const t0 = clock.now()
  const times = {
    authenticatedAt: t0,
    createdAt: t0,
    lastUsedAt: t0,
    expiresAt: t0 + 86_400_000,
    idleExpiresAt: t0 + 86_400_000
  }
  return {
    clock,
    server,
    told,
    /** Makes each later call throw this error, until `null`. */
    throws: (error: Error | null) => {
      server.error = error
    },
    /** The grace times that the state was asked to allow. */
    graces,
    state,
    begin: async () => {
      await state.tokens.createFamily(family(times))
    },
    rotate: async (digest: string, index: number) => {
      const result = await state.tokens.rotateToken(
        use({ digest, now: clock.now(), graceMs, idleExpiresAt: clock.now() + 86_400_000 }),
        next(index)
      )
      return result.outcome === 'repeated' ? `repeated ${result.sealed}` : result.outcome
    }
  }
}

t.test('keeps the grace time unchanged without an outage', async (t) => {
  const { clock, begin, rotate } = stage()
  await begin()
  t.equal(await rotate('digest-0', 1), 'rotated')
  clock.step(GRACE_MS)
  t.equal(await rotate('digest-0', 2), 'repeated sealed-1')
  clock.step(1)
  t.equal(await rotate('digest-0', 3), 'replayed')
})

for (const quiet of [true, false]) {
  t.test(
    'accepts a retried rotation whose answer was lost in an outage of 30 s, ' +
      (quiet ? 'without other calls' : 'among other calls'),
    async (t) => {
      const { clock, server, state, begin, rotate } = stage()
      await begin()
      server.fault = 'answer lost'
      await t.rejects(rotate('digest-0', 1))
      server.fault = 'down'
      for (let second = 0; second < 30; second++) {
        clock.step(1000)
        if (!quiet) await t.rejects(state.keys.list())
      }
      server.fault = 'none'
      if (!quiet) await state.keys.list()
      clock.step(GRACE_MS)
      t.equal(await rotate('digest-0', 2), 'repeated sealed-1')
      t.equal(await rotate('digest-1', 3), 'rotated')
    }
  )
}

t.test('limits the grace time again after the outage, and detects a replay', async (t) => {
  const { clock, server, state, begin, rotate } = stage()
  await begin()
  server.fault = 'answer lost'
  await t.rejects(rotate('digest-0', 1))
  clock.step(30_000)
  server.fault = 'none'
  await state.keys.list()
  clock.step(GRACE_MS + 1)
  t.equal(await rotate('digest-0', 2), 'replayed')
})

t.test('detects the end of an outage by the sweep of an idle instance', async (t) => {
  const { clock, server, state, begin, rotate, told } = stage()
  await begin()
  t.equal(await rotate('digest-0', 1), 'rotated')
  server.fault = 'down'
  await t.rejects(state.keys.list())
  server.fault = 'none'
  clock.step(60_000)
  await state.sweep(clock.now())
  t.strictSame(told, ['degraded: ECONNREFUSED', 'recovered'])
  clock.step(3_500_000)
  t.equal(await rotate('digest-0', 2), 'replayed', 'an idle hour is no outage')
})

t.test('ends an outage of writes after a successful write, even if the write probe hangs', async (t) => {
  const { clock, server, state, throws, told } = stage()
  throws(new RedisRefusal('READONLY'))
  await t.rejects(state.keys.list())
  throws(null)
  clock.step(1)
  server.trial = 'hangs'
  const t0 = clock.now()
  await state.tokens.createFamily(
    family({
      authenticatedAt: t0,
      createdAt: t0,
      lastUsedAt: t0,
      expiresAt: t0 + 86_400_000,
      idleExpiresAt: t0 + 86_400_000
    })
  )
  t.strictSame(told, ['degraded: Redis refused: READONLY.', 'recovered'])
})

t.test('keeps a grace time of 0 during an outage', async (t) => {
  const { server, begin, rotate } = stage(0)
  await begin()
  server.fault = 'answer lost'
  await t.rejects(rotate('digest-0', 1))
  server.fault = 'none'
  t.equal(await rotate('digest-0', 2), 'replayed')
})

t.test('extends the grace time by at most an hour for an outage', async (t) => {
  const { clock, server, begin, rotate } = stage()
  await begin()
  server.fault = 'answer lost'
  await t.rejects(rotate('digest-0', 1))
  clock.step(3_600_000 + GRACE_MS)
  server.fault = 'none'
  t.equal(await rotate('digest-0', 2), 'repeated sealed-1')

  const longer = stage()
  await longer.begin()
  longer.server.fault = 'answer lost'
  await t.rejects(longer.rotate('digest-0', 1))
  longer.clock.step(3_600_000 + GRACE_MS + 1)
  longer.server.fault = 'none'
  t.equal(await longer.rotate('digest-0', 2), 'replayed')
})

t.test('passes whole milliseconds of grace time to the store', async (t) => {
  const { clock, server, state, begin, rotate, graces } = stage()
  await begin()
  clock.step(0.25)
  server.fault = 'answer lost'
  await t.rejects(rotate('digest-0', 1))
  server.fault = 'none'
  clock.step(30_000.5)
  const asked = use({
    digest: 'digest-0',
    now: clock.now(),
    graceMs: GRACE_MS,
    idleExpiresAt: clock.now() + 86_400_000
  })
  await state.tokens.peekToken(asked)
  await state.tokens.useToken(asked)
  await rotate('digest-0', 2)
  t.strictSame(graces, [GRACE_MS, ...[1, 2, 3].map(() => GRACE_MS + 30_001)])
})

t.test('ignores an answer to a call from before the last failure', async (t) => {
  const { clock, server, state, begin, rotate, told } = stage()
  await begin()
  const early = state.keys.list()
  server.fault = 'answer lost'
  await t.rejects(rotate('digest-0', 1))
  await early
  clock.step(30_000)
  server.fault = 'none'
  t.equal(await rotate('digest-0', 2), 'repeated sealed-1')
  t.strictSame(told, ['degraded: ECONNRESET', 'recovered'])
})

t.test('rejects a call that hangs for two seconds, and leaves no timer', async (t) => {
  const { clock, server, state } = stage()
  server.fault = 'hangs'
  const pending = [
    state.keys.list(),
    state.consents.listConsents('u', 0),
    state.browserSessions.findSession('s', 'd', 0),
    state.oneTimeTokens.find('verify_email', 'd', 0),
    state.tokens.findFamily('s', 0)
  ]
  const results = Promise.allSettled(pending)
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  clock.step(1999)
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  clock.step(1)
  t.ok((await results).every(({ status }) => status === 'rejected'))
  t.equal(clock.waiting(), 0, 'no timer is left')
})

t.test('reports an outage and its end once each, however many calls fail', async (t) => {
  const { clock, server, state, told } = stage()
  server.fault = 'down'
  for (let index = 0; index < 20; index++) await t.rejects(state.keys.list())
  t.strictSame(told, ['degraded: ECONNREFUSED'])
  server.fault = 'none'
  clock.step(1)
  for (let index = 0; index < 3; index++) await state.keys.list()
  t.strictSame(told, ['degraded: ECONNREFUSED', 'recovered'])
  clock.step(GRACE_MS + 1)
  server.fault = 'down'
  await t.rejects(state.keys.list())
  t.equal(told.length, 3, 'the next one is told again')
})

// covers B3
t.test('adds only the actual downtime to the grace time if the store is down 10 ms of each second', async (t) => {
  const { clock, server, state, graces, begin, rotate } = stage()
  await begin()
  t.equal(await rotate('digest-0', 1), 'rotated')
  let failed = 0
  for (let second = 0; second < 3600; second++) {
    clock.step(990)
    server.fault = 'down'
    await state.keys.list().catch(() => failed++)
    server.fault = 'none'
    clock.step(10)
    await state.keys.list()
  }
  t.equal(failed, 3600)
  clock.step(1)
  t.equal(await rotate('digest-0', 2), 'replayed')
  t.ok(Number(graces.at(-1)) >= GRACE_MS && Number(graces.at(-1)) <= GRACE_MS * 1.02, `${graces.at(-1)} ms of grace`)
})

// covers B3
t.test('adds the lengths of two close outages without the time between them', async (t) => {
  const { clock, server, state, begin, rotate } = stage()
  const outage = async (ms: number): Promise<void> => {
    server.fault = 'down'
    await t.rejects(state.keys.list())
    clock.step(ms)
    server.fault = 'none'
    await state.keys.list()
  }
  await begin()
  server.fault = 'answer lost'
  await t.rejects(rotate('digest-0', 1))
  server.fault = 'none'
  clock.step(1)
  await state.keys.list()
  await outage(30_000)
  clock.step(4000)
  await outage(20_000)
  clock.step(GRACE_MS - 4000)
  t.equal(await rotate('digest-0', 2), 'repeated sealed-1', 'after 50 s of outages and 10 s of none')
  clock.step(1)
  t.equal(await rotate('digest-0', 3), 'replayed')
})

// covers B3
t.test('adds up many short outages of a store that fails and recovers all the time', async (t) => {
  const { clock, server, state, graces, begin, rotate } = stage()
  await begin()
  await rotate('digest-0', 1)
  for (let count = 0; count < 200; count++) {
    server.fault = 'down'
    await t.rejects(state.keys.list())
    clock.step(30)
    server.fault = 'none'
    await state.keys.list()
    clock.step(20)
  }
  t.equal(await rotate('digest-0', 2), 'repeated sealed-1')
  const made = Number(graces.at(-1)) - GRACE_MS
  t.ok(made > 5000 && made <= 6000, `${made} ms were made up for, of 6000 that it was down`)
})

for (const [what, error] of [
  ['a lock that another process holds', Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })],
  ['a record that can not be read', new TypeError('Redis holds a record of another form.')],
  ['a programming error', new TypeError('undefined is not a function')],
  ['a statement that the server refuses', new PostgresError('PostgreSQL refused a statement (23505).', '23505')],
  ['a command that the server refuses', new RedisRefusal('WRONGTYPE')]
] as const) {
  // covers B3
  t.test(`treats ${what} as no outage`, async (t) => {
    const { clock, state, told, throws, begin, rotate } = stage()
    await begin()
    t.equal(await rotate('digest-0', 1), 'rotated')
    throws(error)
    await t.rejects(state.keys.list(), error)
    clock.step(GRACE_MS + 1)
    throws(null)
    t.equal(await rotate('digest-0', 2), 'replayed')
    t.strictSame(told, [])
  })
}

// covers B3
t.test('treats an error of a custom store as an outage when isOutage is set', async (t) => {
  const { clock, state, told, throws, begin, rotate } = stage()
  await begin()
  t.equal(await rotate('digest-0', 1), 'rotated')
  throws(Object.assign(new Error('the cluster is away'), { isOutage: true }))
  await t.rejects(state.keys.list())
  clock.step(30_000)
  throws(null)
  t.equal(await rotate('digest-0', 2), 'repeated sealed-1')
  t.strictSame(told, ['degraded: the cluster is away', 'recovered'])
})

t.test('reports a store that fails and recovers repeatedly once, and again when it stays down', async (t) => {
  const { clock, server, state, told } = stage()
  const fail = async (): Promise<void> => {
    await t.rejects(state.keys.list())
  }
  for (let count = 0; count < 5; count++) {
    server.fault = 'down'
    await fail()
    clock.step(10)
    server.fault = 'none'
    await state.keys.list()
    clock.step(1000)
  }
  t.strictSame(told, ['degraded: ECONNREFUSED', 'recovered'])
  server.fault = 'down'
  await fail()
  clock.step(GRACE_MS + 1)
  await fail()
  t.strictSame(told.slice(2), ['degraded: ECONNREFUSED'])
})

t.test('reports outages of the methods of a frozen class, and uses methods replaced later', async (t) => {
  const memory = memoryState()
  class Keys {
    #asked = 0
    async list() {
      return [{ kid: String(++this.#asked) }]
    }
    more = async () => {
      throw new OutageError('ECONNREFUSED')
    }
  }
  const told: string[] = []
  const consents = { ...memory.consents }
  const inner = { ...memory, consents, keys: Object.freeze(new Keys()) as unknown as State['keys'] }
  const state = surviveStateOutages(inner, {
    clock: countingClock(),
    graceMs: GRACE_MS,
    onDegraded: () => {
      told.push('degraded')
    },
    onRecovered: () => {
      told.push('recovered')
    }
  })
  const { keys } = state as unknown as { keys: Keys }
  t.same([await keys.list(), await keys.list()], [[{ kid: '1' }], [{ kid: '2' }]])
  await t.rejects(keys.more())
  t.same(told, ['degraded'])
  consents.listConsents = async () => []
  t.same(await state.consents.listConsents('u', 0), [])
  t.equal(await Promise.resolve(state.tokens), state.tokens, 'what is no method is not there')
})

t.test('rejects an assertion when the answer of the store is not a known word', async (t) => {
  for (const answer of [undefined, null, true, 'Fresh', 'OK', 1]) {
    const assertions = { claim: async () => answer } as unknown as NonNullable<State['assertions']>
    const state = surviveStateOutages(
      { ...memoryState(), assertions },
      { clock: countingClock(), graceMs: GRACE_MS, onDegraded() {}, onRecovered() {} }
    )
    await t.rejects(
      Promise.resolve(state.assertions?.claim('digest', 1)),
      { code: 'FST_AUTHORITY_STORE_MISFIT', message: /^state\.assertions\.claim: / },
      String(answer)
    )
  }
  const { assertions, ...without } = memoryState()
  t.ok(assertions)
  t.equal(
    'assertions' in
      surviveStateOutages(without, { clock: countingClock(), graceMs: GRACE_MS, onDegraded() {}, onRecovered() {} }),
    false
  )
})
