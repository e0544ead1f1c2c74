/** The options of a password policy, with the defaults of the settings. */
import type { PasswordPolicyOptions } from '../../lib/accounts/password-policy.ts'
import { resolvePassword } from '../../lib/settings/sections/password.ts'

export function passwordPolicyOptions(changes: Partial<PasswordPolicyOptions> = {}): PasswordPolicyOptions {
  return { ...resolvePassword(undefined), ...changes }
}
