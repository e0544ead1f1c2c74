import type { ImpersonationAnswer, ImpersonationAsk, RequestedUsers } from './managed-users.ts'
import type { Apps, Passkeys } from './factor-kinds.ts'
import type { Actor, AuditAction, EventFacts, FirstFactorKind } from '../events.ts'
import type { ApiKeyRecord, OwnedApiKey } from '../ports/api-key-store.ts'
import type { AuditLog, AuditTarget } from '../ports/audit-log.ts'
import type { UserFactors } from '../ports/factor-store.ts'
import type { Connection, ConnectionWay } from '../ports/upstream.ts'
import type { Identity, LinkedIdentity, User } from '../ports/user-store.ts'
import type { AuthenticationContext, AuthenticationProof } from '../protocol/authentication.ts'
import type { MessageCause } from './outbox.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import type { Browser, OpenSession } from '../sessions/browser-sessions.ts'
import type { Origin } from '../sessions/sessions.ts'

export type { SecondFactorCheck } from '../limits/rules.ts'

/** The writes that a sign-in makes after its last factor is proved. */
export interface SignInWrites {
  /** The identity to link, because its verified address is that of the account. All earlier sign-ins then end. */
  link?: LinkedIdentity | undefined
  /** True if the connection manages the account from now on. Password, passkeys and other links then end too. */
  takesOver?: boolean | undefined
  /** True if an emailed code has proved the mailbox of an account whose address nobody had proved. */
  takesMailbox?: boolean | undefined
  /** Fields of the account for which the provider has another value. */
  profile?: Record<string, unknown> | undefined
}

/** The user who has given a first factor, and the factor. */
export interface FirstFactor {
  /** The user at the time of the first factor. */
  user: User
  by: FirstFactorKind
  /** The `id` of the connection, if the first factor was one. */
  connection?: string | undefined
  /** The user's identity at that provider. An existing link of it must still lead to the user at the second factor. */
  identity?: (Identity & { email?: string | undefined }) | undefined
  /** The writes after the last factor is proved. */
  writes?: SignInWrites | undefined
  /** The proofs of this sign-in, each with its time. */
  methods: AuthenticationProof[]
  clientId: string | null
}

/** A user who has just given a first factor. */
export interface SignIn extends FirstFactor {
  /** The user's second factors, if the caller has read them already. */
  factors?: UserFactors | null
  /** True for a user who has just signed up, so that they get no message about a new sign-in. */
  isNew?: boolean
  /**
   * Reads the user again and returns them if the proof still holds. Call it after the commit of the session. `null`:
   * the session must end, and the event with the reason was emitted. A new password between the check of the factor and
   * the commit, for example, could not end a session that did not exist yet.
   */
  confirm(): Promise<User | null>
}

export interface SessionBegun {
  cookie: string
  session: OpenSession
  user: User
}

/** `second_factor`: the user must give their second factor. `enrolment`: the user must set up a second factor first. */
export type StepNeeds = 'second_factor' | 'enrolment'

/** The next step of a sign-in. No user is signed in yet. The ticket stands for the proofs so far. */
export interface StepNeeded {
  needs: StepNeeds
  ticket: string
  user: User
}

/** Makes the writes of a sign-in and commits its session, or asks for a step. `null`: the sign-in no longer holds. */
export type Commit = (first: SignIn) => Promise<SessionBegun | StepNeeded | null>

/** A way to sign in that a feature offers: a code in the mailbox, or a passkey. */
export type WayIn = 'mail' | 'passkey'

/**
 * The factors that end. `provisional`: second factors that were set up before the address was proved, and API keys that
 * are older than the proof. `taken_over`: passkeys, except `keeps`, which was set up in this sign-in. `since`: second
 * factors that were set up at this time or later. `all`: all second factors.
 */
export type Ending =
  | { what: 'provisional'; by: 'password_reset' | 'disowned' | 'email_sign_in' | 'email_changed' | 'identity_linked' }
  | { what: 'taken_over'; keeps: string | undefined }
  | { what: 'since'; since: number }
  | { what: 'all' }

/** An API key that a user or the host asks for. */
export interface NewApiKey {
  userId: string
  name: string
  scopes?: readonly string[] | undefined
  /** An API of the option `resources`. Left out or `null`: the host's own routes. */
  resource?: string | null | undefined
  /** Seconds. Default: the option `apiKeys.expiresIn`. */
  expiresIn?: number | undefined
}

/** The cause for which a key ends. */
interface ApiKeyEnd {
  by: EventFacts['api_key_revoked']['by']
  origin: Origin
}

/** API keys of users for their own programs. */
export interface ApiKeys {
  /** True for a text with the form and the checksum of a key. Reads no store. */
  isKey(text: string): boolean
  /**
   * Makes a key. `sid`: the sign-in that asks; `null`: the host asks.
   * @throws OAuthError `invalid_request`, `invalid_scope`, `invalid_target`, `api_key_limit`; `invalid_grant` without
   * an active user
   */
  create(asked: NewApiKey, cause: { sid: string | null; origin: Origin }): Promise<OwnedApiKey & { key: string }>
  list(userId: string): Promise<ApiKeyRecord[]>
  /** @throws OAuthError `invalid_token` */
  verify(key: string): Promise<OwnedApiKey>
  /**
   * Verifies the key and returns its rights as access token claims. `resource`: the API that reads the key; `null`: the
   * host's own routes.
   * @throws OAuthError `invalid_token`, also for a key of another resource
   */
  claimsFor(key: string, resource: string | null): Promise<AccessTokenClaims>
  /** Revokes the key. Returns `false` if the user has no such key. */
  revoke(userId: string, id: string, end: ApiKeyEnd): Promise<boolean>
  revokeAll(userId: string, end: ApiKeyEnd): Promise<void>
}

