/** The options of a password policy: a new option has its value for tests here alone. */
import type { PasswordPolicyOptions } from '../../lib/accounts/password-policy.ts'

export function passwordPolicyOptions(changes: Partial<PasswordPolicyOptions> = {}): PasswordPolicyOptions {
  return { minLength: 8, maxBytes: 1024, contextWords: [], isBreached: null, ...changes }
}
