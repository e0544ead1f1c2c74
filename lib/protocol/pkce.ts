import { digest, equalSecrets } from './digest.ts'

const CODE_VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** True if this can be a challenge of S256, the only method. @see RFC 7636 §4.2 */
export function isCodeChallenge(codeChallenge: string): boolean {
  return CODE_CHALLENGE.test(codeChallenge)
}

/**
 * True if the verifier proves that the token request comes from the sender of the authorization request. Both absent is
 * `true`: the authorization endpoint has checked whether PKCE is required. A verifier without a challenge is `false`:
 * an attacker removed the challenge from the authorization request, or swapped the code. Takes the same time for near
 * and far guesses.
 * @see RFC 7636 §4.1, §4.6, RFC 9700 §4.8.2
 */
export function verifyCodeChallenge(verifier: string | undefined, challenge: string | undefined): boolean {
  if (verifier === undefined || challenge === undefined) return verifier === challenge
  return CODE_VERIFIER.test(verifier) && equalSecrets(digest(verifier), challenge)
}
