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
 * Normalizes the username or email address that a person typed to get a code. Reads no store.
 * @throws OAuthError `invalid_request` for a text that can't be a username, or has an `@` but is no email address
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
 * Stores a code for this name and sends it to the email address of the user. For an unknown name, or a user who gets no
 * codes, takes the same steps but sends no message, so that the caller can't tell whether the account exists. With
 * `signUp`, an address that may become a new account gets a message too. A new code replaces the former one. The code
 * of a known browser is replaced only by a request of that browser.
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
 * Returns the email address that gets the code for this name. `''`: the user has none. Without a user, returns the
 * name. The code is bound to the address, so it stops working if the account changes its address.
 */
export const mailboxOf = (name: string, user: User | null): string => (user === null ? name : addressOf(user))

/** Returns the recipient of the message. `null`: sends no message, and the page looks the same. */
function recipientOf(
  name: string,
  user: User | null,
  { emailSignIn: { signUp }, connections }: EmailSignInDeps
): MessageUser | null {
  if (user !== null) return getsCodes(user, { connections }) ? addressed(user) : null
  return signUp && canSignUp(name, { connections }) ? { id: '', username: name, email: name } : null
}

/** True if a new account may have this email address as its username, and no connection manages the address. */
export function canSignUp(name: string, ways: Pick<EmailSignInDeps, 'connections'>): boolean {
  return emailOf(name) !== null && checkNewUsername(name) === null && ownerConnection(name, ways) === null
}

const linkContext = ({ issuer }: EmailSignInDeps): string => JSON.stringify(['sign-in link', issuer])

/**
 * Computes the mark in a link that identifies the browser that asked for it. The mark is a digest of the browser's
 * nonce, so a reader of the link can't impersonate that browser.
 */
const markOf = (nonce: string): string => digest(`sign-in link ${nonce}`)

/** Decrypts the token of a sign-in link. `null`: the token is invalid or has expired. Does not use up the code. */
export function openLink(
  token: string,
  deps: EmailSignInDeps
): { code: string; belongsTo(pending: PendingCode): boolean } | null {
  const opened = deps.emailSignIn.sealer.open(token, linkContext(deps))
  if (opened === null) return null
  const { code, mark, expiresAt } = JSON.parse(opened) as { code: string; mark: string; expiresAt: number }
  return deps.clock.now() < expiresAt ? { code, belongsTo: ({ nonce }) => markOf(nonce) === mark } : null
}

/** The sealed cookie content of the browser that asked for a code. */
export interface PendingCode {
  /** The typed name, normalized. */
  name: string
  /**
   * The id of the browser, if the user of this name has had a session in this browser before. `null`: the browser is
   * not known.
   */
  device: string | null
  nonce: string
  expiresAt: number
}

/**
 * Computes the owner id under which the state stores a code and counts wrong guesses. It is a MAC of the typed name,
 * whether or not a user has this name. A known browser (`device`) has its own owner id, so that no stranger can replace
 * the code of that browser or use up its guesses.
 */
export function ownerOf(key: Uint8Array, { name, device }: Pick<PendingCode, 'name' | 'device'>): string {
  return macOf(key, ['owner', name, ...(device === null ? [] : [device])])
}

/** The settings of the option `emailSignIn`. */
export interface EmailSignInSettings {
  /** True if people can create an account by entering a code. */
  signUp: boolean
  /** True if the message also contains a sign-in link. */
  link: boolean
  expiresInMs: number
}

/** The settings and tools of sign-in by email. */
interface EmailSignIn extends EmailSignInSettings {
  /** Encrypts the tokens of sign-in links. */
  sealer: Sealer
}

/** The dependencies of sign-in by email. */
export type EmailSignInDeps = AccountsDeps & { codes: MessageCodes; emailSignIn: EmailSignIn }
