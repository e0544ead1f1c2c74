import { confirmAuthentic, failureOf, proveByPassword } from '../accounts/authenticate-password.ts'
import { beginSession } from '../accounts/begin-session.ts'
import type { SessionBegun, StepNeeded } from '../accounts/slots.ts'
import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { passwordProof } from '../protocol/authentication.ts'
import { digest } from '../protocol/digest.ts'
import type { Browser } from '../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from './deps.ts'

interface SignIn {
  /** The user of this name, where they have just been looked up. */
  known?: User | null
  username: string
  password: string
  clientId: string | null
}

/**
 * Signs a person in in this browser by their password, or has the second factor asked for.
 * @throws OAuthError `invalid_grant`, whatever is wrong; `temporarily_unavailable` where the hashing queue is full
 */
export async function signIn(
  { username, password, clientId, known = null }: SignIn,
  browser: Browser,
  deps: AuthorizeDeps
): Promise<SessionBegun | StepNeeded> {
  const { accounts } = deps
  const { origin } = browser
  const { user, factors } = await proveByPassword({ username, password, clientId, origin, known }, accounts)
  const begun = await beginSession(
    {
      user,
      by: 'password',
      methods: [passwordProof(accounts.clock.now())],
      clientId,
      factors,
      confirm: async () => await confirmAuthentic(user, password, accounts, { clientId, origin })
    },
    browser,
    deps
  )
  if (begun === null) throw new OAuthError('invalid_grant', 'The username or password is wrong.')
  return begun
}

interface LinkSignIn {
  userId: string
  /** The digest of the password hash that the browser has chosen or proved, and when. */
  proof: { of: string; at: number }
  clientId: string | null
}

/**
 * Signs in the person who opened a link of a message in the browser that asked for it, where that browser knows the
 * password. Asks for the second factor as after any password.
 * @returns `null` if the account has another password now, or does not let its password sign in
 */
export async function signInByLink(
  { userId, proof, clientId }: LinkSignIn,
  browser: Browser,
  deps: AuthorizeDeps
): Promise<SessionBegun | StepNeeded | null> {
  const { accounts } = deps
  const confirm = async (): Promise<User | null> => {
    const user = await accounts.users.findById(userId)
    const holds = failureOf(user, 'match', accounts) === null && digest(user?.passwordHash ?? '') === proof.of
    return holds ? user : null
  }
  const user = await confirm()
  if (user === null) return null
  return await beginSession(
    { user, by: 'password', methods: [passwordProof(proof.at)], clientId, confirm },
    browser,
    deps
  )
}
