/** Why an account is asked for a second factor. `null`: it is not. */
type TwoStepBecause = 'app' | 'required' | 'chosen' | null

/** What decides on it in the factors of a user. */
interface TwoStepFactors {
  totp: readonly unknown[]
  twoStepChosen: boolean
}

/**
 * Whether sign-ins of an account take a second step. A passkey does not turn that on: it verifies its user, so it is a
 * way to sign in. An app that was disabled counts, or wrong guesses could turn the second step off. `isRequired`: what
 * `mfa.required` says of the user.
 */
export function twoStepOf(
  { totp, twoStepChosen }: TwoStepFactors,
  isRequired: boolean
): { on: boolean; because: TwoStepBecause } {
  const because = totp.length > 0 ? 'app' : isRequired ? 'required' : twoStepChosen ? 'chosen' : null
  return { on: because !== null, because }
}
