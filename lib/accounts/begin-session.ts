import type { User } from '../ports/user-store.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { settled } from './sign-in-writes.ts'
import type { Commit, SessionBegun, SignIn, StepNeeded } from './slots.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import { addressed } from './outbox.ts'

interface SessionDeps {
  accounts: AccountsDeps
  browserSessions: BrowserSessions
}

/**
 * Begins the browser session of a user who has given a first factor, or lets a feature ask for a further step. Every
 * sign-in on a hosted page starts here, so that none can skip that step. A sign-in by the host's own code does not.
 * Until the last step, an existing session of the browser goes on. `null`: the first factor no longer holds.
 */
export async function beginSession(
  first: SignIn,
  browser: Browser,
  deps: SessionDeps
): Promise<SessionBegun | StepNeeded | null> {
  const begin = deps.accounts.slots.reduce<Commit>(
    (next, { afterFirstFactor }) =>
      afterFirstFactor === undefined ? next : async (given) => await afterFirstFactor(given, browser, next),
    async (given) => {
      const done = await settled(given, { locale: undefined, origin: browser.origin }, deps.accounts)
      return done === null ? null : await commitSession(done, browser, deps)
    }
  )
  return await begin(first)
}

/**
 * Commits a session after the last proof, then checks the proofs again (`confirm`). If they no longer hold, revokes the
 * session and returns `null`. If `confirm` rejects, revokes the session and rejects.
 */
export async function commitSession(
  { user, by, connection, methods, clientId, isNew, confirm }: Omit<SignIn, 'factors' | 'identity' | 'writes'>,
  browser: Browser,
  { accounts, browserSessions }: SessionDeps
): Promise<SessionBegun | null> {
  const { events, sessions } = accounts
  const { origin } = browser
  const { session, cookie } = await browserSessions.start(user.id, methods, browser)
  let confirmed: User | null = null
  try {
    confirmed = await confirm()
  } finally {
    if (confirmed === null) await sessions.revokeBrowserSession(session.userId, session.sid, 'undone', { origin })
  }
  if (confirmed === null) return null
  events.emit(
    'authenticated',
    {
      userId: user.id,
      sid: session.sid,
      clientId,
      method: by,
      methods: methods.map(({ method }) => method),
      ...(connection === undefined ? {} : { connection })
    },
    origin
  )
  if (browser.session?.userId === user.id)
    events.emit('step_up', { userId: user.id, sid: session.sid, methods: methods.map(({ method }) => method) }, origin)
  if (isNew !== true) tellOfNewSignIn({ user, session }, browser, accounts)
  return { cookie, session, user: confirmed }
}

/**
 * Sends a user at most one message about a new sign-in in this time, so that sign-ins in many new browsers do not fill
 * the mailbox.
 */
const SPACING_MS = 60 * 60 * 1000

const subjectOf = (userId: string): string[] => ['new_sign_in', userId]

/**
 * Reports a new session in a browser that is not known to have had a session of this account with the present password:
 * emits an event, and sends the user at most one message an hour. Sends the message in the background, so that it
 * neither delays nor fails the sign-in.
 */
function tellOfNewSignIn(
  { user, session }: { user: User; session: BrowserSession },
  { isKnown, session: former, origin, locale }: Browser,
  { events, outbox, messageBound, background, accountUrl }: AccountsDeps
): void {
  if (former?.userId === user.id || isKnown(user)) return
  events.emit('new_sign_in', { userId: user.id, sid: session.sid, reasons: ['unknown_browser'] }, origin)
  if (outbox === null) return
  const language = locale?.()
  const post = async (): Promise<void> => {
    outbox.post({
      kind: 'new_sign_in',
      user: addressed(user),
      ...(accountUrl === null ? {} : { url: accountUrl }),
      locale: language,
      origin
    })
  }
  background.run(`new sign-in ${user.id}`, 'the message about a new sign-in could not be prepared', async () => {
    await messageBound.send(subjectOf(user.id), post, { spacingMs: SPACING_MS })
  })
}

/**
 * Suppresses the message about a new sign-in for an hour, for a user who has just signed up. Their first sign-in may be
 * in another browser, such as that of their mail program.
 */
export function expectSignIn(
  userId: string,
  { outbox, messageBound, background }: Pick<AccountsDeps, 'outbox' | 'messageBound' | 'background'>
): void {
  if (outbox === null) return
  background.run(`new sign-in ${userId}`, 'a first sign-in could not be announced', async () => {
    await messageBound.send(subjectOf(userId), async () => {}, { spacingMs: SPACING_MS })
  })
}
