import { assertionCases } from './assertion-store-contract.ts'
import { authorizationCodeCases } from './authorization-code-contract.ts'
import { codeInSessionCases } from './code-in-session-contract.ts'
import { codeLifetimeCases } from './code-lifetime-contract.ts'
import { consentStoreCases } from './consent-store-contract.ts'
import { deviceCases } from './device-store-contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { keyCases } from './key-store-contract.ts'
import { oneTimeTokenCases } from './one-time-token-contract.ts'
import { ownerCases } from './owner-contract.ts'
import { rotationUndoCases } from './rotation-undo-contract.ts'
import { sessionLifetimeCases } from './session-lifetime-contract.ts'
import { sessionStoreCases } from './session-store-contract.ts'
import type { StateSubject } from './token-fixtures.ts'
import { tokenLifetimeCases } from './token-lifetime-contract.ts'
import { tokenStoreCases } from './token-store-contract.ts'

/**
 * The contract of every `State`: families and codes, one-time tokens, browser sessions, consents, keys, assertions that
 * count once, requests of devices, and its owner. `make` gives each case an empty one.
 */
export function stateContract(make: () => Promise<StateSubject>): ContractCase[] {
  return [
    tokenStoreCases,
    tokenLifetimeCases,
    rotationUndoCases,
    authorizationCodeCases,
    codeInSessionCases,
    codeLifetimeCases,
    oneTimeTokenCases,
    sessionStoreCases,
    sessionLifetimeCases,
    consentStoreCases,
    keyCases,
    assertionCases,
    deviceCases,
    ownerCases
  ].flatMap((casesOf) => casesOf(make))
}
