import type { Redis } from 'ioredis'
import t from '../support/tap.ts'
import { redisAttemptStore, type RedisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import type { RedisClient } from '../../lib/adapters/redis/connection.ts'
import { COUNTER_COMMANDS, STATE_COMMANDS, sharedConnection } from '../../lib/adapters/redis/server.ts'
import { redisState, type RedisState } from '../../lib/adapters/redis/record-store.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { oneTimeToken } from '../../lib/protocol/credential.ts'
import { startRedis } from '../support/redis-server.ts'
import { END, NOW, code, family, redemption, secretOf, sidFor, use, userOf } from './support/state-records.ts'

const INVALID_OPTIONS = { name: 'StartError', code: 'FST_AUTHORITY_INVALID_OPTIONS' }

/** A fake client whose server gives this answer to `INFO`, and can do everything else. */
const answering = (answer: () => Promise<unknown>): RedisClient => ({
  status: 'ready',
  isCluster: false,
  connect: async () => undefined,
  evalsha: answer,
  eval: answer,
  pipeline: () => ({
    exec: async () => [
      [null, await answer()],
      [null, []]
    ]
  }),
  on: () => undefined,
  off: () => undefined
})

t.test('redisState: accepts a suitable server in prepare', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const state = redisState(server.client())
  await t.resolves(state.prepare())
  const before = Date.now()
  const now = await state.time()
  t.ok(now >= before && now <= Date.now(), `${now} since ${before}`)
  t.equal(await state.evictionPolicy(), null)
})

t.test('redisState reports the eviction policy of the server', async (t) => {
  const server = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  t.teardown(() => server.stop())
  const client = server.client()
  const state = redisState(client)
  t.equal(await state.evictionPolicy(), 'allkeys-lru')
  await client.config('SET', 'maxmemory-policy', 'volatile-ttl')
  t.equal(await state.evictionPolicy(), 'volatile-ttl')
  await client.config('SET', 'maxmemory', '0')
  t.equal(await state.evictionPolicy(), null, 'without a limit none applies')
  await client.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'noeviction')
  t.equal(await state.evictionPolicy(), null)
})

t.test('redisState: rejects a server with missing rights or features in prepare', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const admin = server.client()
  await admin.acl('SETUSER', 'noscripts', 'on', '>p', '~*', '+@all', '-@scripting')
  await admin.acl('SETUSER', 'nokeys', 'on', '>p', '~other:*', '+@all')
  await admin.acl('SETUSER', 'nowrites', 'on', '>p', '~*', '+@all', '-getrange')
  await admin.acl('SETUSER', 'noinfo', 'on', '>p', '~*', '+@all', '-info')
  for (const username of ['noscripts', 'nokeys']) {
    const client = server.client({ username, password: 'p' })
    await t.rejects(redisState(client).prepare(), { ...INVALID_OPTIONS, message: /EVALSHA/ }, username)
  }
  await t.rejects(redisState(server.client({ username: 'nowrites', password: 'p' })).prepare(), {
    ...INVALID_OPTIONS,
    message: /GETRANGE/
  })
  const quiet = redisState(server.client({ username: 'noinfo', password: 'p' }))
  await t.resolves(quiet.prepare(), 'a server need not tell its version')
  t.equal(await quiet.evictionPolicy(), null)

  const info = (version: string): string => `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n`
  for (const [version, isFit] of [
    ['6.2.0', true],
    ['7.0.15', true],
    ['10.0.0', true],
    ['6.0.20', false],
    ['5.0.9', false]
  ] as const) {
    const prepared = redisState(answering(async () => [info(version), null])).prepare()
    if (isFit) await t.resolves(prepared, version)
    else await t.rejects(prepared, { ...INVALID_OPTIONS, message: version })
  }
})

t.test('redisState: rejects without StartError in an outage in prepare', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const admin = server.client()
  await admin.replicaof('127.0.0.1', 1)
  await t.rejects(redisState(admin).prepare(), { name: 'Error', message: /READONLY/ })
  await admin.replicaof('NO', 'ONE')
  await t.resolves(redisState(admin).prepare())
  server.pause()
  await t.rejects(redisState(admin).prepare(), { name: 'Error' })
  server.resume()
})

