import t from '../../support/tap.ts'
import { jwtEngine } from '../../../lib/adapters/jwt/jwt-engine.ts'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'
import { fixedKeyRing, type KeyRing } from '../../../lib/keys/key-ring.ts'
import { managedKeyRing } from '../../../lib/keys/managed-key-ring.ts'
import type { JwtEngine } from '../../../lib/ports/cryptography.ts'
import type { KeyStore } from '../../../lib/ports/state.ts'
import { delayed, steppedClock, type SteppedClock } from '../../../lib/testing/index.ts'

const DAY = 86_400_000
const MINUTE = 60_000

interface RingOptions {
  algs?: [string, ...string[]]
  engine?: JwtEngine
}

function ring(
  clock: SteppedClock,
  store: KeyStore,
  secrets: [string, ...string[]] = ['s'.repeat(32)],
  errors: unknown[] = [],
  { algs = ['ES256'], engine = jwtEngine }: RingOptions = {}
): KeyRing {
  const made = managedKeyRing(
    {
      algs,
      rotateEveryMs: 90 * DAY,
      announceMs: DAY,
      tokenLifetimeMs: 15 * MINUTE,
      hintLifetimeMs: 365 * DAY,
      pollMs: MINUTE
    },
    {
      clock,
      engine,
      store,
      sealer: aesSealer(secrets),
      onChange() {},
      onError: (error) => {
        errors.push(error)
      }
    }
  )
  made.begin()
  return made
}

/** Steps the clock, and lets the ring finish the work of its timers. */
async function step(clock: SteppedClock, ms: number): Promise<void> {
  clock.step(ms)
  for (let turn = 0; turn < 50; turn++)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
}

/** Waits for the work of a thread of the pool. Only the timeout of the test limits the wait. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition()))
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
}

/** Waits for a change that a ring finds in the store. A ring reads the store only when its clock steps. */
async function untilLooked(clock: SteppedClock, condition: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => {
    await step(clock, MINUTE)
    return await condition()
  })
}

const kids = (one: KeyRing): unknown[] => one.publicJwks().map(({ kid }) => kid)

t.test('writes no key when it is closed while its first key is being made', async (t) => {
  const store = memoryState().keys
  const errors: unknown[] = []
  let goOn = (): void => {}
  let begun = false
  const engine: JwtEngine = {
    ...jwtEngine,
    async generate(alg) {
      begun = true
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
      return await jwtEngine.generate(alg)
    }
  }
  const one = ring(steppedClock(), store, undefined, errors, { engine })
  const waiting = t.rejects(one.ready(), /signing keys are not available/)
  await until(() => begun)
  one.close()
  goOn()
  await waiting
  t.same(await store.list(), [])
  t.same(errors, [])
})

// covers ASVS-11.1.1
t.test('publishes a key a day before it signs, and until its last token expires', async (t) => {
  const clock = steppedClock()
  const one = ring(clock, memoryState().keys)
  t.teardown(() => {
    one.close()
  })
  await one.ready()
  const first = one.signingKey()
  t.same(kids(one), [first.kid])
  await step(clock, 89 * DAY - MINUTE)
  t.same(kids(one), [first.kid], 'a minute before the announcement')
  await step(clock, MINUTE)
  await until(() => kids(one).length === 2)
  await step(clock, MINUTE)
  t.equal(kids(one).length, 2, 'announced')
  t.equal(one.signingKey().kid, first.kid, 'but the first still signs')
  await step(clock, DAY - MINUTE - 1)
  t.equal(one.signingKey().kid, first.kid, 'to the last millisecond')
  const lastToken = one.signingKey().sign({ sub: 'u' })
  await step(clock, 1)
  const second = one.signingKey()
  t.not(second.kid, first.kid)
  await step(clock, 15 * MINUTE - 1)
  t.same(one.find(first.kid)?.verify(lastToken) !== undefined, true, 'its last token still verifies')
  await step(clock, 10 * MINUTE)
  t.same(
    kids(one),
    [first.kid, second.kid],
    'an instance whose clock is 10 minutes behind may have signed with it until now'
  )
  await step(clock, 2 * MINUTE)
  t.same(kids(one), [second.kid], 'then it is gone')
})

