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
  /** The user with this name, if the caller has just looked them up. */
  known?: User | null
  username: string
  password: string
  clientId: string | null
}

/**
 * Signs a user in to this browser by password. Resolves to `StepNeeded` if the user must give or set up a second factor
 * first.
 * @throws OAuthError `invalid_grant` for every refusal; `temporarily_unavailable` if the hashing queue is full
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
  /** The password that this browser has set or proved: the digest of its hash, and the time in milliseconds. */
  proof: { of: string; at: number }
  clientId: string | null
}

/**
 * Signs a user in after they opened an emailed link in the browser that had requested it. That browser must have set or
 * proved the password. A second factor is needed as after any password.
 * @returns `null` if the account has another password now, or does not allow a sign-in by password
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
