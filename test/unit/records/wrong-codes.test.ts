import t from '../../support/tap.ts'
import { countFailure, type HeldFactors, noFactors, useTotp } from '../../../lib/records/factors.ts'
import { ALICE, totp } from '../../contract/suites/factor-fixtures.ts'
import { T0 } from '../../contract/suites/token-fixtures.ts'

const EMPTY = noFactors(ALICE)
const held = (fields: Partial<HeldFactors> = {}): HeldFactors => ({ ...EMPTY, epoch: 7, ...fields })
const app = totp({ id: 'app', failures: 2 })
const disabled = totp({ id: 'disabled', failures: 9, disabled: true })

t.test('counts wrong codes in known browsers separately, and forgets those browsers after max failures', async (t) => {
  const before = held({ totp: [app, disabled] })
  const counted = countFailure(before, { max: 2, isKnown: true })
  t.equal(counted.outcome, 'counted')
  t.strictSame(
    counted.held?.totp.map(({ failures, knownFailures }) => [failures, knownFailures]),
    [
      [app.failures, 1],
      [disabled.failures, 1]
    ]
  )
  const over = countFailure(counted.held ?? before, { max: 2, isKnown: true })
  t.match(over, { outcome: 'forgotten', held: { epoch: before.epoch + 1 } })
  t.strictSame(
    over.held?.totp.map((one) => [one.knownFailures, one.disabled]),
    [
      [0, false],
      [0, true]
    ],
    'it disables nothing'
  )
  t.strictSame(countFailure(EMPTY, { max: 1, isKnown: true }), { outcome: 'unknown' })
})

t.test('accepts a disabled app in a known browser without resetting the failures of other browsers', async (t) => {
  const before = held({ totp: [{ ...app, knownFailures: 5 }, disabled] })
  t.match(useTotp(before, { factorId: disabled.id, step: 999, now: T0, isKnown: true }), {
    outcome: 'used',
    held: {
      totp: [
        { failures: app.failures, knownFailures: 0 },
        { failures: disabled.failures, disabled: true }
      ]
    }
  })
})