t.test('verifies ID token hints with a retired key for a year after its last token', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const one = ring(clock, store)
  await one.ready()
  const { kid } = one.signingKey()
  const hint = one.signingKey().sign({ sub: 'u' }, 'JWT')
  one.close()
  clock.step(89 * DAY)
  const two = ring(clock, store, ['x'.repeat(32)])
  await two.ready()
  t.match(await (await two.findForHint(kid))?.verify(hint), { sub: 'u' }, 'also with a lost secret')
  t.equal(two.find(kid), undefined, 'and for nothing but hints')
  two.close()
  clock.step(3 * DAY)
  const three = ring(clock, store)
  t.teardown(() => {
    three.close()
  })
  await three.ready()
  await until(async () => (await store.list()).length === 3)
  await step(clock, DAY)
  await untilLooked(clock, async () => (await store.list()).some(({ sealed }) => sealed === null))
  t.match(
    (await store.list()).find((stored) => stored.kid === kid),
    { sealed: null },
    'its private half is gone'
  )
  t.notOk(kids(three).includes(kid))
  t.equal(three.find(kid), undefined)
  t.match(await (await three.findForHint(kid))?.verify(hint), { sub: 'u' })
  t.equal(await three.findForHint('made up'), undefined)
  clock.step(365 * DAY)
  await untilLooked(clock, async () => !(await store.list()).some((stored) => stored.kid === kid))
  t.equal(await three.findForHint(kid), undefined)
})

t.test('creates one key, and later one next key, when ten instances start together', async (t) => {
  const clock = steppedClock()
  const store = delayed(memoryState().keys)
  const rings = Array.from({ length: 10 }, () => ring(clock, store))
  t.teardown(() => {
    for (const one of rings) one.close()
  })
  await Promise.all(
    rings.map(async (one) => {
      await one.ready()
    })
  )
  t.equal((await store.list()).length, 1)
  t.equal(new Set(rings.map((one) => one.signingKey().kid)).size, 1)
  clock.step(89 * DAY + MINUTE)
  await untilLooked(clock, () => rings.every((one) => kids(one).length === 2))
  t.equal((await store.list()).length, 2)
  t.equal(new Set(rings.map((one) => JSON.stringify(kids(one)))).size, 1)
})

// covers ASVS-13.3.4 ASVS-11.3.3
t.test('opens the key after a restart with a rotated secret, and reports an unknown secret', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const first = ring(clock, store)
  await first.ready()
  const { kid } = first.signingKey()
  first.close()
  t.notMatch(JSON.stringify(await store.list()), /"d"/, 'the private half is sealed')
  const rotated = ring(clock, store, ['n'.repeat(32), 's'.repeat(32)])
  await rotated.ready()
  t.equal(rotated.signingKey().kid, kid)
  rotated.close()
  const errors: unknown[] = []
  const foreign = ring(clock, store, ['x'.repeat(32)], errors)
  await foreign.ready()
  t.not(foreign.signingKey().kid, kid, 'it makes a key of its own')
  t.match(String(errors[0]), /can't be opened/)
  foreign.close()
})

// covers B18
t.test('reports an unreadable key once, ignores it, and retires it on schedule', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const former = ring(clock, store)
  await former.ready()
  const lost = former.signingKey().kid
  former.close()
  const broken = {
    kid: 'broken',
    alg: 'ES256',
    sequence: 2,
    signsFrom: clock.now(),
    createdAt: clock.now(),
    publicJwk: {},
    sealed: aesSealer(['x'.repeat(32)]).seal('{"kty":"none of ours"}')
  }
  await store.addIfAbsent(broken)
  const errors: unknown[] = []
  const one = ring(clock, store, ['x'.repeat(32)], errors)
  t.teardown(() => {
    one.close()
  })
  await one.ready()
  const first = one.signingKey().kid
  for (let minute = 0; minute < 5; minute++) await step(clock, MINUTE)
  t.equal(errors.length, 2, 'once each, however often the store is looked at')
  t.match(errors.map(String), [
    new RegExp(`The signing key ${lost} can't be opened.*Put the former secret into the array`),
    /The signing key broken is no key/
  ])
  t.same(kids(one), [first])
  const stored = async (): Promise<string[]> => (await store.list()).map(({ kid }) => kid)
  await step(clock, 89 * DAY)
  t.ok((await stored()).includes(lost), 'another instance may sign with it')
  for (let day = 0; day < 3; day++) await step(clock, DAY)
  await untilLooked(clock, async () =>
    (await store.list()).every(({ kid, sealed }) => sealed === null || (kid !== lost && kid !== 'broken'))
  )
  t.equal(errors.length, 2)
})

