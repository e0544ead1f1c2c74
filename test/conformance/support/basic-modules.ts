import { CLAIMS_MODULES } from './modules-claims.ts'
import { FLOW_MODULES, type Module } from './modules-flow.ts'
import { GRANT_MODULES } from './modules-grants.ts'
import { REQUEST_MODULES } from './modules-requests.ts'
import { SESSION_MODULES } from './modules-session.ts'

/**
 * The modules of the plans `oidcc-basic-certification-test-plan` and `oidcc-formpost-basic-certification-test-plan`.
 */
export const BASIC_MODULES: Readonly<Record<string, Module>> = {
  ...FLOW_MODULES,
  ...CLAIMS_MODULES,
  ...SESSION_MODULES,
  ...REQUEST_MODULES,
  ...GRANT_MODULES
}

/** Warnings of the suite that we live with, each with the reason. */
export const ACCEPTED_WARNINGS: Readonly<Record<string, string>> = {
  'oidcc-ensure-request-with-acr-values-succeeds':
    'only where the request asks for values that acr_values_supported does not hold: the ID ' +
    'token says the acr that there was, "password"'
}
