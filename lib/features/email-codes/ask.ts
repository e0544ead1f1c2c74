import { OAuthError } from '../../errors.ts'
import type { MessageUser } from '../../ports/message.ts'
import type { User } from '../../ports/user-store.ts'
import { digest } from '../../protocol/digest.ts'
import type { EmailSignInDeps } from './deps.ts'
import { addressed, addressOf, type MessageCause } from '../../accounts/outbox.ts'
import { checkNewUsername, emailOf, normalizeUsername } from '../../accounts/username.ts'
import { getsCodes, ownerConnection } from '../../accounts/ways-in.ts'
import { codeFrom, digestOfCode, ownerOf, type PendingCode, shownCode } from './code.ts'

/**
 * The typed name of a person who wants a code, in its one form.
 * @throws OAuthError `invalid_request` for a text that can't be a name or one address, before anything is read or
 * counted
 */
export function readRecipient(typed: string): string {
  const name = normalizeUsername(typed.trim())
  if (name === null || (name.includes('@') && checkNewUsername(name) !== null))
    throw new OAuthError('invalid_request', 'username: The email address is not valid.', {
      field: 'username',
      reason: 'email_form'
    })
  return name
}

/**
 * Sends a code to the stored address of the user of this name, or to nobody: the steps are the same, and one code is
 * stored in either case. It ends the one before, but ends that of a known browser only from that browser. If people can
 * sign up by email, an address without a user gets a code too; nothing is created for it here.
 */
export async function sendSignInCode(
  { name, device }: Pick<PendingCode, 'name' | 'device'>,
  cause: MessageCause,
  deps: EmailSignInDeps
): Promise<PendingCode> {
  const {
    users,
    oneTimeTokens,
    clock,
    random,
    outbox,
    messageUrl,
    emailSignIn: { key, sealer, expiresInMs, link }
  } = deps
  const [nonce, code, owner] = [random.secret(), codeFrom(random.secret()), ownerOf(key, { name, device })]
  const user = await users.findByUsername(name)
  const now = clock.now()
  const expiresAt = now + expiresInMs
  await oneTimeTokens.put({
    purpose: 'sign_in_code',
    digest: digestOfCode(key, { owner, nonce, code, address: mailboxOf(name, user) }),
    userId: owner,
    expiresAt
  })
  const token = sealer.seal(JSON.stringify({ code, mark: markOf(nonce), expiresAt }), linkContext(deps))
  const recipient = recipientOf(name, user, deps)
  if (recipient !== null) {
    outbox?.post({
      kind: 'sign_in_code',
      ...cause,
      user: recipient,
      code: shownCode(code),
      ...(link ? { url: messageUrl('sign_in_code', token), token } : {}),
      expiresAt: new Date(expiresAt),
      askedAt: new Date(now),
      userAgent: cause.origin.userAgent ?? null
    })
  }
  return { name, device, nonce, expiresAt }
}

/**
 * The address that the code for this name goes to. The code is bound to it, and is refused once the account has another
 * one.
 */
export const mailboxOf = (name: string, user: User | null): string => (user === null ? name : addressOf(user))

/** Whom to write to. `null`: nobody gets a message, and the page looks the same. */
function recipientOf(
  name: string,
  user: User | null,
  { emailSignIn: { signUp }, connections }: EmailSignInDeps
): MessageUser | null {
  if (user !== null) return getsCodes(user, { connections }) ? addressed(user) : null
  return signUp && canSignUp(name, { connections }) ? { id: '', username: name, email: name } : null
}

/** True if an account that consists of an address alone may have this name. */
export function canSignUp(name: string, ways: Pick<EmailSignInDeps, 'connections'>): boolean {
  return emailOf(name) !== null && checkNewUsername(name) === null && ownerConnection(name, ways) === null
}

const linkContext = ({ issuer }: EmailSignInDeps): string => JSON.stringify(['sign-in link', issuer])

/**
 * A link carries this mark of the browser that asked for it. The mark is a digest, so a reader of the link can't pass
 * for that browser.
 */
const markOf = (nonce: string): string => digest(`sign-in link ${nonce}`)

/** The content of a link. `null`: it is no link of ours, or too old. Nothing is read from a store or used up. */
export function openLink(
  token: string,
  deps: EmailSignInDeps
): { code: string; belongsTo(pending: PendingCode): boolean } | null {
  const opened = deps.emailSignIn.sealer.open(token, linkContext(deps))
  if (opened === null) return null
  const { code, mark, expiresAt } = JSON.parse(opened) as { code: string; mark: string; expiresAt: number }
  return deps.clock.now() < expiresAt ? { code, belongsTo: ({ nonce }) => markOf(nonce) === mark } : null
}
