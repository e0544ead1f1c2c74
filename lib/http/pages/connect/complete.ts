import { ownProfileFields } from '../../../accounts/profile.ts'
import type { Registration } from '../../edge/registration.ts'

/** The fields of a new account, if the provider said all that the host requires; `null`: the person fills in the rest. What does not fit its schema was left out before. */
export function completeProfile (profile: Readonly<Record<string, unknown>>, registration: Registration | null): Record<string, unknown> | null {
  const required = ownProfileFields(registration?.fields.required ?? [])
  return required.every((name) => profile[name] !== undefined) ? { ...profile } : null
}
