import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import {
  ALICE,
  codesOf,
  digestOf,
  handleOf,
  passkeyAddition,
  passkeyUse,
  totp,
  totpAddition,
  totpUse
} from '../suites/factor-fixtures.ts'

/** Every operation, in an order in which each has work to do, with each outcome that takes another path. */
export const factorOperations = (
  store: FactorStore
): ReadonlyArray<readonly [name: string, call: () => Promise<unknown>]> => [
  ['claimHandle', () => store.claimHandle(ALICE, handleOf('a'))],
  ['addTotp', () => store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))],
  ['addTotp, full', () => store.addTotp(totpAddition({ factor: totp({ id: 'totp-2' }), limit: 1 }))],
  ['addPasskey', () => store.addPasskey(passkeyAddition())],
  ['addPasskey, duplicate', () => store.addPasskey(passkeyAddition())],
  ['findFactors', () => store.findFactors(ALICE)],
  ['findByHandle', () => store.findByHandle(handleOf('a'), 'credential-1')],
  ['useTotp', () => store.useTotp(totpUse({ sealedSecret: 'sealed-2' }))],
  ['useTotp, replayed', () => store.useTotp(totpUse())],
  ['usePasskey', () => store.usePasskey(passkeyUse())],
  ['usePasskey, replayed', () => store.usePasskey(passkeyUse())],
  ['useRecoveryCode', () => store.useRecoveryCode({ userId: ALICE, digest: digestOf('a 0') })],
  ['replaceRecoveryCodes', () => store.replaceRecoveryCodes(ALICE, codesOf('b'))],
  ['setTwoStep, unchanged', () => store.setTwoStep({ userId: ALICE, on: true })],
  ['setTwoStep, refused', () => store.setTwoStep({ userId: ALICE, on: false })],
  ['countFailure', () => store.countFailure({ userId: ALICE, max: 100 })],
  ['renameFactor', () => store.renameFactor({ userId: ALICE, factorId: 'totp-1', name: 'x' })],
  ['forgetDevices', () => store.forgetDevices(ALICE)],
  ['removeFactor', () => store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: true })],
  ['removeFactor, last', () => store.removeFactor({ userId: ALICE, factorId: 'passkey-1', keepOne: true })],
  ['removeProvisional', () => store.removeProvisional(ALICE)],
  ['setTwoStep', () => store.setTwoStep({ userId: ALICE, on: true, recoveryDigests: codesOf('c') })],
  ['removeFactorsOfUser', () => store.removeFactorsOfUser(ALICE)]
]

const NO_OPERATIONS = ['kind', 'durable', 'prepare', 'pending', 'sweep', 'isAppendOnly', 'keepSeal']

/** The methods of the store that the list lacks. */
export const leftOut = (store: FactorStore): string[] =>
  Object.keys(store).filter(
    (name) =>
      !NO_OPERATIONS.includes(name) && !factorOperations(store).some(([operation]) => operation.split(',')[0] === name)
  )
