import t from '../../support/tap.ts'
import type { HeldFactors } from '../../../lib/records/factors.ts'
import {
  addFactor,
  byHandle,
  claimHandle,
  countFailure,
  forgetDevices,
  noFactors,
  publicFactors,
  removeFactor,
  removeFactors,
  renameFactor,
  replaceRecoveryCodes,
  usePasskey,
  useRecoveryCode,
  useTotp
} from '../../../lib/records/factors.ts'
import { ALICE, NOTHING, passkey, totp } from '../../contract/suites/factor-fixtures.ts'
import { T0 } from '../../contract/suites/token-fixtures.ts'

const EMPTY = noFactors(ALICE)
const held = (fields: Partial<HeldFactors> = {}): HeldFactors => ({ ...EMPTY, epoch: 7, ...fields })
const app = totp({ id: 'app', failures: 2 })
const other = totp({ id: 'other', failures: 1 })
const disabled = totp({ id: 'disabled', failures: 9, disabled: true })
const key = passkey({ id: 'key', credentialId: 'credential', signCount: 5 })

t.test('returns no factors of a new user, and writes nothing if there are none to remove', async (t) => {
  t.strictSame(publicFactors(EMPTY), NOTHING)
  t.strictSame(removeFactors(EMPTY), { outcome: 0 })
})

t.test('publicFactors returns the number of recovery codes, and not the codes', async (t) => {
  t.strictSame(publicFactors(held({ handle: 'handle', totp: [app], passkeys: [key], codes: ['a', 'b'] })), {
    handle: 'handle',
    totp: [app],
    passkeys: [key],
    recoveryCodesLeft: 2,
    twoStepChosen: false,
    deviceEpoch: 7
  })
})

t.test('byHandle finds a passkey only by the handle of its user', async (t) => {
  const alice = held({ handle: 'handle', passkeys: [key] })
  t.strictSame(byHandle(alice, 'handle', 'credential'), { userId: ALICE, passkey: key, factors: publicFactors(alice) })
  t.equal(byHandle(alice, 'other', 'credential'), null)
  t.equal(byHandle(alice, 'handle', 'other'), null)
  t.equal(byHandle(held({ passkeys: [key] }), '', 'credential'), null)
})

t.test('claimHandle keeps the first handle of a user', async (t) => {
  t.strictSame(claimHandle(EMPTY, 'first'), { outcome: 'first', held: { ...EMPTY, handle: 'first' } })
  t.strictSame(claimHandle(held({ handle: 'first' }), 'second'), { outcome: 'first' })
})

t.test('addFactor appends a factor and increments the device epoch', async (t) => {
  t.strictSame(addFactor(held({ totp: [app] }), { factor: other, limit: 2 }), {
    outcome: { outcome: 'added', codesStored: false },
    held: held({ totp: [app, other], epoch: 8 })
  })
  t.strictSame(addFactor(EMPTY, { factor: key, limit: 1 }), {
    outcome: { outcome: 'added', codesStored: false },
    held: { ...EMPTY, passkeys: [key], epoch: 1 }
  })
})

for (const [title, codes, digests, stored, left] of [
  ['stores recovery codes if the user has none', [], ['a', 'b'], true, ['a', 'b']],
  ['stores each recovery code once', [], ['a', 'a'], true, ['a']],
  ['keeps existing recovery codes', ['z'], ['a', 'b'], false, ['z']],
  ['stores no recovery codes if none are given', [], [], false, []]
] as const)
  t.test(`addFactor ${title}`, async (t) => {
    const added = addFactor(held({ codes: [...codes] }), { factor: app, limit: 5, recoveryDigests: digests })
    t.strictSame(added.outcome, { outcome: 'added', codesStored: stored })
    t.strictSame(added.held?.codes, left)
  })

for (const [title, factor, limit, outcome] of [
  ['an app with the id of an app', totp({ id: 'app' }), 5, 'duplicate'],
  ['an app with the id of a passkey', totp({ id: 'key' }), 5, 'duplicate'],
  ['a passkey with the id of an app', passkey({ id: 'app', credentialId: 'new' }), 5, 'duplicate'],
  ['a passkey with the credential of another', passkey({ id: 'new', credentialId: 'credential' }), 5, 'duplicate'],
  ['a duplicate at the limit', totp({ id: 'app' }), 1, 'duplicate'],
  ['an app beyond the limit', totp({ id: 'new' }), 1, 'full'],
  ['a passkey beyond the limit', passkey({ id: 'new', credentialId: 'new' }), 1, 'full'],
  ['an app with a limit of 0', totp({ id: 'new' }), 0, 'full']
] as const)
  t.test(`addFactor refuses ${title}`, async (t) => {
    const before = held({ totp: [app], passkeys: [key] })
    t.strictSame(addFactor(before, { factor, limit, recoveryDigests: ['a'] }), { outcome: { outcome } })
  })