/** The use of an invitation. */
interface Acceptance {
  token: string
  /** The connection by which the person accepts the invitation; `null`: they choose a password. */
  connection: string | null
  origin: Origin
}

/** Invitation links, with which people begin to use an account that the host has made for them. */
export interface Invitations {
  /**
   * Replaces the user's open invitation, and sends the link.
   * @throws OAuthError `conflict` for a user who is disabled or removed
   */
  send(user: User): Promise<void>
  /**
   * Returns the user whom the token invites. Does not use up the token.
   * @throws OAuthError `conflict` if the invitation was accepted or the user has a password, else `invalid_token`
   */
  find(token: string): Promise<User>
  /**
   * Uses up the token, marks the address as proved, and runs `work` with the present user. Of parallel calls, only one
   * runs `work`. If `work` fails other than with `conflict` or `invalid_token`, the token works again.
   * @throws OAuthError as `find` does
   */
  accept(given: Acceptance, work: (user: User) => Promise<void>): Promise<User>
}

/** An administrator's action, for the audit log. */
export interface AuditedAct<Answer> {
  /** The name of the action in the log. */
  action: AuditAction
  actor: Actor
  /** `null`: the target is not known before the action, such as a new user. */
  target: AuditTarget | null
  /** Returns the target, if only the answer contains it. */
  targetOf?(answer: Answer): AuditTarget | null
  reason?: string | undefined
  /** The names of changed fields. */
  fields?: string | undefined
  origin: Origin
}

/** The parts that a feature adds to the account use cases. All are optional. */
export interface AccountSlots {
  /** Asks for a further step of a sign-in, or commits the sign-in. */
  afterFirstFactor?(first: SignIn, browser: Browser, commit: Commit): ReturnType<Commit>
  /**
   * Returns the step for which `afterFirstFactor` made the ticket, and the proofs before it. `null`: the ticket is not
   * valid.
   */
  stepOf?(
    ticket: string
  ): Promise<(Pick<StepNeeded, 'needs'> & Pick<FirstFactor, 'methods'> & { begunAt: number }) | null>
  /**
   * True if the host requires a second factor of this user, and a session with these proofs lacks it. The session then
   * counts as ended.
   */
  requiresMore?(user: User, methods: readonly AuthenticationProof[]): Promise<boolean>
  /**
   * Finds all second factors of the user. While a password is hashed for an unknown name, called with a random id, so
   * that neither the time nor an outage of the store reveals which names exist.
   */
  factors?(userId: string): Promise<UserFactors>
  /**
   * Removes a factor for an administrator.
   * @throws OAuthError `not_found`; `last_sign_in_method` for the last way into the account
   */
  removeFactor?(removal: { user: User; factorId: string; admin: string; origin: Origin }): Promise<void>
  apps?: Apps
  passkeys?: Passkeys
  apiKeys?: ApiKeys
  invitations?: Invitations
  /** Returns the ways into the account that the feature offers this user now. */
  ways?(user: User): Promise<readonly WayIn[]>
  /**
   * Returns a function that checks if a sign-in includes the user's second factor. Changes of the account then require
   * that factor. `null`: the user has no second factor.
   */
  proof?(user: User): Promise<((signIn: AuthenticationContext) => boolean) | null>
  /**
   * Ends the factors that `ending` names, with an event for each. Sends a message for each second factor too, unless
   * the account was disowned or taken over. Idempotent.
   */
  end?(user: User, ending: Ending, cause: MessageCause): Promise<void>
  /** The data of the feature about the user, for an export: no secret, and no digest of one. */
  exported?(user: User): Promise<Readonly<Record<string, unknown>>>
  /** Removes what the feature still keeps of a removed user. */
  endRest?(userId: string, origin: Origin): Promise<void>
  /** True if the user has a second factor that is not provisional. The mailbox alone then does not open the account. */
  keepsAgainstMailbox?(user: User): Promise<boolean>
  /** Runs an administrator's action between two entries of the audit log. */
  audit?<Answer>(act: AuditedAct<Answer>, work: () => Promise<Answer>): Promise<Answer>
  /** The log that `audit` writes to. */
  auditLog?: Pick<AuditLog, 'list'>
  /** Makes a token that acts in the name of a user. */
  impersonate?(asked: ImpersonationAsk): Promise<ImpersonationAnswer>
  /** The use cases of administration. */
  users?: RequestedUsers
  /** Connections by their ids. */
  connections?: ReadonlyMap<string, ConnectionWay & Pick<Connection, 'callbackUrl' | 'upstream'>>
}

/** Returns the part `name` of the first feature that has it. `null`: no feature has it. */
export function slotOf<Name extends keyof AccountSlots>(
  { slots }: { slots: readonly AccountSlots[] },
  name: Name
): NonNullable<AccountSlots[Name]> | null {
  return slots.find((one) => one[name] !== undefined)?.[name] ?? null
}
