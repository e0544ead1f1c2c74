import { digest, equalSecrets } from './digest.ts'

const CODE_VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** Whether this can be a challenge of S256, the only method. @see RFC 7636 §4.2 */
export function isCodeChallenge(codeChallenge: string): boolean {
  return CODE_CHALLENGE.test(codeChallenge)
}

/**
 * Whether the verifier of a token request proves that it comes from where the authorization request did. Both absent is
 * `true`: whether PKCE is required was checked at the authorization endpoint. A verifier without a challenge is
 * `false`: somebody took the challenge out of the authorization request, or swapped the code. The time it takes doesn't
 * tell how near a guess is.
 * @see RFC 7636 §4.1, §4.6, RFC 9700 §4.8.2
 */
export function verifyCodeChallenge(verifier: string | undefined, challenge: string | undefined): boolean {
  if (verifier === undefined || challenge === undefined) return verifier === challenge
  return CODE_VERIFIER.test(verifier) && equalSecrets(digest(verifier), challenge)
}
