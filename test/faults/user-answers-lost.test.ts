import t from '../support/tap.ts'
import { runScenario } from './support/scenario.ts'
import { temporaryFile } from './support/standard.ts'

t.test('answers 503 when the reply to a user store write is lost, and violates no other rule', async (t) => {
  const place = temporaryFile(t)
  const { violations } = await runScenario({
    instances: ['1', '2'],
    settingsOf: () => ({ state: place, users: place, skewMs: 0, losesUserAnswer: 3 }),
    seconds: 4,
    faults: [],
    load: { journeyEveryMs: 50, mix: { resetPassword: 30 } },
    terms: { limitsPer: 'instance', answerWithinMs: 6000, pingWithinMs: 6000, retryWithinMs: 5000 }
  })
  // The terms have no fault, so the checker reports each 503.
  t.strictSame([...new Set(violations.map(({ rule }) => rule))], ['unavailable'])
  t.comment(`${violations.length} answers were lost`)
})
