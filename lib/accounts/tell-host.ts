import { withoutSecrets } from '../ports/log.ts'
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
      const { accessToken, refreshToken, idToken } = signIn.tokens
      onError(withoutSecrets(error, [accessToken, refreshToken, idToken]), `onSignIn of the connection "${id}" failed`)
    })
}
