import type { Origin } from '../../sessions/sessions.ts'
import type { PasskeyDeps } from './passkeys.ts'

/**
 * Stores a factor. The first one of a user ends all their other sign-ins, before it is stored and after: whoever got in by the password alone
 * is out.
 */
export async function endingOthers<Stored> ({ isFirst, userId, sid, origin }: { isFirst: boolean, userId: string, sid: string, origin: Origin }, store: () => Promise<Stored>, deps: Pick<PasskeyDeps, 'sessions' | 'background' | 'onError'>): Promise<Stored> {
  if (!isFirst) return await store()
  const endOthers = async (): Promise<void> => { await deps.sessions.revokeAll(userId, 'factors_changed', { exceptSid: sid, origin }) }
  await endOthers()
  const stored = await store()
  // For a sign-in by the password alone that began in between. The person has to see their recovery codes whatever becomes of it.
  const what = 'the other sign-ins of somebody who added a second factor could not be ended'
  await endOthers().catch((error: unknown) => {
    deps.onError(error, what)
    deps.background.run(`factors ${userId}`, what, endOthers)
  })
  return stored
}
