import t from '../../support/tap.ts'
import { type HeldFactors, noFactors, removeFactor, setTwoStep } from '../../../lib/records/factors.ts'
import { ALICE, passkey, totp } from '../../contract/suites/factor-fixtures.ts'

const held = (fields: Partial<HeldFactors> = {}): HeldFactors => ({ ...noFactors(ALICE), epoch: 7, ...fields })
const app = totp({ id: 'app', failures: 2 })
const key = passkey({ id: 'key', credentialId: 'credential', signCount: 5 })

for (const [title, before, change, outcome, after] of [
  ['on with a passkey', { passkeys: [key] }, { on: true }, 'changed', { twoStepChosen: true, codes: [] }],
  [
    'on with a passkey, and stores each code once',
    { passkeys: [key] },
    { on: true, recoveryDigests: ['a', 'a'] },
    'changed',
    { twoStepChosen: true, codes: ['a'] }
  ],
  ['on with an app', { totp: [app] }, { on: true }, 'unchanged', null],
  ['on without a factor', {}, { on: true }, 'refused', null],
  [
    'off with a passkey, and removes the codes',
    { passkeys: [key], twoStepChosen: true, codes: ['a'] },
    { on: false },
    'changed',
    { twoStepChosen: false, codes: [] }
  ],
  ['off with a passkey a second time', { passkeys: [key] }, { on: false }, 'unchanged', null],
  ['off with an app', { totp: [app], twoStepChosen: true }, { on: false }, 'refused', null]
] as const)
  t.test(`setTwoStep answers ${outcome} to turning two-step sign-in ${title}`, async (t) => {
    const given = held(structuredClone(before) as Partial<HeldFactors>)
    t.strictSame(
      setTwoStep(given, change),
      after === null ? { outcome } : { outcome, held: { ...given, ...after, codes: [...after.codes], epoch: 8 } }
    )
  })

t.test('removeFactor keeps two-step sign-in as long as a factor is left', async (t) => {
  const chosen = held({ totp: [app], passkeys: [key], twoStepChosen: true, codes: ['a'] })
  const first = removeFactor(chosen, { factorId: 'app', keepOne: false })
  t.match(first, { outcome: 'removed', held: { twoStepChosen: true, codes: ['a'] } })
  t.match(removeFactor(first.held ?? chosen, { factorId: 'key', keepOne: false }), {
    outcome: 'removed',
    held: { twoStepChosen: false, codes: [] }
  })
})
