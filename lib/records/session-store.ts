import type { SessionStore } from '../ports/session-store.ts'
import { partitionOf } from '../protocol/partition.ts'
import { partitionOfName, requirePartition, sessionKey } from './keys.ts'
import {
  createSession,
  findSession,
  listSessionsOfUser,
  renewSession,
  revokeSessionsOfUser,
  useSession
} from './session-rules.ts'
import type { Transactor } from './transact.ts'
import { generationKeys, indexKeys } from './user-index.ts'

/** Browser sessions. A user has at most `max`: one more ends the one created first. */
export function recordSessionStore({ transact, look, evicts }: Transactor, max: number): SessionStore {
  const index = indexKeys({ evicts })
  const generation = generationKeys({ evicts })

  return {
    async createSession(session, digest) {
      const { sid, userId, createdAt: now } = session
      const keys = [sessionKey(sid), ...index]
      const options = { now, fresh: keys }
      const partition = requirePartition(sid, userId)
      await transact(partition, keys, (view) => createSession(view, session, digest, max), options)
    },
    findSession: (sid, digest, now) =>
      look(partitionOfName(sid), [sessionKey(sid), ...generation], (view) => findSession(view, sid, digest, now)),
    useSession: (use) =>
      transact(partitionOfName(use.sid), [sessionKey(use.sid), ...generation], (view) => useSession(view, use), use),
    renewSession: (renewal) =>
      transact(
        partitionOfName(renewal.sid),
        [sessionKey(renewal.sid), ...index],
        (view) => renewSession(view, renewal),
        renewal
      ),
    revokeSessionsOfUser: (userId, stays) =>
      transact(partitionOf(userId), index, (view) => revokeSessionsOfUser(view, userId, stays)),
    listSessionsOfUser: (userId, now) =>
      look(partitionOf(userId), index, (view) => listSessionsOfUser(view, userId, now))
  }
}