t.test('redisState: accepts one of ten parallel rotations, redemptions or keys on two connections', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const states = [redisState(server.client()), redisState(server.client())] as const
  const of = (index: number): (typeof states)[0] => states[index % 2 === 0 ? 0 : 1]
  const user = userOf('1')
  for (let round = 0; round < 20; round++) {
    await of(round).tokens.createFamily(family(user, `family ${round}`))
    const rotations = await parallel(10, (index) =>
      of(index).tokens.rotateToken(use(user, `family ${round}`), {
        digest: `digest ${index}`,
        sealed: `sealed ${index}`
      })
    )
    t.same(tally(rotations.map(({ outcome }) => outcome)), { rotated: 1, repeated: 9 })
    const winner = rotations.findIndex(({ outcome }) => outcome === 'rotated')
    t.same(
      new Set(rotations.flatMap((result) => (result.outcome === 'repeated' ? [result.sealed] : []))),
      new Set([`sealed ${winner}`])
    )

    await of(round).tokens.createCode(code(user, `code ${round}`))
    const redemptions = await parallel(10, (index) => of(index).tokens.redeemCode(redemption(user, `code ${round}`)))
    t.same(tally(redemptions.map(({ outcome }) => outcome)), { redeemed: 1, replayed: 1, unknown: 8 })
    t.equal(await of(round).tokens.findFamily(sidFor(user, `code ${round}`), NOW), null)

    const { digest } = oneTimeToken(user, secretOf(`mail ${round}`))
    await of(round).oneTimeTokens.put({ purpose: 'password_reset', digest, userId: user, expiresAt: END })
    const consumed = await parallel(10, (index) => of(index).oneTimeTokens.consume('password_reset', digest, NOW))
    t.equal(consumed.filter((token) => token !== null).length, 1)

    const added = await parallel(10, (index) =>
      of(index).keys.addIfAbsent({
        kid: `kid ${round} ${index}`,
        alg: 'ES256',
        sequence: round,
        signsFrom: NOW,
        createdAt: NOW,
        publicJwk: {},
        sealed: 's'
      })
    )
    t.equal(added.filter(Boolean).length, 1)
  }
})

t.test('redisState: keeps a token that a client holds when an undo comes late', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const { tokens } = redisState(server.client())
  const user = userOf('1')
  await tokens.createFamily(family(user, 'phone'))
  const first = await tokens.rotateToken(use(user, 'phone'), { digest: 'second', sealed: 's' })
  const second = await tokens.rotateToken(use(user, 'phone', { digest: 'second' }), { digest: 'third', sealed: 's' })
  if (first.outcome !== 'rotated' || second.outcome !== 'rotated') throw new Error(`${first.outcome} ${second.outcome}`)
  await tokens.undoRotation(second.undo)
  await tokens.undoRotation(first.undo)
  t.match(
    await tokens.useToken(use(user, 'phone', { digest: 'second' })),
    { outcome: 'used' },
    'it was presented, so its rotation stays'
  )
})

t.test('redisState: refuses a kid that exists, also with another sequence or algorithm', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const { keys } = redisState(server.client())
  const key = {
    kid: 'kid',
    alg: 'ES256',
    sequence: 1,
    signsFrom: NOW,
    createdAt: NOW,
    publicJwk: { kty: 'EC' },
    sealed: 's'
  }
  t.equal(await keys.addIfAbsent(key), true)
  t.equal(await keys.addIfAbsent({ ...key, sequence: 2 }), false)
  t.equal(await keys.addIfAbsent({ ...key, alg: 'RS256' }), false)
  t.equal(await keys.addIfAbsent({ ...key, kid: 'other', sequence: 10 }), true)
  t.same(
    (await keys.list()).map(({ sequence }) => sequence),
    [1, 10]
  )
})

// covers B12
t.test('names in prepare each command that the user may not run, for state and counters', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const admin = server.client()
  const prepared = async (
    refused: readonly string[],
    what: (client: Redis) => { prepare(): Promise<void> }
  ): Promise<void> => {
    await admin.acl(
      'SETUSER',
      'limited',
      'reset',
      'on',
      '>p',
      '~*',
      '+@all',
      ...refused.map((command) => `-${command}`)
    )
    const client = server.client({ username: 'limited', password: 'p' })
    try {
      await what(client).prepare()
    } finally {
      client.disconnect()
    }
  }
  const state = (client: Redis): RedisState => redisState(client)
  const attempts = (client: Redis): RedisAttemptStore => redisAttemptStore(sharedConnection(client))
  for (const command of STATE_COMMANDS) {
    await t.rejects(
      prepared([command], state),
      { ...INVALID_OPTIONS, message: new RegExp(`may not run ${command} on keys that begin with "authority:"`) },
      command
    )
    if (COUNTER_COMMANDS.includes(command))
      await t.rejects(
        prepared([command], attempts),
        { ...INVALID_OPTIONS, message: new RegExp(`may not run ${command} on keys that begin with "rl:"`) },
        command
      )
    else await t.resolves(prepared([command], attempts), command)
  }
  await t.rejects(prepared(['mget', 'del'], state), { ...INVALID_OPTIONS, message: /MGET, DEL/ })
  await t.rejects(prepared(['mget', '@scripting'], state), { ...INVALID_OPTIONS, message: /EVALSHA/ })
  await t.rejects(prepared(['del', 'getrange'], state), INVALID_OPTIONS)
  const left = await admin.keys('*')
  t.ok(left.length > 0, 'what it may not delete is left')
  for (const name of left) t.ok((await admin.pttl(name)) > 0, `${name} does not stay`)
  await t.resolves(prepared([], state))
})

// covers B12
t.test('leaves no key behind after parallel calls of prepare', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const client = server.client()
  await Promise.all([
    redisState(client).prepare(),
    redisState(client).prepare(),
    redisAttemptStore(sharedConnection(client)).prepare()
  ])
  t.same(await client.keys('*'), [])
})
