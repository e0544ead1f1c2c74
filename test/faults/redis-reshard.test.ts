/** B1 A Redis Cluster is resharded under load: no call gets a wrong answer, and revoked sign-ins stay revoked. */
import { setTimeout as wait } from 'node:timers/promises'
import t from '../support/tap.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { sharedConnection } from '../../lib/adapters/redis/server.ts'
import { redisState } from '../../lib/adapters/redis/record-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { startRedisCluster } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { resharding, slotOf } from './support/reshard.ts'
import { person, type Tally } from './support/reshard-load.ts'
import { runScenario } from './support/scenario.ts'
import { LIMITS_ARE_LOCAL, temporaryFile, THREE } from './support/standard.ts'

/** Slots that are all on the first node, with enough keys that a move takes time. */
const SLOTS = 12
const USERS_A_SLOT = 30
const WORKERS = 12
const LIMIT = { rule: 'login', key: 'everybody', windowMs: 3_600_000, max: 200 }

// covers B1
t.test('gives no wrong answer and loses no revocation or limit during a reshard under load', async (t) => {
  const cluster = await startRedisCluster()
  t.teardown(async () => {
    await cluster.stop()
  })
  const client = cluster.client()
  const state = redisState(client)
  const attempts = redisAttemptStore(sharedConnection(client))
  const key = {
    kid: 'kid',
    alg: 'ES256',
    sequence: 1,
    signsFrom: 0,
    createdAt: 0,
    publicJwk: { kty: 'EC' },
    sealed: 's'
  }
  await state.keys.addIfAbsent(key)

  const tally: Tally = { answered: 0, refused: 0, revocations: 0, wrong: [], lost: [], reasons: new Set() }
  const people = usersInFirst(SLOTS, USERS_A_SLOT).map((userId) => person(state, userId, tally))
  await Promise.all(
    people.map(async (one) => {
      await one.begin()
    })
  )

  let isOver = false
  let allowed = 0
  const untilOver = async (step: (round: number) => Promise<void>): Promise<void> => {
    for (let round = 0; !isOver; round++) await step(round)
  }
  const load = [
    ...Array.from({ length: WORKERS }, async (_, worker) => {
      const own = people.filter((_person, index) => index % WORKERS === worker)
      await untilOver(async (round) => {
        await own[round % own.length]?.step()
      })
    }),
    untilOver(async (round) => {
      const outcome = await Promise.resolve(
        attempts.reserve(`attempt ${round}`, [LIMIT, { ...LIMIT, key: `other ${round % 7}`, max: 1000 }])
      ).catch(() => null)
      if (outcome?.allowed === true) allowed++
      await wait(2)
    }),
    untilOver(async () => {
      const kids = await state.keys.list().then(
        (keys) => keys.map(({ kid }) => kid),
        () => ['kid']
      )
      if (kids.join() !== 'kid') tally.wrong.push(`keys.list: ${kids.join()}`)
      await state.time().catch(() => {})
      await wait(2)
    })
  ]

  const reshard = resharding(cluster.nodes, { batch: 20, pauseMs: 2 })
  const begun = performance.now()
  const moved = [
    ...Array.from({ length: SLOTS }, (_, slot) => slot),
    slotOf('rl:{limits}'),
    slotOf('authority:{service}')
  ]
  let moves = 0
  while (moves < 2 * moved.length || tally.revocations < 100) {
    const slot = moved[moves % moved.length] as number
    // Moves slots to the two other nodes in turn.
    await reshard.move(slot, ((await reshard.ownerOf(slot)) + 1 + (moves % 2)) % 3)
    moves++
  }
  const tookMs = performance.now() - begun
  isOver = true
  await Promise.all(load)
  reshard.close()

  for (const one of people) await one.settle()
  const records = (
    await Promise.all(
      cluster.masters.map(async (master) => {
        const admin = master.client()
        return await admin.dbsize()
      })
    )
  ).reduce((sum, size) => sum + size, 0)
  t.comment(
    `${records} records in ${SLOTS} slots, ${moves} moves in ${Math.round(tookMs)} ms: ` +
      `${tally.answered} answers, ${tally.refused} refusals (${[...tally.reasons].join(', ')})`
  )
  t.comment(
    `${tally.wrong.length} wrong answers, ${tally.lost.length} of ${tally.revocations} ` +
      `revocations lost, ${reshard.clashes()} keys at both ends; ${allowed} of ${LIMIT.max} ` +
      'attempts passed'
  )
  t.ok(
    tally.answered > 1000 && (await met(cluster.masters.map((master) => master.client()))) > 0,
    'the load met the move'
  )
  t.strictSame(tally.wrong.slice(0, 10), [], 'no wrong answer')
  t.strictSame(tally.lost.slice(0, 10), [], 'no revocation is lost')
  t.equal(reshard.clashes(), 0, 'nothing was made at the new node while it was at the old one')
  t.ok(allowed <= LIMIT.max, `${allowed} attempts of ${LIMIT.max}`)
})

// covers B1
t.test('keeps the checked guarantees of a service while the slots of its Redis Cluster move', async (t) => {
  const cluster = await startRedisCluster()
  t.teardown(async () => {
    await cluster.stop()
  })
  const users = temporaryFile(t)
  const place = { kind: 'cluster', nodes: cluster.nodes.map(({ host, port }) => ({ host, port })) } as const
  const reshard = resharding(cluster.nodes, { batch: 1, pauseMs: 3 })
  t.teardown(() => {
    reshard.close()
  })
  const result = await runScenario({
    instances: THREE,
    settingsOf: () => ({ state: place, users, limits: place, skewMs: 0 }),
    faults: [
      {
        name: 'a reshard',
        at: 0.1,
        recoveryMs: 1500,
        excuses: LIMITS_ARE_LOCAL,
        async run({ hold }) {
          const over = hold(6000, 50_000).then(() => true)
          // Repeats over the slots, which include those of new users.
          for (let node = 0; !(await Promise.race([over, Promise.resolve(false)])); node = (node + 1) % 3) {
            for (const slot of (await reshard.filled(node)).slice(0, 8)) await reshard.move(slot, (node + 1) % 3)
          }
        }
      }
    ],
    terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 8000 }
  })
  expectHeld(t, result)
  t.equal(reshard.clashes(), 0)
})

/** The number of redirections by nodes during a move. Clients follow them, so few calls fail. */
async function met(nodes: ReadonlyArray<{ info(section: string): Promise<string> }>): Promise<number> {
  const said = await Promise.all(nodes.map(async (node) => await node.info('errorstats')))
  return said
    .flatMap((text) => [...text.matchAll(/errorstat_(?:TRYAGAIN|ASK):count=(\d+)/g)])
    .reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Returns `count` users in each of the first slots, because all records of a user are in one slot. */
function usersInFirst(slots: number, count: number): string[] {
  const found = Array.from({ length: slots }, (): string[] => [])
  for (let number = 0; found.some(({ length }) => length < count); number++) {
    const users = found[slotOf(`{${partitionOf(`user ${number}`)}}`)]
    if (users !== undefined && users.length < count) users.push(`user ${number}`)
  }
  return found.flat()
}
