import { passkeysOf, type ProvingDeps } from './deps.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { MisfitError, OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { PasskeyFactor, UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { digest, partitionOf } from '../../protocol/digest.ts'
import { lookLater } from '../../accounts/background.ts'
import { UNFINISHED_FOR_MS } from '../../accounts/change-password.ts'
import { lastSignInMethod } from '../../accounts/identities.ts'
import { addressed, type MessageCause } from '../../accounts/outbox.ts'
import type { StayingSignIn } from '../../sessions/sessions.ts'
import { type WaysIn, waysIn } from '../../accounts/ways-in.ts'

/**
 * Ids come from URLs and forms. Ids with other characters are refused before the store gets them: a NUL makes SQL
 * stores reject, which would count as an outage.
 */
const ID = /^[A-Za-z0-9_-]{1,128}$/

/** The limit of passkeys when a removed passkey is put back. No account reaches this limit. */
const MOST = 1000

interface ShownFactor {
  id: string
  kind: 'totp' | 'passkey'
  name: string | null
  createdAt: number
  lastUsedAt: number | null
  /** True if the app works only in known browsers, after too many wrong codes. */
  disabled: boolean
  /** True if a passkey is copied to other devices. `null` for an app, whose copies can't be known. */
  synced: boolean | null
}

export async function listFactors(
  userId: string,
  { factors: { store } }: Pick<ProvingDeps, 'factors'>
): Promise<ReturnType<typeof shownFactors>> {
  return shownFactors(await store.findFactors(userId))
}

/** Describes the factors for their user and for the host, without keys. */
export function shownFactors({ totp, passkeys, recoveryCodesLeft }: UserFactors): {
  factors: ShownFactor[]
  recoveryCodesLeft: number
} {
  const apps = totp.map(({ id, name, createdAt, lastUsedAt, disabled }): ShownFactor => ({
    id,
    kind: 'totp',
    name,
    createdAt,
    lastUsedAt,
    disabled,
    synced: null
  }))
  const keys = passkeys.map(({ id, name, createdAt, lastUsedAt, backedUp }): ShownFactor => ({
    id,
    kind: 'passkey',
    name,
    createdAt,
    lastUsedAt,
    disabled: false,
    synced: backedUp
  }))
  return { factors: [...apps, ...keys], recoveryCodesLeft }
}

/** True if the host requires a second factor of the user, so that the last one stays. */
export async function mustKeepOne(
  user: User,
  { factors: { policy } }: { factors: Pick<ProvingDeps['factors'], 'policy'> }
): Promise<boolean> {
  return policy.required !== null && (await policy.required(user, null))
}

interface Removal extends MessageCause {
  user: User
  factorId: string
  by: 'user' | 'host'
  /** The host's administrator, for the event. */
  admin?: string | undefined
  /** True if the last way to sign in must stay. Default: `true` for the user, `false` for the host. */
  keepsWayIn?: boolean
  /** The session that makes the request. It stays while the user has another factor. */
  stays?: StayingSignIn
  /**
   * Removes the proof of the second factor from the session that makes the request, so that the session survives the
   * removal of the last factor. Called before the removal, so that the factor stays if `lower` fails. Without `lower`,
   * the removal of the last factor ends the session.
   */
  lower?(): Promise<StayingSignIn>
}

/**
 * Removes a factor of the user. The caller must require a fresh sign-in. A user can't remove the only way to sign in,
 * nor the last factor if they must have one. The host can (see `keepsWayIn`). All other sign-ins end. Without `lower`,
 * the last factor also ends the session that makes the request, because its tokens state a level that can't be taken
 * back. `left`: true if the user has another factor.
 * @throws OAuthError `not_found`, `last_factor`; `last_sign_in_method` with `keepsWayIn` by the host
 */
