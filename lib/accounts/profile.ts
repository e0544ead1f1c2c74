import { OWN_FIELDS } from './register.ts'

/**
 * Of the host's profile fields, those that a person may change by themselves: none that says who they are or what they
 * may.
 */
export function ownProfileFields(names: readonly string[]): string[] {
  return names.filter((name) => !OWN_FIELDS.has(name))
}

/**
 * The fields of a new account, if the provider gave all that the host requires; `null`: the person fills in the rest.
 * Fields that do not fit the schema were left out before.
 */
export function completeProfile(
  profile: Readonly<Record<string, unknown>>,
  required: readonly string[]
): Record<string, unknown> | null {
  return ownProfileFields(required).every((name) => Object.hasOwn(profile, name)) ? { ...profile } : null
}

/** The fields of a profile that an account may take: none that identifies the user or gives rights. */
export function profileFields(profile: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(profile).filter(([name, value]) => !OWN_FIELDS.has(name) && value !== undefined && value !== null)
  )
}
