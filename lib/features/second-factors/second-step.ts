import type { FactorDeps, ProvingDeps } from './deps.ts'
import type { Identity, User } from '../../ports/user-store.ts'
import { provedSince, readProofs } from '../../protocol/authentication.ts'
import { COOKIES } from '../../protocol/cookies.ts'
import { onceRehashed } from '../../accounts/authenticate-password.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type {
  Commit,
  FirstFactor,
  SessionBegun,
  SignIn,
  SignInWrites,
  StepNeeded,
  StepNeeds
} from '../../accounts/slots.ts'
import { holderOf, markOf } from '../../accounts/first-factor.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { asksSecondFactor, markedExempt, mustEnrol, tellOfEnrolment } from './two-step.ts'
import { isInvited } from './enrolment-link.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'
import { isRemembered, rememberAccount, type RememberedDevices } from '../../limits/known-devices.ts'
import type { Origin } from '../../events.ts'

/** A user who has given a first factor and owes the second. */
export interface PendingStep extends FirstFactor {
  /** The scopes that the client may get, separated by spaces. `''` for a step on the pages. */
  scope: string
  /** The APIs that the client named, by the `aud` of their tokens. */
  resources?: readonly string[] | undefined
  /** The nonce that the ID token repeats. Only a token exchange has one. */
  nonce?: string | undefined
  /**
   * The device epoch of the user when a link of the host invited them. The invitation is valid while the epoch stays
   * the same.
   */
  invitedAt?: number | undefined
}

/** `begunAt`: the time at which the ticket was made. */
type OpenedStep = PendingStep & { begunAt: number }

/** The place that accepts a ticket: the page for the missing step, or the token endpoint for one client. */
type StepPlace = { page: true; needs: StepNeeds } | { page: false; clientId: string | null }

type StepDeps = Pick<
  AccountsDeps,
  'service' | 'users' | 'hashing' | 'background' | 'clock' | 'verifyEmail' | 'connections'
> & { factors: FactorDeps }

const contextOf = (service: string, place: StepPlace): string =>
  JSON.stringify(['second step', service, place.page ? place.needs : 'grant', place.page ? null : place.clientId])

/**
 * Makes the ticket for the second step, a sealed text. The server stores nothing. The ticket is bound to its place and
 * to the present password hash, so that a change of the password ends it. After an emailed code it is bound to the
 * user's address too.
 */
export async function sealStep(
  { user, by, connection, identity, writes, methods, clientId, scope, resources, nonce, invitedAt }: PendingStep,
  place: StepPlace,
  deps: StepDeps
): Promise<string> {
  const {
    service,
    clock,
    factors: { sealer }
  } = deps
  const now = clock.now()
  // This sign-in may be replacing a hash of an old format. The ticket is bound to the new hash, because it would
  // otherwise be refused as if the password had changed.
  const bound = (await onceRehashed(user, deps)) ?? user
  return sealer.seal(
    JSON.stringify({
      userId: user.id,
      by,
      connection,
      identity,
      writes: withoutLongProfile(writes),
      methods,
      at: now,
      clientId,
      scope,
      resources,
      nonce,
      invitedAt,
      mark: markOf(bound, by)
    }),
    contextOf(service, place)
  )
}

/**
 * Maximum length of the profile in a ticket, as JSON. A longer profile is dropped. A later sign-in without a second
 * step saves it.
 */
const MAX_PROFILE = 600

function withoutLongProfile(writes: SignInWrites | undefined): SignInWrites | undefined {
  return JSON.stringify(writes?.profile ?? {}).length > MAX_PROFILE ? { ...writes, profile: undefined } : writes
}

/**
 * Returns the user of a ticket, in their present state. `null`: the text is no ticket for this place, the ticket is
 * older than ten minutes, its session would have expired, or its first factor is no longer valid. The first factor ends
 * with a disabled account, another password, a removed link or, after an emailed code, another address.
 */
export async function openStep(ticket: string, place: StepPlace, deps: StepDeps): Promise<OpenedStep | null> {
  const {
    service,
    clock,
    factors: { sealer, sessionLifetimeMs }
  } = deps
  const opened = ticket.length > 8192 ? null : sealer.open(ticket, contextOf(service, place))
  if (opened === null) return null
  const { userId, by, connection, identity, writes, methods, at, clientId, scope, resources, nonce, invitedAt, mark } =
    JSON.parse(opened) as {
      userId: string
      by: PendingStep['by']
      connection?: string
      identity?: Identity
      writes?: SignInWrites
      methods: unknown
      at: number
      clientId: string | null
      scope: string
      resources?: string[]
      nonce?: string
      invitedAt?: number
      mark: string
    }
  const now = clock.now()
  const proofs = readProofs(methods)
  if (now - at >= COOKIES.step.seconds * 1000) return null
  if (place.page && now - provedSince({ methods: proofs, authenticatedAt: now }) >= sessionLifetimeMs) return null
  const user = await holderOf({ userId, by, connection, identity, writes, mark }, deps)
  return user === null
    ? null
    : {
        user,
        by,
        connection,
        identity,
        writes,
        methods: proofs,
        clientId,
        scope,
        resources,
        nonce,
        invitedAt,
        begunAt: at
      }
}