export async function removeFactor(
  { user, factorId, by, admin, keepsWayIn = by === 'user', stays, lower, locale, origin }: Removal,
  deps: ProvingDeps
): Promise<{ left: boolean }> {
  const {
    sessions,
    background,
    onError,
    events,
    outbox,
    users,
    factors: { store }
  } = deps
  const userId = user.id
  const found = await store.findFactors(userId)
  const ways = keepsWayIn ? await waysIn(user, deps) : null
  const alone = ways?.others.includes('passkey') === true ? (passkeysOf(deps)?.alone(found) ?? []) : []
  const way = alone.find(({ id }) => id === factorId)
  const isNeeded = ways !== null && way !== undefined && !opensWithoutPasskey(ways)
  if (isNeeded && alone.length === 1) throw lastWayIn(by)
  // Two removals at once may each find another factor left, so the store decides which of them would remove the last
  // one.
  const keepOne = isNeeded || (by === 'user' && (await mustKeepOne(user, deps)))
  const kind = found.passkeys.some(({ id }) => id === factorId) ? 'passkey' : 'totp'
  const tell = (): void => {
    events.emit('factor_removed', { userId, factorId, kind, by, ...(admin === undefined ? {} : { admin }) }, origin)
    outbox?.post({ kind: 'factor_removed', factor: kind, by, user: addressed(user), locale, origin })
  }
  const what = 'the sign-ins that rested on a removed factor could not be ended'
  let left = false
  const isOnly = has(found, factorId) && found.totp.length + found.passkeys.length === 1
  const lowered = isOnly && !keepOne ? await lower?.() : undefined
  const end = async (): Promise<void> => {
    left = hasFactor(await store.findFactors(userId))
    await sessions.revokeAll(userId, 'factors_changed', { stays: lowered ?? (left ? stays : null), origin })
  }
  // Finishes a removal whose answer was lost. The store may have removed the factor, or may do so later, so the rest
  // follows as soon as the factor is gone.
  const finishLost = async (): Promise<boolean> => {
    if (has(await store.findFactors(userId), factorId)) return false
    // Ends every session: the reply was sent, so no browser could learn the new secret of a session that stays.
    await sessions.revokeAll(userId, 'factors_changed', { origin })
    tell()
    return true
  }
  const removal = ID.test(factorId) ? store.removeFactor({ userId, factorId, keepOne }) : 'unknown'
  const outcome = await Promise.resolve(removal).catch((error: unknown) => {
    if (has(found, factorId)) lookLater(background, `removal ${factorId}`, what, finishLost)
    throw error
  })
  if (outcome === 'last')
    throw isNeeded
      ? lastWayIn(by)
      : new OAuthError('last_factor', 'The account must have a second factor, and this is the last one.')
  if (outcome === 'unknown') throw new OAuthError('not_found', 'There is no such factor.')
  // Puts a passkey back that was the user's last way to sign in. The store does not know that an app or a security key
  // signs nobody in alone. A link may also have been removed meanwhile.
  const putBack = async (passkey: PasskeyFactor): Promise<boolean> => {
    const now = await users.findById(userId)
    if (now === null) return false
    const left = await waysIn(now, deps)
    if (left.others.includes('passkey') || opensWithoutPasskey(left)) return false
    await store.addPasskey({ userId, factor: passkey, limit: MOST, turnsOn: found.twoStepChosen })
    return true
  }
  // If the check fails, the passkey counts as removed: its owner gets the message, and everything that depended on it
  // ends.
  const isBack =
    way !== undefined &&
    (await putBack(way).catch((error: unknown) => {
      onError(error, 'what is left to sign in with could not be looked at')
      return false
    }))
  if (isBack) throw lastWayIn(by)
  // Cancels the check that an earlier failed try left in the background. It would report this removal a second time,
  // and end the sign-in that asks for it.
  background.drop(`removal ${factorId}`)
  tell()
  // The factor is gone, so a repeated request would get `not_found`. After a failure, the work continues in the
  // background.
  await end().catch((error: unknown) => {
    onError(error, what)
    background.run(`ending ${factorId}`, what, end, { retries: true })
  })
  return { left }
}

