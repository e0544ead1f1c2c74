import { OAuthError } from '../../errors.ts'
import type { MessageUser } from '../../ports/message.ts'
import type { User } from '../../ports/user-store.ts'
import { digest } from '../../protocol/digest.ts'
import { addressed, addressOf, type MessageCause } from '../../accounts/outbox.ts'
import { checkNewUsername, emailOf, normalizeUsername } from '../../accounts/username.ts'
import { getsCodes, ownerConnection } from '../../accounts/ways-in.ts'
import type { AccountsDeps, MessageCodes } from '../../accounts/deps.ts'
import { codeFrom, digestOfCode, macOf, shownCode } from '../../accounts/message-codes.ts'
import type { Sealer } from '../../ports/cryptography.ts'

/**
 * The typed name of a person who wants a code, in its normal form.
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
 * stored in either case. It ends the code before it; the code of a known browser ends only by a request of that
 * browser. If people can sign up by email, an address without a user gets a code too; nothing is created for it here.
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
    codes: { key },
    emailSignIn: { sealer, expiresInMs, link }
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
      askedAt: new Date(now)
    })
  }
  return { name, device, nonce, expiresAt }
}

/**
 * The address that the code for this name goes to. The code is bound to it, and is refused once the account has another
 * one.
 */
export const mailboxOf = (name: string, user: User | null): string => (user === null ? name : addressOf(user))

/** The recipient. `null`: nobody gets a message, and the page looks the same. */
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

/** The content of a link. `null`: it is not one of ours, or too old. Reads no store and uses nothing up. */
export function openLink(
  token: string,
  deps: EmailSignInDeps
): { code: string; belongsTo(pending: PendingCode): boolean } | null {
  const opened = deps.emailSignIn.sealer.open(token, linkContext(deps))
  if (opened === null) return null
  const { code, mark, expiresAt } = JSON.parse(opened) as { code: string; mark: string; expiresAt: number }
  return deps.clock.now() < expiresAt ? { code, belongsTo: ({ nonce }) => markOf(nonce) === mark } : null
}

/** The sealed content of the browser that asked for a code. */
export interface PendingCode {
  /** The typed name, normalised. */
  name: string
  /**
   * The id of the browser, if the user of this name had had a session in it before they asked for the code; else
   * `null`.
   */
  device: string | null
  nonce: string
  expiresAt: number
}

/**
 * The user id that a code is stored under, with the wrong guesses at it. It is made of the name that was typed, whether
 * anybody has that name or not, and tells it to nobody without the key. A browser in which the person has had a session
 * has an owner of its own, so that no stranger replaces the code that was asked for there or uses up its guesses.
 */
export function ownerOf(key: Uint8Array, { name, device }: Pick<PendingCode, 'name' | 'device'>): string {
  return macOf(key, ['owner', name, ...(device === null ? [] : [device])])
}

/** The option `emailSignIn`, where it is set. */
export interface EmailSignInSettings {
  /** True if an address without a user can become an account. */
  signUp: boolean
  /** True if messages have a link. */
  link: boolean
  expiresInMs: number
}

/** The parts of sign-in by email, if the option `emailSignIn` is set. */
interface EmailSignIn extends EmailSignInSettings {
  /** Seals the cookie that the browser carries between asking for a code and entering it, and links. */
  sealer: Sealer
}

/** Further dependencies of the use cases. */
export type EmailSignInDeps = AccountsDeps & { codes: MessageCodes; emailSignIn: EmailSignIn }
