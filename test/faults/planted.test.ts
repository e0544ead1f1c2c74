import t from 'tap'
import { runScenario } from './support/scenario.ts'
import { temporaryFile } from './support/standard.ts'

/** The checker is tried with planted logs; this tries that a broken service leaves such a log. */
t.test('a service that forgets what it revoked is found out, and nothing else is said of it', async (t) => {
  const place = temporaryFile(t)
  const { violations } = await runScenario({
    instances: ['1', '2'],
    settingsOf: () => ({ state: place, users: place, skewMs: 0, planted: 'revokes-nothing' }),
    seconds: 4,
    faults: [],
    terms: { limitsPer: 'instance', answerWithinMs: 6000, pingWithinMs: 6000, retryWithinMs: 5000 }
  })
  t.strictSame([...new Set(violations.map(({ rule }) => rule))], ['revoked-accepted'])
  t.ok(violations.every(({ evidence }) => evidence.length > 1), 'with what was answered first and what was accepted then')
})
