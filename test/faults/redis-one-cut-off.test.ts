import t from '../support/tap.ts'
import { startRedis } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { isOf, saidYes } from './support/log.ts'
import { startProxy } from './support/proxy.ts'
import { runScenario } from './support/scenario.ts'
import { INSTANCES, LIMITS_ARE_LOCAL, temporaryFile } from './support/standard.ts'

const CUT_OFF = '2'

t.test('answers 503 at an instance that loses Redis, and completes its operations at the others', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const users = temporaryFile(t)
  const proxies = new Map(await Promise.all(INSTANCES.map(async (name) => [name, await startProxy(redis)] as const)))
  t.teardown(async () => {
    for (const proxy of proxies.values()) await proxy.stop()
  })
  const placeOf = (name: string) =>
    ({ kind: 'redis', url: `redis://127.0.0.1:${proxies.get(name as (typeof INSTANCES)[number])?.port}` }) as const
  const own = proxies.get(CUT_OFF)
  if (own === undefined) throw new Error('It has no proxy.')
  const result = await runScenario({
    instances: INSTANCES,
    settingsOf: (name) => ({ state: placeOf(name), users, limits: placeOf(name), skewMs: 0 }),
    faults: [
      {
        name: `Redis hears instance ${CUT_OFF}, which hears nothing, and then refuses it`,
        at: 0.2,
        recoveryMs: 2500,
        instance: CUT_OFF,
        excuses: LIMITS_ARE_LOCAL,
        async run({ hold }) {
          own.drop('back')
          await hold(2000, 20_000)
          await own.stop()
          await hold(1000, 10_000)
          own.drop(false)
          await own.start()
        }
      }
    ],
    // Enough requests reach the cut-off instance within two seconds.
    load: { journeyEveryMs: 80 },
    terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 8000 }
  })
  expectHeld(t, result)

  const [fault] = result.faults
  if (fault === undefined) throw new Error('There was no fault.')
  const meanwhile = result.entries.filter(({ start, end }) => start > fault.start && end < fault.end)
  const refused = meanwhile.filter(
    (entry) => isOf(CUT_OFF, entry) && entry.outcome.kind === 'answer' && entry.outcome.status === 503
  )
  t.ok(refused.length > 0, `it said 503, ${refused.length} times`)
  for (const name of INSTANCES.filter((name) => name !== CUT_OFF)) {
    t.ok(
      meanwhile.some((entry) => isOf(name, entry) && entry.operation === 'rotate' && saidYes(entry)),
      `instance ${name} went on`
    )
  }
  const elsewhere = refused.filter(
    ({ operation, token }) =>
      operation === 'rotate' &&
      result.entries.some(
        (entry) => entry.operation === 'rotate' && entry.token === token && saidYes(entry) && !isOf(CUT_OFF, entry)
      )
  )
  t.ok(elsewhere.length > 0, `a refresh whose answer it lost worked at another instance, ${elsewhere.length} times`)
  t.ok(
    result.entries.some(
      (entry) => isOf(CUT_OFF, entry) && entry.operation === 'rotate' && saidYes(entry) && entry.start > fault.end
    ),
    'and it works again'
  )
})
