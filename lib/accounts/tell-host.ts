import type { Connection, ConnectionSignIn } from '../ports/upstream.ts'
import type { AccountsDeps } from './deps.ts'

/**
 * Tells the host of a sign-in that stands. No reply waits for it, and what it throws is logged without the tokens that
 * it was given.
 */
export function tellHost(
  { id, onSignIn }: Pick<Connection, 'id' | 'onSignIn'>,
  signIn: ConnectionSignIn,
  { onError }: Pick<AccountsDeps, 'onError'>
): void {
  if (onSignIn === null) return
  const { passwordHash: _hash, ...user } = signIn.user
  Promise.resolve()
    .then(async () => {
      await onSignIn({ ...signIn, user: user as ConnectionSignIn['user'] })
    })
    .catch((error: unknown) => {
      onError(withoutTokens(error, signIn), `onSignIn of the connection "${id}" failed`)
    })
}

function withoutTokens(error: unknown, { tokens: { accessToken, refreshToken, idToken } }: ConnectionSignIn): Error {
  const scrub = (text: string): string =>
    [accessToken, refreshToken, idToken].reduce<string>(
      (rest, secret) => (secret === undefined || secret === '' ? rest : rest.replaceAll(secret, '[removed]')),
      text
    )
  const copy = new Error(scrub(error instanceof Error ? error.message : 'onSignIn failed without an Error.'))
  if (error instanceof Error && error.stack !== undefined) copy.stack = scrub(error.stack)
  return copy
}
