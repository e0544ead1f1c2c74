/**
 * True if the signature counter of an authenticator counts but did not grow, which may be the sign of a copy. A counter
 * that is 0 before and after does not count.
 * @see W3C WebAuthn Level 3 §7.2, verification of signCount
 */
export function hasRegressed(stored: number, given: number): boolean {
  return given <= stored && stored !== 0
}