const has = ({ totp, passkeys }: UserFactors, factorId: string): boolean =>
  [...totp, ...passkeys].some(({ id }) => id === factorId)

const lastWayIn = (by: Removal['by']): OAuthError =>
  by === 'host'
    ? lastSignInMethod()
    : new OAuthError('last_factor', 'Nothing else is left to sign in with.', { reason: 'last_way_in' })

const opensWithoutPasskey = ({ password, links, others }: WaysIn): boolean =>
  password || links.length > 0 || others.some((way) => way !== 'passkey')

/** @throws OAuthError `not_found` */
export async function renameFactor(
  { userId, factorId, name }: { userId: string; factorId: string; name: string },
  { factors: { store } }: ProvingDeps
): Promise<void> {
  if (!ID.test(factorId) || !(await store.renameFactor({ userId, factorId, name: nameOf(name) })))
    throw new OAuthError('not_found', 'There is no such factor.')
}

/** Returns `true` for the error of a record that can't be read. Throws any other error again. */
function readsNot(error: unknown): true {
  if (error instanceof TypeError || error instanceof MisfitError) return true
  throw error
}

/**
 * Removes all factors of a user who has lost them, for a host that has checked who asks. Ends all sign-ins, before and
 * after. Sends a message to a user who had a factor. Resolves to the number of removed factors. `admin`: the host's
 * administrator, for the event. A note is stored before the removal and discarded with the message. If the answer of
 * the removal is lost, a repeated call (or background work) sends the message because of the note.
 */
export async function resetFactors(
  user: User,
  admin: string | undefined,
  { sessions, events, outbox, oneTimeTokens, clock, background, onError, factors: { store } }: ProvingDeps
): Promise<number> {
  const origin = NO_REQUEST
  const note = { purpose: 'factor_reset', digest: partitionOf(user.id) + digest(`factor reset ${user.id}`) } as const
  const isNoted = async (): Promise<boolean> =>
    (await oneTimeTokens.find(note.purpose, note.digest, clock.now())) !== null
  const endAll = async (): Promise<void> => {
    await sessions.revokeAll(user.id, 'factors_changed', { origin })
  }
  const tell = async (): Promise<void> => {
    events.emit(
      'factor_removed',
      { userId: user.id, factorId: null, kind: null, by: 'host', ...(admin === undefined ? {} : { admin }) },
      origin
    )
    outbox?.post({ kind: 'factor_removed', factor: null, by: 'host', user: addressed(user), locale: undefined, origin })
    await oneTimeTokens.discard(note.purpose, user.id).catch((error: unknown) => {
      onError(error, 'the note of a reset of second factors could not be removed')
    })
  }
  // A user whose record can't be read counts as a user with factors.
  const hadAny = await store.findFactors(user.id).then(hasFactor, readsNot)
  if (hadAny) await oneTimeTokens.put({ ...note, userId: user.id, expiresAt: clock.now() + UNFINISHED_FOR_MS })
  await endAll()
  const removed = await store.removeFactorsOfUser(user.id).catch((error: unknown) => {
    lookLater(background, `reset ${user.id}`, 'the reset of second factors could not be finished', async () => {
      if (hasFactor(await store.findFactors(user.id))) return false
      await endAll()
      if (await isNoted()) await tell()
      return true
    })
    throw error
  })
  const isTold = removed > 0 || (await isNoted())
  if (isTold) await tell()
  await endAll()
  // A sign-in that began between the first `endAll` and the removal may have added a factor. The second `endAll` ended
  // that sign-in.
  const late = await store.removeFactorsOfUser(user.id)
  if (!isTold && late > 0) await tell()
  return removed + late
}

const MAX_NAME = 64

/** The name that a user gave a factor, in one line of at most 64 characters. `null`: no name. */
export function nameOf(given: string): string | null {
  const name = [...given.replace(/[\p{C}\s]+/gu, ' ').trim()].slice(0, MAX_NAME).join('')
  return name === '' ? null : name
}
