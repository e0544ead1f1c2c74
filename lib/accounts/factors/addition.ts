import { OAuthError } from '../../errors.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { Origin, StayingSignIn } from '../../sessions/sessions.ts'
import type { Enroller, PasskeyDeps } from './passkeys.ts'

/**
 * Stores a factor. With `endsOthers`, for the first one of a user, all their other sign-ins end before it is stored and
 * after: whoever got in by the password alone is out. Where it is set up before there is a session, `lookAgain` ends
 * them, once it is stored: by then somebody who sent the form twice may be signed in by the first of the two.
 */
export async function endingOthers<Stored>(
  {
    endsOthers,
    userId,
    stays,
    origin
  }: { endsOthers: boolean; userId: string; stays: StayingSignIn | null; origin: Origin },
  store: () => Promise<Stored>,
  deps: Pick<PasskeyDeps, 'sessions' | 'background' | 'onError'>
): Promise<Stored> {
  if (!endsOthers) return await store()
  const endOthers = async (): Promise<void> => {
    await deps.sessions.revokeAll(userId, 'factors_changed', { stays, origin })
  }
  await endOthers()
  const stored = await store()
  // Once more, for a sign-in by the password alone that began in between. Where it fails it is done again behind the
  // reply, which must go out: the recovery codes are shown in it and never again.
  const what = 'the other sign-ins of somebody who added a second factor could not be ended'
  await endOthers().catch((error: unknown) => {
    deps.onError(error, what)
    deps.background.run(`addition ${userId} ${stays?.sid ?? ''}`, what, endOthers, { retries: true })
  })
  return stored
}

/**
 * Looks again at a factor that was stored just now, and takes it back where it must not stay. Of several that were
 * stored at once as the first, at most one stays: somebody who knows the password alone must not add a factor beside
 * the owner's. And none stays whose owner is not signed in any more, or whose first factor does not count any more:
 * what ended that between the first look and the commit (a reset, say) could not end this factor, by which a thief
 * might come back. Where a store is down, the factor is taken back behind the reply, and tried again for more than a
 * minute, since nobody has seen its recovery codes. One that stays, is the first and was set up before there is a
 * session ends every other sign-in.
 * @throws OAuthError `invalid_token` or `login_required` where it was removed; `temporarily_unavailable`
 */
export async function lookAgain(
  of: Enroller,
  { factorId, isFirst, origin }: { factorId: string; isFirst: boolean; origin: Origin },
  deps: Pick<PasskeyDeps, 'users' | 'sessions' | 'factors' | 'background'>
): Promise<void> {
  const {
    background,
    sessions,
    factors: { store }
  } = deps
  const withdraw = async (): Promise<void> => {
    await store.removeFactor({ userId: of.user.id, factorId, keepOne: false })
  }
  let refused: OAuthError | null
  try {
    refused = await refusalOf(of, { factorId, isFirst }, deps)
    if (refused !== null) await withdraw()
    else if (isFirst && of.sid === null) await sessions.revokeAll(of.user.id, 'factors_changed', { origin })
  } catch (error) {
    background.run(
      `withdraw ${factorId}`,
      'a second factor that nobody was told of could not be taken back',
      withdraw,
      { retries: true }
    )
    throw error
  }
  if (refused !== null) throw refused
}

async function refusalOf(
  of: Enroller,
  { factorId, isFirst }: { factorId: string; isFirst: boolean },
  { users, sessions, factors: { store } }: Pick<PasskeyDeps, 'users' | 'sessions' | 'factors'>
): Promise<OAuthError | null> {
  if (isFirst) {
    const { totp, passkeys } = await store.findFactors(of.user.id)
    const [first, ...others] = [totp[0], passkeys[0]].filter((factor) => factor !== undefined)
    if (first?.id !== factorId || others.length > 0)
      return new OAuthError('invalid_token', 'Another factor was added meanwhile. Begin again.', { statusCode: 400 })
  }
  const holds =
    of.sid === null
      ? await of.holds()
      : isActive(await users.findById(of.user.id)) && (await sessions.isAlive(of.user.id, of.sid))
  return holds
    ? null
    : new OAuthError('login_required', 'The sign-in has ended meanwhile. Sign in again.', { statusCode: 401 })
}
