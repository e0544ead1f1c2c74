import { isUsernameTaken, OAuthError, type OAuthErrorReason } from '../../errors.ts'
import type { CodeOutcome } from '../../ports/state.ts'
import type { NewUser, User } from '../../ports/user-store.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { Browser, BrowserSessions } from '../../sessions/browser-sessions.ts'
import { isProved, keepsFactor } from '../../accounts/address-proof.ts'
import { beginSession } from '../../accounts/begin-session.ts'
import type { SessionBegun, StepNeeded, SignInWrites } from '../../accounts/slots.ts'
import { createAndTell, creation, profileFields } from '../../accounts/register.ts'
import { canSignUp, type EmailSignInDeps, mailboxOf, ownerOf, type PendingCode } from './ask.ts'
import { digestOfCode } from '../../accounts/message-codes.ts'
import { addressOf } from '../../accounts/outbox.ts'
import { takeMailbox } from '../../accounts/sign-in-writes.ts'
import { ownerConnection } from '../../accounts/ways-in.ts'

interface SignInDeps {
  accounts: EmailSignInDeps
  browserSessions: BrowserSessions
}

interface EmailSignIn {
  pending: PendingCode
  /** Eight digits. */
  code: string
  /** The id of the only user whom the code may sign in. `undefined`: any user with the name. */
  only?: string | undefined
  clientId: string | null
  locale: string | undefined
}

const REFUSALS: Readonly<Record<Exclude<CodeOutcome, 'redeemed'>, { text: string; reason: OAuthErrorReason }>> = {
  wrong: { text: 'The code is wrong.', reason: 'email_code_wrong' },
  spent: { text: 'Too many wrong codes were entered.', reason: 'email_code_spent' },
  unknown: { text: 'The code has expired or was used already.', reason: 'email_code_again' }
}

function refusal(outcome: Exclude<CodeOutcome, 'redeemed'>): OAuthError {
  const { text, reason } = REFUSALS[outcome]
  return new OAuthError('invalid_code', text, { field: 'code', reason, withoutStack: true })
}

/**
 * Signs in the person who enters the emailed code in the browser that asked for it, or asks for the second factor. Uses
 * up the code first, so that only one of parallel calls continues. Returns `sign_up` if no user has the address and the
 * person may create an account, because the code has proved the address.
 * @throws OAuthError `invalid_code` with a reason that does not tell whether the account exists;
 * `temporarily_unavailable`
 */
export async function signInByEmail(
  { pending: { name, device, nonce }, code, only, clientId, locale }: EmailSignIn,
  browser: Browser,
  { accounts, browserSessions }: SignInDeps
): Promise<SessionBegun | StepNeeded | 'sign_up'> {
  const {
    users,
    clock,
    events,
    codes: { key, redeem },
    emailSignIn: { signUp }
  } = accounts
  const { origin } = browser
  const asker = ownerOf(key, { name, device })
  const user = await users.findByUsername(name)
  const address = mailboxOf(name, user)
  const fail = (outcome: Exclude<CodeOutcome, 'redeemed'>): OAuthError => {
    events.emit(
      'login_failed',
      { reason: 'wrong_code', ...(user === null ? {} : { userId: user.id }), username: name, sid: null, clientId },
      origin
    )
    return refusal(outcome)
  }
  const outcome = await redeem({
    purpose: 'sign_in_code',
    owner: asker,
    codeDigest: digestOfCode(key, { owner: asker, nonce, code, address }),
    now: clock.now()
  })
  if (outcome !== 'redeemed') throw fail(outcome)
  if (only !== undefined && user?.id !== only) throw fail('unknown')
  if (user === null) {
    if (signUp && canSignUp(name, accounts)) return 'sign_up'
    throw fail('unknown')
  }
  if (!isActive(user) || ownerConnection(user, accounts) !== null) throw fail('unknown')
  // An account with an unproved address may be a stranger's, so the owner of the mailbox takes it over. If a second
  // factor protects the account even from readers of the mail, the takeover waits until that factor is proved.
  const waits = !isProved(user) && (await keepsFactor(user, accounts))
  const owner = isProved(user) || waits ? user : await takeMailbox(user, { locale, origin }, accounts)
  const begun = await begin(
    owner,
    { address, clientId, ...(waits ? { writes: { takesMailbox: true } } : {}) },
    browser,
    { accounts, browserSessions }
  )
  if (begun === null) throw fail('unknown')
  return begun
}

/**
 * Begins the session, and reads the user again after the commit. `null`: the user was disabled or removed meanwhile,
 * has a different address now, or a connection manages the address now.
 */
async function begin(
  user: User,
  {
    address,
    clientId,
    isNew = false,
    writes
  }: { address: string; clientId: string | null; isNew?: boolean; writes?: SignInWrites },
  browser: Browser,
  { accounts, browserSessions }: SignInDeps
): Promise<SessionBegun | StepNeeded | null> {
  return await beginSession(
    {
      user,
      by: 'email',
      methods: [{ method: 'email', at: accounts.clock.now() }],
      clientId,
      isNew,
      writes,
      async confirm() {
        const now = await accounts.users.findById(user.id)
        return isActive(now) && addressOf(now) === address && ownerConnection(now, accounts) === null ? now : null
      }
    },
    browser,
    { accounts, browserSessions }
  )
}

interface EmailSignUp {
  /** The proved email address, which becomes the username and the email address of the new account. */
  name: string
  /** The host's own fields, checked against its schema. */
  fields: Readonly<Record<string, unknown>>
  clientId: string | null
}

/**
 * Creates an account without a password for a proved mailbox, and signs its owner in. Only one of parallel calls
 * creates the account.
 * @throws OAuthError `invalid_code` if an account with the address exists by then, or if no new account may have it
 */
export async function signUpByEmail(
  { name, fields, clientId }: EmailSignUp,
  browser: Browser,
  deps: SignInDeps
): Promise<SessionBegun | StepNeeded> {
  const { users, clock } = deps.accounts
  if (users.create === undefined || !canSignUp(name, deps.accounts)) throw refusal('unknown')
  const created: NewUser = {
    ...profileFields(fields),
    username: name,
    email: name,
    emailVerified: true,
    emailProvedAt: clock.now(),
    passwordHash: null
  }
  let user: User
  try {
    user = await createAndTell(creation(created, { ...users, create: users.create }), browser.origin, deps.accounts)
  } catch (error) {
    if (isUsernameTaken(error)) throw refusal('unknown')
    throw error
  }
  const begun = await begin(user, { address: addressOf(user), clientId, isNew: true }, browser, deps)
  if (begun === null) throw refusal('unknown')
  return begun
}