/**
 * Begins the session, or asks for the second factor or its set-up.
 * @returns `null` if the first factor is no longer valid
 */
export async function beginWithFactors(
  first: SignIn,
  browser: Browser,
  commit: Commit,
  accounts: ProvingDeps
): Promise<SessionBegun | StepNeeded | null> {
  // A passkey that has verified who holds it is both factors.
  if (first.methods.some(({ method }) => method === 'passkey')) return await commit(first)
  const { factors } = accounts
  const { user, by, connection, identity, writes, methods, clientId } = first
  const ask = async (needs: StepNeeds, invitedAt?: number): Promise<StepNeeded> => {
    const ticket = await sealStep(
      { user, by, connection, identity, writes, methods, clientId, scope: '', invitedAt },
      { page: true, needs },
      accounts
    )
    if (needs === 'second_factor')
      accounts.events.emit('second_factor_required', { userId: user.id, clientId }, browser.origin)
    else tellOfEnrolment(user, clientId, browser.origin, accounts, { isInvited: invitedAt !== undefined })
    return { needs, ticket, user }
  }
  const isRemembered = (found: UserFactors): boolean => isRememberedIn(user, found, browser, accounts)
  const owes = async (found: UserFactors): Promise<boolean> =>
    !isRemembered(found) && (await asksSecondFactor(first, found, factors, accounts))
  const found = first.factors ?? (await factors.store.findFactors(user.id))
  if (await owes(found)) return await ask('second_factor')
  if (await isInvited(browser.invitation, user, found, accounts)) return await ask('enrolment', found.deviceEpoch)
  if (!hasFactor(found) && (await mustEnrol(first, factors, accounts))) return await ask('enrolment')
  const seen = { second: false }
  const begun = await commit({
    ...first,
    methods: await markedExempt(first, { isRemembered: isRemembered(found) }, factors, accounts),
    async confirm() {
      // Decides again at the commit. Turning two-step sign-in on ends only the sessions of that moment, so a session
      // that begins later must notice the change here. So must a session in a browser that was forgotten meanwhile.
      const [confirmed, now] = await Promise.all([first.confirm(), factors.store.findFactors(user.id)])
      seen.second = await owes(now)
      return seen.second ? null : confirmed
    }
  })
  return seen.second ? await ask('second_factor') : begun
}

/** Opens a ticket of `beginWithFactors` for either step. @returns `null` if the ticket is invalid */
export async function openPageStep(
  ticket: string,
  accounts: ProvingDeps
): Promise<({ needs: StepNeeds } & OpenedStep) | null> {
  for (const needs of ['second_factor', 'enrolment'] as const) {
    const step = await openStep(ticket, { page: true, needs }, accounts)
    if (step !== null) return { ...step, needs }
  }
  return null
}

type Deps = Pick<AccountsDeps, 'clock'> & { factors: Pick<FactorDeps, 'remembered'> }

/**
 * True if this browser is remembered, so that the user is not asked for the second factor in it. A remembered browser
 * proves nothing: the sign-in has only the level of the first factor.
 * @see NIST SP 800-63B-4 §3.2.1
 */
export function isRememberedIn(
  user: User,
  found: UserFactors,
  { remembered: token }: Pick<Browser, 'remembered'>,
  { clock, factors: { remembered } }: Deps
): boolean {
  return (
    remembered !== null &&
    isRemembered(remembered.keys, token, accountOf(user, found), {
      now: clock.now(),
      lifetimeMs: remembered.lifetimeMs
    })
  )
}

/**
 * Returns the cookie value for a browser in which the user has just given a second factor and does not want to be asked
 * again. `found`: the factors that they had then.
 */
export function rememberDevice(
  token: string | undefined,
  user: User,
  found: UserFactors,
  { keys }: RememberedDevices,
  { clock, random }: Pick<AccountsDeps, 'clock' | 'random'>
): string {
  return rememberAccount(keys, token, accountOf(user, found), clock.now(), random.id())
}

function accountOf({ id, passwordHash }: User, { deviceEpoch }: UserFactors): Parameters<typeof isRemembered>[2] {
  return { userId: id, epoch: deviceEpoch, passwordHash }
}

/**
 * Forgets all remembered browsers of the user, so that each asks for the second factor again.
 * @throws if the store can't be reached
 */
export async function forgetDevices(
  user: User,
  { by, origin }: { by: 'user' | 'host'; origin: Origin },
  { events, factors: { store } }: ProvingDeps
): Promise<void> {
  await store.forgetDevices(user.id)
  events.emit('devices_forgotten', { userId: user.id, by }, origin)
}