t.test('addFactor copies the given factor', async (t) => {
  const given = passkey()
  const added = addFactor(EMPTY, { factor: given, limit: 1 })
  given.transports.push('usb')
  t.strictSame(added.held?.passkeys, [passkey()])
})

t.test('useTotp accepts a newer step, and resets the failures of every enabled app', async (t) => {
  const use = { factorId: 'app', step: 101, now: T0 }
  t.strictSame(useTotp(held({ totp: [app, other, disabled] }), use), {
    outcome: 'used',
    held: held({
      totp: [{ ...app, failures: 0, lastStep: 101, lastUsedAt: T0 }, { ...other, failures: 0 }, disabled]
    })
  })
  const sealed = useTotp(held({ totp: [app] }), { ...use, sealedSecret: 'sealed-2' })
  t.equal(sealed.held?.totp[0]?.sealedSecret, 'sealed-2')
})

for (const [factorId, step, outcome] of [
  ['app', 100, 'replayed'],
  ['app', 99, 'replayed'],
  ['disabled', 101, 'disabled'],
  ['disabled', 1, 'disabled'],
  ['key', 101, 'unknown'],
  ['', 101, 'unknown']
] as const)
  t.test(`useTotp with step ${step} of "${factorId}" returns ${outcome} and changes nothing`, async (t) => {
    const before = held({ totp: [app, disabled], passkeys: [key] })
    t.strictSame(useTotp(before, { factorId, step, now: T0, sealedSecret: 'sealed-2' }), { outcome })
  })

for (const [title, apps, max, outcome, after] of [
  ['adds a failure to each enabled app', [app, other], 4, 'counted', [3, 2]],
  ['disables an app that reaches max failures', [app, other], 3, 'disabled', [3, 2]],
  ['skips an app that is disabled', [disabled, app], 4, 'counted', [9, 3]],
  ['disables both apps if both reach max failures', [app, other], 1, 'disabled', [3, 2]]
] as const)
  t.test(`countFailure ${title}`, async (t) => {
    const counted = countFailure(held({ totp: [...apps] }), { max })
    t.equal(counted.outcome, outcome)
    t.strictSame(
      counted.held?.totp.map(({ failures }) => failures),
      after
    )
    t.strictSame(
      counted.held?.totp.map((one) => one.disabled),
      counted.held?.totp.map(({ id, failures }) => id === 'disabled' || failures >= max)
    )
  })

t.test('countFailure returns unknown without an enabled app', async (t) => {
  t.strictSame(countFailure(EMPTY, { max: 1 }), { outcome: 'unknown' })
  t.strictSame(countFailure(held({ totp: [disabled], passkeys: [key] }), { max: 1 }), { outcome: 'unknown' })
})

for (const [stored, given, backupEligible, outcome, regressed] of [
  [0, 0, false, 'used', false],
  [0, 1, false, 'used', false],
  [5, 6, false, 'used', false],
  [5, 5, false, 'regressed'],
  [5, 0, false, 'regressed'],
  [5, 5, true, 'used', true],
  [5, 0, true, 'used', true]
] as const)
  t.test(
    `usePasskey answers ${outcome} for counter ${given} after ${stored}${backupEligible ? ' of a synced passkey' : ''}`,
    async (t) => {
      const stays = passkey({ id: 'stays', credentialId: 'stays' })
      const before = held({ passkeys: [{ ...key, signCount: stored, backupEligible }, stays] })
      const use = { credentialId: 'credential', signCount: given, backedUp: true, now: T0 }
      t.strictSame(
        usePasskey(before, false, use),
        outcome === 'regressed'
          ? { outcome: { outcome } }
          : {
              outcome: { outcome, regressed },
              held: held({
                passkeys: [{ ...key, signCount: given, backupEligible, backedUp: true, lastUsedAt: T0 }, stays]
              })
            }
      )
    }
  )

