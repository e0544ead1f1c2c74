import t from '../support/tap.ts'
import type { MIX } from './support/journeys.ts'
import { runScenario } from './support/scenario.ts'
import type { PlantedInStores } from './support/settings.ts'
import { temporaryFile } from './support/standard.ts'
import type { RuleName } from './support/terms.ts'

/**
 * Other tests run the checker on planted logs. This one shows that a faulty service leaves such a log, so that the load
 * exercises the rules. `often`: the operation that shows the fault, made more often, because in a few seconds it would
 * be too rare.
 */
const PLANTED: Readonly<Record<PlantedInStores, { rule: RuleName; often: keyof typeof MIX }>> = {
  'revokes-nothing': { rule: 'revoked-accepted', often: 'revoke' },
  'spares-replays': { rule: 'revoked-accepted', often: 'replay' },
  'reset-leaves-codes': { rule: 'revoked-accepted', often: 'resetPassword' },
  'sign-out-leaves-families': { rule: 'revoked-accepted', often: 'signOut' },
  'one-time-twice': { rule: 'one-time-twice', often: 'resetPassword' }
}

for (const [planted, { rule, often }] of Object.entries(PLANTED) as Array<
  [PlantedInStores, { rule: RuleName; often: keyof typeof MIX }]
>) {
  t.test(`reports only the planted fault "${planted}" of a service`, async (t) => {
    const place = temporaryFile(t)
    const { violations } = await runScenario({
      instances: ['1'],
      settingsOf: () => ({ state: place, users: place, skewMs: 0, planted }),
      seconds: 4,
      faults: [],
      load: { journeyEveryMs: 50, mix: { [often]: 30 } },
      terms: { limitsPer: 'instance', answerWithinMs: 6000, pingWithinMs: 6000, retryWithinMs: 5000 }
    })
    t.strictSame([...new Set(violations.map((violation) => violation.rule))], [rule])
    t.ok(
      violations.every(({ evidence }) => evidence.length > 1),
      'with what was answered first and what was accepted then'
    )
    t.comment(`${violations.length} violations`)
  })
}
