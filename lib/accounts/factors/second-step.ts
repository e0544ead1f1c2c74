import type { FirstFactorKind } from '../../events.ts'
import type { Identity, User } from '../../ports/user-store.ts'
import { type AuthenticationProof, formatProofs, readProofs } from '../../protocol/authentication.ts'
import { digest, equalSecrets } from '../../protocol/digest.ts'
import { failureOf, onceRehashed } from '../authenticate-password.ts'
import type { AccountsDeps } from '../deps.ts'
import { isEnforced } from '../enforced.ts'
import { addressOf } from '../outbox.ts'
import type { FactorDeps } from './deps.ts'

/** How long a person has between the first factor and the second. */
export const STEP_LIFETIME_SECONDS = 600

/** Who has given a first factor, and which. */
export interface FirstFactor {
  /** As the user was when the first factor was proved. */
  user: User
  by: FirstFactorKind
  /** The `id` of the connection, where it was one. */
  connection?: string | undefined
  /** Who they are at that provider. The link of this identity must still lead to the user when the second factor is given. */
  identity?: Identity | undefined
  /** How they proved it, and when. */
  methods: AuthenticationProof[]
  clientId: string | null
}

/** Somebody who has given a first factor and owes the second. */
export interface PendingStep extends FirstFactor {
  /** What a client asked for with the first factor. */
  scope: string
  /** The device epoch of the user in which a link of the host had them set up a factor; it is good while they are in that. */
  invitedAt?: number | undefined
}

/** What is missing: the second factor that the user has, or one at all. */
export type StepNeeds = 'second_factor' | 'enrolment'

/** Where what is missing is to be given: on the page for it, or at the token endpoint by the client of this id. */
type StepPlace = { page: true, needs: StepNeeds } | { page: false, clientId: string | null }

type StepDeps = Pick<AccountsDeps, 'issuer' | 'users' | 'hashing' | 'background' | 'clock' | 'verifyEmail' | 'enforcedDomains'> & { factors: FactorDeps }

const contextOf = (issuer: string, place: StepPlace): string => JSON.stringify(['second step', issuer, place.page ? place.needs : 'grant', place.page ? null : place.clientId])

/**
 * Binds a ticket to the password: the value is another one once the password has changed, and after a code by e-mail also once the address has,
 * since a code in the former mailbox proves nothing of the new one. It is a digest, so that the ticket does not carry the password hash.
 */
function markOf (user: User, by: PendingStep['by']): string {
  return digest(`second step ${user.id} ${user.passwordHash ?? ''}${by === 'email' ? ` ${addressOf(user)}` : ''}`)
}

/**
 * A ticket for the second step: nothing is stored for it, and nothing but the second step takes it. It names the user and the password hash of
 * now, so that it ends with a change of the password; and where the mailbox was proved, its address.
 */
export async function sealStep ({ user, by, connection, identity, methods, clientId, scope, invitedAt }: PendingStep, place: StepPlace, deps: StepDeps): Promise<string> {
  const { issuer, clock, factors: { sealer } } = deps
  const now = clock.now()
  // This sign-in may be replacing a hash of an old format. The ticket is bound to the new hash then, or it would be refused as if the password
  // had changed.
  const bound = await onceRehashed(user, deps) ?? user
  return sealer.seal(JSON.stringify({ userId: user.id, by, connection, identity, methods: formatProofs({ methods, authenticatedAt: now }), at: now, clientId, scope, invitedAt, mark: markOf(bound, by) }), contextOf(issuer, place))
}

/**
 * Who a ticket is of, as they are now. `null`: it is none, or not one for this place, it is older than ten minutes, or the account is not as
 * it was (disabled, another password, another address where a code went to that).
 */
export async function openStep (ticket: string, place: StepPlace, deps: StepDeps): Promise<PendingStep | null> {
  const { issuer, clock, factors: { sealer } } = deps
  const opened = ticket.length > 8192 ? null : sealer.open(ticket, contextOf(issuer, place))
  if (opened === null) return null
  const { userId, by, connection, identity, methods, at, clientId, scope, invitedAt, mark } = JSON.parse(opened) as { userId: string, by: PendingStep['by'], connection?: string, identity?: Identity, methods: string, at: number, clientId: string | null, scope: string, invitedAt?: number, mark: string }
  const now = clock.now()
  if (now - at >= STEP_LIFETIME_SECONDS * 1000) return null
  const user = await ledTo(userId, identity, deps)
  if (user === null || !stillHolds(user, by, mark, deps)) return null
  return { user, by, connection, identity, methods: readProofs(methods, at), clientId, scope, invitedAt }
}

/** The user as they are now; `null` where their first factor does not count any more (another password, disabled, unlinked). */
export async function stepHolds ({ user: former, by, identity }: PendingStep, deps: Pick<AccountsDeps, 'users' | 'verifyEmail' | 'enforcedDomains'>): Promise<User | null> {
  const user = await ledTo(former.id, identity, deps)
  return user !== null && stillHolds(user, by, markOf(former, by), deps) ? user : null
}

/** The user, if the identity that they came by still leads to them. */
async function ledTo (userId: string, identity: Identity | undefined, { users }: Pick<AccountsDeps, 'users'>): Promise<User | null> {
  const user = identity === undefined ? await users.findById(userId) : await users.findByIdentity?.(identity) ?? null
  return user?.id === userId ? user : null
}

function stillHolds (user: User, by: PendingStep['by'], mark: string, deps: Pick<AccountsDeps, 'verifyEmail' | 'enforcedDomains'>): boolean {
  const isRefused = by === 'password' ? failureOf(user, 'match', deps) !== null : user.disabled === true || (by === 'email' && isEnforced(user, deps.enforcedDomains))
  return !isRefused && equalSecrets(markOf(user, by), mark)
}