t.test('answers 503 if it has no key while the store is down, and recovers within a minute', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  let down = true
  const flaky: KeyStore = {
    ...store,
    list: async () => {
      if (down) throw new Error('down')
      return await store.list()
    }
  }
  const one = ring(clock, flaky)
  t.teardown(() => {
    one.close()
  })
  await t.rejects(one.ready())
  t.throws(() => one.signingKey(), { statusCode: 503 } as unknown as Error)
  down = false
  await step(clock, MINUTE)
  await one.ready()
  t.ok(one.signingKey())
})

t.test('answers 503 for an unknown kid during an outage, and retries after a second', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const server = { isDown: false, lists: 0 }
  const one = ring(clock, {
    ...store,
    list: async () => {
      server.lists++
      if (server.isDown) throw new Error('down')
      return await store.list()
    }
  })
  t.teardown(() => {
    one.close()
  })
  await one.ready()
  // The first step runs the check for keys of other algorithms.
  await step(clock, 6000)
  await step(clock, 6000)
  server.isDown = true
  const before = server.lists
  for (let round = 0; round < 20; round++)
    await t.rejects(one.refresh(), {
      error: 'temporarily_unavailable',
      statusCode: 503,
      headers: { 'retry-after': '1' }
    } as unknown as Error)
  t.equal(server.lists - before, 1, 'a flood does not become one at the store')
  t.ok(one.signingKey(), 'what is known goes on signing')
  server.isDown = false
  await t.rejects(one.refresh(), { statusCode: 503 } as unknown as Error)
  await step(clock, 1000)
  await one.refresh()
  t.equal(server.lists - before, 2)
})

t.test('makes no key again within a second for a flood of unknown kids when the store refused the first', async (t) => {
  const clock = steppedClock()
  let added = 0
  const one = ring(clock, {
    ...memoryState().keys,
    addIfAbsent: async () => {
      added++
      throw new Error('read only')
    }
  })
  t.teardown(() => {
    one.close()
  })
  for (let round = 0; round < 20; round++)
    await t.rejects(one.refresh(), { error: 'temporarily_unavailable', statusCode: 503 } as unknown as Error)
  t.equal(added, 1)
  await step(clock, 1000)
  const before = added
  for (let round = 0; round < 20; round++) await t.rejects(one.refresh(), { statusCode: 503 } as unknown as Error)
  t.equal(added - before, 1)
})

t.test('reads a store that was never reachable once a second for a flood of unknown kids', async (t) => {
  const clock = steppedClock()
  const server = { lists: 0 }
  const one = ring(clock, {
    ...memoryState().keys,
    list: async () => {
      server.lists++
      throw new Error('down')
    }
  })
  t.teardown(() => {
    one.close()
  })
  for (let round = 0; round < 20; round++)
    await t.rejects(one.refresh(), { error: 'temporarily_unavailable', statusCode: 503 } as unknown as Error)
  t.equal(server.lists, 1)
  await step(clock, 1000)
  await t.rejects(one.refresh(), { statusCode: 503 } as unknown as Error)
  t.equal(server.lists, 2)
})

t.test('makes callers wait for the first read of a starting instance', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const other = ring(clock, store)
  await other.ready()
  other.close()
  const held: Array<() => void> = []
  const one = ring(clock, {
    ...store,
    list: async () => {
      await new Promise<void>((resolve) => {
        held.push(resolve)
      })
      return await store.list()
    }
  })
  t.teardown(() => {
    one.close()
  })
  await until(() => held.length === 1)
  const refreshed = one.refresh()
  await step(clock, 0)
  for (const release of held) release()
  await refreshed
  t.ok(one.find(other.signingKey().kid))
})

// covers ADV-CVE-2026-48524
t.test('DOS-jwks reads the store at most twice for 100 parallel requests with unknown kids', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  let lists = 0
  const one = ring(clock, {
    ...store,
    list: async () => {
      lists++
      return await store.list()
    }
  })
  t.teardown(() => {
    one.close()
  })
  await one.ready()
  const before = lists
  clock.step(6000)
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      await one.refresh()
    })
  )
  t.ok(lists - before <= 2, `${lists - before} look-ups`)
})

// covers ASVS-11.2.3 R8725-3.5
t.test('rejects weak and malformed keys', async (t) => {
  for (const jwk of [
    {},
    { kty: 'EC' },
    { kty: 'EC', crv: 'P-256', alg: 'ES256', x: 'x', y: 'y' },
    { kty: 'oct', k: 'x', alg: 'HS256' },
    { ...(await jwtEngine.generate('ES256')), alg: 'EdDSA' },
    { ...(await jwtEngine.generate('ES256')), alg: 'none' }
  ]) {
    await t.rejects(jwtEngine.load(jwk), JSON.stringify(jwk).slice(0, 60))
  }
})