t.test('usePasskey reports an unknown credential before a replay, and a replay before a regression', async (t) => {
  const use = { credentialId: 'credential', signCount: 5, backedUp: false, now: T0 }
  t.strictSame(usePasskey(held({ passkeys: [key] }), true, use), { outcome: { outcome: 'replayed' } })
  t.strictSame(usePasskey(held({ passkeys: [key] }), true, { ...use, credentialId: 'key' }), {
    outcome: { outcome: 'unknown' }
  })
})

t.test('useRecoveryCode accepts a code once', async (t) => {
  t.strictSame(useRecoveryCode(held({ codes: ['a', 'b', 'c'] }), 'b'), {
    outcome: { outcome: 'used', left: 2 },
    held: held({ codes: ['a', 'c'] })
  })
  t.strictSame(useRecoveryCode(held({ codes: ['a', 'c'] }), 'b'), { outcome: { outcome: 'unknown' } })
})

t.test('replaceRecoveryCodes requires a factor of any kind, even a disabled one', async (t) => {
  t.strictSame(replaceRecoveryCodes(held(), ['a']), { outcome: false })
  for (const factors of [{ totp: [disabled] }, { passkeys: [key] }])
    t.strictSame(replaceRecoveryCodes(held({ ...factors, codes: ['z'] }), ['a', 'b', 'a']), {
      outcome: true,
      held: held({ ...factors, codes: ['a', 'b'] })
    })
})

t.test('removeFactor removes one factor of either kind and increments the device epoch', async (t) => {
  const before = held({ totp: [app, other], passkeys: [key], codes: ['a'] })
  t.strictSame(removeFactor(before, { factorId: 'app', keepOne: true }), {
    outcome: 'removed',
    held: { ...before, totp: [other], epoch: 8 }
  })
  t.strictSame(removeFactor(before, { factorId: 'key', keepOne: true }), {
    outcome: 'removed',
    held: { ...before, passkeys: [], epoch: 8 }
  })
  t.strictSame(removeFactor(before, { factorId: 'credential', keepOne: false }), { outcome: 'unknown' })
})

t.test('removeFactor removes the recovery codes with the last factor, and keeps the handle', async (t) => {
  const before = held({ handle: 'handle', passkeys: [key], codes: ['a'] })
  t.strictSame(removeFactor(before, { factorId: 'key', keepOne: true }), { outcome: 'last' })
  t.strictSame(removeFactor(before, { factorId: 'key', keepOne: false }), {
    outcome: 'removed',
    held: held({ handle: 'handle', epoch: 8 })
  })
})

t.test('removeFactor with keepOne keeps the last enabled factor', async (t) => {
  const before = held({ totp: [disabled], passkeys: [key], codes: ['a'] })
  t.strictSame(removeFactor(before, { factorId: 'key', keepOne: true }), { outcome: 'last' })
  t.strictSame(removeFactor(before, { factorId: 'disabled', keepOne: true }), {
    outcome: 'removed',
    held: { ...before, totp: [], epoch: 8 }
  })
  t.strictSame(removeFactor(before, { factorId: 'key', keepOne: false }), {
    outcome: 'removed',
    held: { ...before, passkeys: [], epoch: 8 }
  })
})

t.test('renameFactor renames one factor of either kind, and keeps the device epoch', async (t) => {
  const before = held({ totp: [app], passkeys: [key] })
  t.strictSame(renameFactor(before, { factorId: 'app', name: null }), {
    outcome: true,
    held: { ...before, totp: [{ ...app, name: null }] }
  })
  t.strictSame(renameFactor(before, { factorId: 'key', name: 'new' }), {
    outcome: true,
    held: { ...before, passkeys: [{ ...key, name: 'new' }] }
  })
  t.strictSame(renameFactor(before, { factorId: 'none', name: 'new' }), { outcome: false })
})

t.test('forgetDevices increments the device epoch, with and without factors', async (t) => {
  t.strictSame(forgetDevices(EMPTY), { outcome: 1, held: { ...EMPTY, epoch: 1 } })
  t.strictSame(forgetDevices(held({ totp: [app] })), { outcome: 8, held: held({ totp: [app], epoch: 8 }) })
})

t.test('removeFactors keeps the handle and increments the device epoch', async (t) => {
  const before = held({ handle: 'handle', totp: [app, disabled], passkeys: [key], codes: ['a'] })
  t.strictSame(removeFactors(before), { outcome: 3, held: held({ handle: 'handle', epoch: 8 }) })
  t.strictSame(removeFactors({ ...EMPTY, handle: 'handle' }), {
    outcome: 0,
    held: { ...EMPTY, handle: 'handle', epoch: 1 }
  })
})
