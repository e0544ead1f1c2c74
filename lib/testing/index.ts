/**
 * `fastify-authority/testing`: the contract suites a host runs over its own stores, and helpers for its tests.
 *
 * @example
 * import { test } from 'node:test'
 * runContract(userStoreContract(async () => ({ store: await myEmptyUserStore() })), test)
 */
export { attemptStoreContract } from './attempt-store-contract.ts'
export type { AttemptStoreSubject } from './attempt-store-contract.ts'
export { authAs, sessionAs } from './auth-as.ts'
export type { AuthAsOptions, BrowserSigner, TokenIssuer } from './auth-as.ts'
export { steppedClock } from './doubles.ts'
export type { SteppedClock } from './doubles.ts'
export { runContract } from './contract.ts'
export type { Closable, ContractCase } from './contract.ts'
export { delayed } from './doubles.ts'
export { fastHasher } from './doubles.ts'
export type { FastHasher } from './doubles.ts'
export { losesAnswers } from './doubles.ts'
export type { LossOptions } from './doubles.ts'
export { capturedMessages } from './doubles.ts'
export type { CapturedMessages } from './doubles.ts'
export type { Message } from '../ports/message.ts'
export { recordStoreContract } from './record-store-contract.ts'
export type { RecordStoreSubject } from './record-fixtures.ts'
export { softPasskey, SoftPasskeyError } from './soft-passkey.ts'
export type { SoftAssertion, SoftPasskey, SoftPasskeyOptions, SoftRegistration } from './soft-passkey.ts'
export type {
  PasskeyCreationOptions,
  PasskeyDescriptor,
  PasskeyRequestOptions,
  UserVerification
} from '../protocol/webauthn-options.ts'
export { totpCode } from './doubles.ts'
export { userStoreContract } from './user-store-contract.ts'
export { IDENTITY_METHODS } from './user-fixtures.ts'
export type { OptionalUserStoreMethod, UserStoreSubject } from './user-fixtures.ts'
