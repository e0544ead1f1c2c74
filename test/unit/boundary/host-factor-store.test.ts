import t from '../../support/tap.ts'
import { memoryFactorStore } from '../../../lib/adapters/memory/record-store.ts'
import { hostFactorStore } from '../../../lib/boundary/host-factor-store.ts'
import { MisfitError } from '../../../lib/errors.ts'
import { isOutage } from '../../../lib/ports/outage.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'
import {
  ALICE,
  codesOf,
  digestOf,
  handleOf,
  NOTHING,
  passkey,
  passkeyAddition,
  passkeyUse,
  totp,
  totpAddition,
  totpUse
} from '../../contract/suites/factor-fixtures.ts'
import { countingClock } from './counting-clock.ts'

/** A guarded store whose methods give these answers. */
const answering = (answers: Record<string, unknown>): FactorStore =>
  hostFactorStore(
    {
      ...memoryFactorStore(),
      ...Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, async () => answer]))
    },
    steppedClock()
  )

/** Each method with a call and a correct answer of the store. */
const CALLS: ReadonlyArray<
  readonly [name: keyof FactorStore, call: (store: FactorStore) => Promise<unknown>, right: unknown]
> = [
  ['findFactors', (store) => store.findFactors(ALICE), NOTHING],
  [
    'findByHandle',
    (store) => store.findByHandle(handleOf('a'), 'credential-1'),
    { userId: ALICE, passkey: passkey(), factors: { ...NOTHING, handle: handleOf('a'), passkeys: [passkey()] } }
  ],
  ['claimHandle', (store) => store.claimHandle(ALICE, handleOf('a')), handleOf('a')],
  ['addTotp', (store) => store.addTotp(totpAddition()), { outcome: 'added', codesStored: true }],
  ['addPasskey', (store) => store.addPasskey(passkeyAddition()), { outcome: 'full' }],
  ['useTotp', (store) => store.useTotp(totpUse()), 'used'],
  ['usePasskey', (store) => store.usePasskey(passkeyUse()), { outcome: 'used', regressed: false }],
  [
    'useRecoveryCode',
    (store) => store.useRecoveryCode({ userId: ALICE, digest: digestOf('a') }),
    { outcome: 'used', left: 9 }
  ],
  ['replaceRecoveryCodes', (store) => store.replaceRecoveryCodes(ALICE, codesOf('a')), true],
  ['setTwoStep', (store) => store.setTwoStep({ userId: ALICE, on: true }), 'refused'],
  ['countFailure', (store) => store.countFailure({ userId: ALICE, max: 100 }), 'counted'],
  ['removeFactor', (store) => store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: true }), 'last'],
  ['renameFactor', (store) => store.renameFactor({ userId: ALICE, factorId: 'totp-1', name: 'x' }), false],
  ['forgetDevices', (store) => store.forgetDevices(ALICE), 7],
  ['removeFactorsOfUser', (store) => store.removeFactorsOfUser(ALICE), 2]
]

t.test('calls the method of the store with the store as this, and returns its answer', async (t) => {
  for (const [name, call, right] of CALLS) {
    const seen: unknown[] = []
    const host = {
      ...memoryFactorStore(),
      async [name](...args: unknown[]) {
        seen.push(this, args.length)
        return right
      }
    }
    t.strictSame(await call(hostFactorStore(host as unknown as FactorStore, steppedClock())), right, name)
    t.equal(seen[0], host, name)
  }
  const { kind, durable } = hostFactorStore({ ...memoryFactorStore(), kind: 'theirs', durable: true }, steppedClock())
  t.strictSame([kind, durable], ['theirs', true])
})

t.test('reports an outage after five seconds when the store hangs, and leaves no timer', async (t) => {
  const clock = countingClock()
  const never = async (): Promise<never> => await new Promise<never>(() => {})
  const store = hostFactorStore(
    Object.fromEntries(CALLS.map(([name]) => [name, never])) as unknown as FactorStore,
    clock
  )
  const results = Promise.allSettled(CALLS.map(async ([, call]) => await call(store)))
  clock.step(4999)
  t.equal(clock.waiting(), CALLS.length)
  clock.step(1)
  t.ok((await results).every((result) => result.status === 'rejected' && isOutage(result.reason)))
  t.equal(clock.waiting(), 0)
})

t.test('passes errors of the store through', async (t) => {
  const error = new Error('connection refused')
  for (const [name, call] of CALLS)
    await t.rejects(
      call(
        hostFactorStore(
          {
            ...memoryFactorStore(),
            [name]: async () => {
              throw error
            }
          },
          steppedClock()
        )
      ),
      error
    )
})

