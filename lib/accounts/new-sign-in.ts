import type { BrowserSession } from '../ports/session-store.ts'
import type { User } from '../ports/user-store.ts'
import { canonicalAddress } from '../limits/attempt-keys.ts'
import type { Browser } from '../sessions/browser-sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { addressed } from './outbox.ts'

/** A person who signs in from one new place after another must not fill a mailbox. */
const SPACING_MS = 60 * 60 * 1000
const MAX_USER_AGENT = 256

const subjectOf = (userId: string): string[] => ['new_sign_in', userId]

/**
 * Tells of a session that has just begun in a browser in which this account never had one: by an event, and by a
 * message at most once an hour. A known browser costs nothing here; for all others nothing waits and nothing fails.
 */
export function tellOfNewSignIn(
  { user, session }: { user: User; session: BrowserSession },
  { isKnown, session: former, origin, locale }: Browser,
  { events, outbox, messageBound, background, clock, accountUrl }: AccountsDeps
): void {
  if (former?.userId === user.id || isKnown(user)) return
  events.emit('new_sign_in', { userId: user.id, sid: session.sid, reasons: ['unknown_browser'] }, origin)
  if (outbox === null) return
  const language = locale?.()
  const facts = {
    at: new Date(clock.now()),
    ip: canonicalAddress(origin.ip),
    userAgent: origin.userAgent?.slice(0, MAX_USER_AGENT) ?? null
  }
  const post = async (): Promise<void> => {
    outbox.post({
      kind: 'new_sign_in',
      user: addressed(user),
      ...(accountUrl === null ? {} : { url: accountUrl }),
      ...facts,
      locale: language,
      origin
    })
  }
  background.run(`new sign-in ${user.id}`, 'the message about a new sign-in could not be prepared', async () => {
    await messageBound.send(subjectOf(user.id), post, { spacingMs: SPACING_MS })
  })
}

/**
 * A user who has just signed up need not be told of their first sign-in, which may be in another browser: that of their
 * mail program.
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
