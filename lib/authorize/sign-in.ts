import { authenticatePassword, confirmAuthentic } from '../accounts/authenticate-password.ts'
import { beginSession } from '../accounts/begin-session.ts'
import { OAuthError } from '../errors.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { User } from '../ports/user-store.ts'
import { passwordProof } from '../protocol/authentication.ts'
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
 * Signs a person in in this browser: a session with a new cookie, whatever the browser had before. A session that it had goes on until
 * this succeeds.
 * @throws OAuthError `invalid_grant`, whatever is wrong; `temporarily_unavailable` where the hashing queue is full
 */
export async function signIn ({ username, password, clientId, known = null }: SignIn, browser: Browser, { accounts, browserSessions, sessions }: AuthorizeDeps): Promise<{ cookie: string, session: BrowserSession, user: User }> {
  const { origin } = browser
  const user = await authenticatePassword({ username, password, clientId, origin, known }, accounts)
  // If the password was changed or the account disabled between the check and the commit, that could not end this session.
  const begun = await beginSession({
    userId: user.id,
    methods: [passwordProof(accounts.clock.now())],
    confirm: async (sid) => await confirmAuthentic(user, password, accounts, { sid, clientId, origin })
  }, browser, { browserSessions, sessions })
  if (begun === null) throw new OAuthError('invalid_grant', 'The username or password is wrong.')
  return begun
}