/** An engine that holds back keys of the algorithm `slow` until `finish`. */
function slowEngine(slow: string): JwtEngine & { finish(): void; asked: string[] } {
  const asked: string[] = []
  let finish = (): void => {}
  const wait = new Promise<void>((resolve) => {
    finish = resolve
  })
  return {
    ...jwtEngine,
    asked,
    finish: () => {
      finish()
    },
    async generate(alg) {
      asked.push(alg)
      if (alg === slow) await wait
      return await jwtEngine.generate(alg)
    }
  }
}

t.test('two algorithms: delays only callers that wait for a key of the slow algorithm', async (t) => {
  const clock = steppedClock()
  const engine = slowEngine('EdDSA')
  const one = ring(clock, delayed(memoryState().keys), undefined, [], { algs: ['ES256', 'EdDSA'], engine })
  t.teardown(() => {
    one.close()
  })
  t.same(one.algs(), ['ES256', 'EdDSA'])
  await one.ready()
  t.same(engine.asked, ['ES256'], 'a start makes the first alone')
  t.equal(one.signingKey().alg, 'ES256')
  t.throws(() => one.signingKey('EdDSA'), { statusCode: 503 } as unknown as Error)
  await step(clock, 1000)
  t.same(engine.asked, ['ES256', 'EdDSA'], 'the other one a second later')
  let ready = false
  const waiting = Promise.all([one.ready('EdDSA'), one.ready('EdDSA')]).then(() => {
    ready = true
  })
  await step(clock, 5000)
  await one.refresh()
  await step(clock, MINUTE)
  t.equal(ready, false)
  t.equal(one.signingKey('ES256').alg, 'ES256')
  engine.finish()
  await waiting
  t.equal(one.signingKey('EdDSA').alg, 'EdDSA')
  t.same(engine.asked, ['ES256', 'EdDSA'], 'made once, however many wait')
  t.equal(one.signingKey().alg, 'ES256', 'the first is the default')
  t.same(
    one.publicJwks().map(({ alg }) => alg),
    ['ES256', 'EdDSA']
  )
  t.equal(new Set(kids(one)).size, 2, 'OIDF every key has its own kid')
})

t.test('rotates the keys of each algorithm in a separate sequence', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const algs: [string, ...string[]] = ['ES256', 'EdDSA']
  const one = ring(clock, store, undefined, [], { algs })
  t.teardown(() => {
    one.close()
  })
  await one.ready()
  await step(clock, 10 * DAY)
  await one.ready('EdDSA')
  const second = one.signingKey('EdDSA').kid
  for (let day = 0; day < 79; day++) await step(clock, DAY)
  await untilLooked(clock, async () => (await store.list()).length === 3)
  for (let day = 0; day < 2; day++) await step(clock, DAY)
  const unretired = async () => (await store.list()).filter(({ sealed }) => sealed !== null)
  await untilLooked(clock, async () => (await unretired()).length === 2)
  const stored = await unretired()
  const of = (alg: string): number[] =>
    stored
      .filter((key) => key.alg === alg)
      .map(({ sequence }) => sequence)
      .toSorted((a, b) => a - b)
  t.same(of('ES256'), [2], 'rotated on day 90')
  t.same(of('EdDSA'), [1], 'which is not on day 91 what came later')
  t.equal(one.signingKey('EdDSA').kid, second)
})

t.test('publishes the keys of an algorithm that left the options until their last token has expired', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const before = ring(clock, store, undefined, [], { algs: ['EdDSA', 'ES256'] })
  await before.ready()
  const { kid, sign } = before.signingKey()
  const token = sign({ sub: 'ann' })
  before.close()
  const after = ring(clock, store)
  t.teardown(() => {
    after.close()
  })
  await after.ready()
  t.match(after.find(kid)?.verify(token), { sub: 'ann' })
  t.same(
    after.publicJwks().map(({ alg }) => alg),
    ['ES256', 'EdDSA']
  )
  t.same(after.algs(), ['ES256'], 'no new token gets the former algorithm')
  t.throws(() => after.signingKey('EdDSA'), { message: /no signing key/ })
  for (let day = 0; day < 91; day++) await step(clock, DAY)
  t.ok(after.find(kid), 'an instance with the former options may have signed until now')
  await step(clock, 26 * MINUTE)
  await untilLooked(clock, () => after.find(kid) === undefined)
  const stored = (await store.list()).filter(({ alg }) => alg === 'EdDSA')
  t.match(stored, [{ kid, sealed: null }], 'its private half is gone, and no next key was made')
  t.ok(await after.findForHint(kid), 'old ID tokens are good as hints')
})