t.test('rejects a malformed answer, and a missing one from a method other than findByHandle', async (t) => {
  for (const [name, call] of CALLS) {
    for (const answer of [
      undefined,
      null,
      '',
      'not one',
      [],
      {},
      1.5,
      -1,
      new Map(),
      { outcome: 'others' },
      { outcome: 'added' },
      [NOTHING]
    ]) {
      if (name === 'findByHandle' && (answer === undefined || answer === null))
        t.equal(await call(answering({ [name]: answer })), null)
      else await t.rejects(call(answering({ [name]: answer })), MisfitError, name)
    }
  }
})

t.test('checks each field of the factors, and names the field but no value in the error', async (t) => {
  const SECRET = 'canary'
  const find = async (fields: object): Promise<unknown> =>
    await answering({ findFactors: { ...NOTHING, ...fields } }).findFactors(ALICE)
  const rejects = async (fields: object, field: string): Promise<void> => {
    const error = await find(fields).then(
      () => null,
      (error: unknown) => error
    )
    t.match(
      error,
      { name: 'MisfitError', code: 'FST_AUTHORITY_STORE_MISFIT', source: 'factors.findFactors', field },
      field
    )
    t.notMatch(String(error), SECRET)
  }
  for (const [field, wrong] of Object.entries({
    handle: 'with space',
    totp: null,
    passkeys: {},
    recoveryCodesLeft: '3',
    twoStepChosen: 1,
    deviceEpoch: 1.5
  }))
    await rejects({ [field]: wrong }, field)
  for (const [field, wrong] of Object.entries({
    id: '',
    sealedSecret: { SECRET },
    lastStep: 1n,
    failures: -1,
    disabled: 'false',
    name: 7,
    createdAt: new Date(),
    lastUsedAt: '5'
  })) {
    await rejects({ totp: [totp(), { ...totp(), [field]: wrong }] }, `totp[1].${field}`)
  }
  for (const [field, wrong] of Object.entries({
    id: null,
    credentialId: `${SECRET}=`,
    publicKey: new Uint8Array(3),
    alg: '-7',
    signCount: null,
    transports: '["usb"]',
    backupEligible: 1,
    backedUp: undefined,
    uvInitialized: 'yes',
    aaguid: 7,
    rpId: '',
    name: [],
    createdAt: null,
    lastUsedAt: NaN
  })) {
    await rejects({ passkeys: [{ ...passkey(), [field]: wrong }] }, `passkeys[0].${field}`)
  }
  await rejects({ totp: ['text'] }, 'totp[0]')
})

t.test('accepts a row with extra fields or without nullable fields', async (t) => {
  const { name: _name, lastUsedAt: _used, ...app } = totp()
  t.strictSame(
    await answering({
      findFactors: {
        totp: [{ ...app, user_id: 7 }],
        passkeys: [],
        recoveryCodesLeft: 0,
        twoStepChosen: false,
        deviceEpoch: 1
      }
    }).findFactors(ALICE),
    { ...NOTHING, totp: [totp({ name: null })], deviceEpoch: 1 }
  )
})

t.test('rejects an answer about another user in a lookup by handle', async (t) => {
  const found = {
    userId: ALICE,
    passkey: passkey(),
    factors: { ...NOTHING, handle: handleOf('a'), passkeys: [passkey()] }
  }
  for (const [answer, field] of [
    [{ ...found, passkey: passkey({ credentialId: 'another' }) }, 'passkey.credentialId'],
    [{ ...found, factors: { ...found.factors, handle: handleOf('b') } }, 'factors.handle'],
    [{ ...found, factors: NOTHING }, 'factors.handle'],
    [{ ...found, userId: 7 }, 'userId'],
    [{ ...found, passkey: null }, 'passkey'],
    [{ ...found, factors: undefined }, 'factors']
  ] as const)
    await t.rejects(answering({ findByHandle: answer }).findByHandle(handleOf('a'), 'credential-1'), {
      name: 'MisfitError',
      field
    })
})

t.test('does not query the store for ids that it could not hold', async (t) => {
  const store = answering({
    findByHandle: 'asked',
    usePasskey: 'asked',
    useTotp: 'asked',
    removeFactor: 'asked',
    renameFactor: 'asked'
  })
  for (const text of ['', 'a\0b', '\ud800', 'a b', 'a=', 'x'.repeat(1365)]) {
    t.equal(await store.findByHandle(text, 'credential-1'), null)
    t.equal(await store.findByHandle(handleOf('a'), text), null)
    t.strictSame(await store.usePasskey(passkeyUse({ credentialId: text })), { outcome: 'unknown' })
  }
  for (const factorId of ['', 'a\0b', '\ud800', 'x'.repeat(10_001)]) {
    t.equal(await store.useTotp(totpUse({ factorId })), 'unknown')
    t.equal(await store.removeFactor({ userId: ALICE, factorId, keepOne: false }), 'unknown')
    t.equal(await store.renameFactor({ userId: ALICE, factorId, name: 'x' }), false)
  }
})
