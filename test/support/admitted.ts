import type { AdmittedScopes } from '../../lib/protocol/scope.ts'

/** Scopes for a token that a test makes itself, without the question of the grants. */
export const admittedFor = (scope: string): AdmittedScopes => scope.split(' ') as readonly string[] as AdmittedScopes
