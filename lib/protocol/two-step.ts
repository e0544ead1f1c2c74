/** Why an account is asked for a second factor. `null`: it is not. */
type TwoStepBecause = 'app' | 'required' | 'chosen' | null

/** The fields of a user's factors that decide on the second step. */
interface TwoStepFactors {
  totp: readonly unknown[]
  twoStepChosen: boolean
}

/**
 * True if sign-ins of an account take a second step. A passkey does not turn that on: it verifies its user, so it is a
 * way to sign in. A disabled app counts, because otherwise wrong guesses could turn the second step off. `isRequired`:
 * the answer of `mfa.required` for the user.
 */
export function twoStepOf(
  { totp, twoStepChosen }: TwoStepFactors,
  isRequired: boolean
): { on: boolean; because: TwoStepBecause } {
  const because = totp.length > 0 ? 'app' : isRequired ? 'required' : twoStepChosen ? 'chosen' : null
  return { on: because !== null, because }
}