t.test('shares the keys of both algorithms between ten instances', async (t) => {
  const clock = steppedClock()
  const store = delayed(memoryState().keys)
  const rings = Array.from({ length: 10 }, () => ring(clock, store, undefined, [], { algs: ['ES256', 'EdDSA'] }))
  t.teardown(() => {
    for (const one of rings) one.close()
  })
  await Promise.all(rings.flatMap((one) => [one.ready(), one.ready('EdDSA')]))
  t.equal((await store.list()).length, 2)
  for (const alg of ['ES256', 'EdDSA']) t.equal(new Set(rings.map((one) => one.signingKey(alg).kid)).size, 1)
})

t.test('keeps a newer key list when an older one arrives late', async (t) => {
  const clock = steppedClock()
  const store = memoryState().keys
  const held: Array<() => void> = []
  let hold = false
  const slow: KeyStore = {
    ...store,
    async list() {
      const listed = await store.list()
      if (hold)
        await new Promise<void>((resolve) => {
          held.push(resolve)
        })
      return listed
    }
  }
  const other = ring(clock, store)
  const one = ring(clock, slow, undefined, [], { algs: ['ES256', 'EdDSA'] })
  t.teardown(() => {
    one.close()
    other.close()
  })
  await one.ready()
  hold = true
  clock.step(6000)
  const looked = one.refresh()
  await step(clock, 0)
  const elsewhere = ring(clock, store, undefined, [], { algs: ['EdDSA'] })
  await elsewhere.ready()
  elsewhere.close()
  hold = false
  const ready = one.ready('EdDSA')
  for (const release of held) release()
  await Promise.all([looked, ready])
  t.equal(one.find(elsewhere.signingKey().kid)?.alg, 'EdDSA')
})

t.test('finds a key of another instance after waiting for a running read', async (t) => {
  const clock = steppedClock()
  const store = delayed(memoryState().keys)
  const one = ring(clock, store)
  t.teardown(() => {
    one.close()
  })
  await one.ready()
  await step(clock, 6000)
  await step(clock, 6000)
  const privateJwk = await jwtEngine.generate('ES256')
  const { kid, publicJwk } = await jwtEngine.load(privateJwk)
  await store.addIfAbsent({
    kid,
    alg: 'ES256',
    sequence: 2,
    signsFrom: clock.now() + DAY,
    createdAt: clock.now(),
    publicJwk: publicJwk ?? {},
    sealed: aesSealer(['s'.repeat(32)]).seal(JSON.stringify(privateJwk))
  })
  const found = await Promise.all(
    [1, 2, 3].map(async () => {
      await one.refresh()
      return one.find(kid) !== undefined
    })
  )
  t.same(found, [true, true, true])
})

t.test('discards a key that is generated after close, without an error', async (t) => {
  const clock = steppedClock()
  const engine = slowEngine('ES256')
  const store = memoryState().keys
  const errors: unknown[] = []
  const one = ring(clock, store, undefined, errors, { engine })
  await step(clock, 0)
  one.close()
  engine.finish()
  await step(clock, MINUTE)
  t.same(await store.list(), [])
  t.same(errors, [])
})

t.test('reports an algorithm without a key as a server error', async (t) => {
  const managed = ring(steppedClock(), memoryState().keys)
  t.teardown(() => {
    managed.close()
  })
  for (const one of [managed, fixedKeyRing([await jwtEngine.load(await jwtEngine.generate('ES256'))])]) {
    t.throws(() => one.signingKey('RS256'), { error: 'server_error', statusCode: 500 } as unknown as Error)
    await t.rejects(one.ready('RS256'), { error: 'server_error' } as unknown as Error)
  }
})

t.test('signs with the first configured key of each algorithm, by default with the first of all', async (t) => {
  const jwks = await Promise.all(['EdDSA', 'ES256', 'EdDSA', 'ES256'].map(async (alg) => await jwtEngine.generate(alg)))
  const keys = await Promise.all(jwks.map(async (jwk) => await jwtEngine.load(jwk)))
  const one = fixedKeyRing(keys)
  t.same(one.algs(), ['EdDSA', 'ES256'])
  await one.ready()
  await one.ready('ES256')
  t.equal(one.signingKey(), keys[0])
  t.equal(one.signingKey('ES256'), keys[1])
  t.same(
    kids(one),
    keys.map(({ kid }) => kid)
  )
  t.equal(one.find(keys[3]?.kid ?? ''), keys[3])
})
