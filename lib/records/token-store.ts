import type { TokenStore } from '../ports/token-store.ts'
import { partitionOf } from '../protocol/partition.ts'
import { createCode, redeemCode } from './code-rules.ts'
import { aliveFamily } from './family-record.ts'
import {
  createFamily,
  listFamiliesOfUser,
  peekToken,
  revokeFamiliesOfClient,
  revokeFamiliesOfUser,
  revokeFamily,
  revokeSession,
  rotateToken,
  undoRotation,
  useToken
} from './family-rules.ts'
import { familyKey, partitionOfName, requirePartition, sessionKey } from './keys.ts'
import type { Transactor } from './transact.ts'
import { generationKeys, indexKeys } from './user-index.ts'

/**
 * Refresh token families and authorization codes. A user has at most `max` families that are offline, as many that are
 * not, and as many codes that wait: one more ends the one created first.
 */
export function recordTokenStore({ transact, look, evicts }: Transactor, max: number): TokenStore {
  const index = indexKeys({ evicts })
  const generation = generationKeys({ evicts })
  const ofOne = (sid: string): string[] => [familyKey(sid), ...generation]
  const ofOneAndIndex = (sid: string): string[] => [familyKey(sid), ...index]

  return {
    async createFamily(family) {
      const { sid, userId, createdAt: now } = family
      const keys = ofOneAndIndex(sid)
      const options = { now, fresh: keys }
      const partition = requirePartition(sid, userId)
      await transact(partition, keys, (view) => createFamily(view, family, max), options)
    },
    async createCode(code, use) {
      const { sid, userId, createdAt: now } = code
      const keys = [...ofOneAndIndex(sid), ...(use === undefined ? [] : [sessionKey(use.sid)])]
      const options = { now, fresh: ofOneAndIndex(sid) }
      return await transact(requirePartition(sid, userId), keys, (view) => createCode(view, code, use, max), options)
    },
    redeemCode: (redemption) =>
      transact(
        partitionOfName(redemption.sid),
        ofOneAndIndex(redemption.sid),
        (view) => redeemCode(view, redemption, max),
        redemption
      ),

    findFamily: (sid, now) =>
      look(partitionOfName(sid), ofOne(sid), (view) => aliveFamily(view, sid, now)?.family ?? null),
    peekToken: (use) => look(partitionOfName(use.sid), ofOne(use.sid), (view) => peekToken(view, use)),
    useToken: (use) => transact(partitionOfName(use.sid), ofOne(use.sid), (view) => useToken(view, use), use),
    rotateToken: (use, next) =>
      transact(partitionOfName(use.sid), ofOne(use.sid), (view) => rotateToken(view, use, next), use),
    undoRotation: (undo) => transact(partitionOfName(undo.sid), ofOne(undo.sid), (view) => undoRotation(view, undo)),

    revokeFamily: (sid, userId) =>
      transact(partitionOfName(sid), ofOneAndIndex(sid), (view) => revokeFamily(view, sid, userId)),
    revokeFamiliesOfUser: (userId, exceptSid) =>
      transact(partitionOf(userId), index, (view) => revokeFamiliesOfUser(view, userId, exceptSid)),
    revokeFamiliesOfClient: (userId, clientId) =>
      transact(partitionOf(userId), index, (view) => revokeFamiliesOfClient(view, userId, clientId)),
    revokeSession: (userId, sid, clientId) =>
      transact(partitionOf(userId), [...index, sessionKey(sid)], (view) => revokeSession(view, userId, sid, clientId)),
    listFamiliesOfUser: (userId, now) =>
      look(partitionOf(userId), index, (view) => listFamiliesOfUser(view, userId, now))
  }
}
