import type { SessionUse } from '../../ports/session-store.ts'
import type { ReplacedToken, TokenStore } from '../../ports/token-store.ts'
import type { RedisConnection } from './connection.ts'
import { argumentsOf, encoded, familyIn, fieldsOf } from './family-records.ts'
import {
  CREATE,
  CREATE_IN_SESSION,
  FIND,
  LIST,
  PEEK,
  REDEEM,
  REVOKE,
  REVOKE_OF_CLIENT,
  REVOKE_OF_USER,
  REVOKE_SESSION,
  ROTATE,
  UNDO,
  USE
} from './family-scripts.ts'
import { ownerOf, requirePartition } from './names.ts'
import type { Names } from './names.ts'
import { isOne, list, text, texts, whole } from './replies.ts'
import { sessionIn } from './session-store.ts'

function replacedIn(reply: unknown): ReplacedToken | null {
  if (reply === null) return null
  const [digest, rotatedAt, sealed] = list(reply)
  return { digest: text(digest), rotatedAt: whole(rotatedAt), sealed: text(sealed) }
}

const unexpected = (outcome: unknown): TypeError => new TypeError(`A script on families answered ${String(outcome)}.`)

/**
 * Refresh token families and authorization codes in Redis: a method is one script. A user has at most
 * `maxFamiliesPerUser` families that are offline, as many that are not, and as many codes that wait: one more ends the
 * one created first.
 */
export function redisTokenStore(connection: RedisConnection, names: Names, maxFamiliesPerUser: number): TokenStore {
  const { run } = connection
  const max = String(maxFamiliesPerUser)

  async function create(created: Parameters<typeof fieldsOf>[0], use?: SessionUse): Promise<boolean> {
    requirePartition(created.sid, created.userId)
    const args: Array<string | number> = [created.sid, max, ...fieldsOf(created)]
    if (use !== undefined) {
      // Both are of one user, and so in one slot.
      requirePartition(use.sid, created.userId)
      args.push(use.sid, use.now, use.idleExpiresAt, use.clientId === undefined ? '' : JSON.stringify(use.clientId))
    }
    const reply = await run(use === undefined ? CREATE : CREATE_IN_SESSION, names.rootOf(created.sid), args)
    if (reply === -1) throw new TypeError('A family with this sid exists.')
    return isOne(reply)
  }

  return {
    createFamily: async (created) => {
      await create(created)
    },
    createCode: create,

    async redeemCode({
      sid,
      digest,
      clientId,
      now,
      tokenDigest,
      expiresAt,
      idleExpiresAt,
      onlineExpiresAt,
      userAgent
    }) {
      const args = [
        sid,
        max,
        digest,
        encoded(clientId),
        now,
        tokenDigest,
        expiresAt,
        idleExpiresAt,
        onlineExpiresAt,
        encoded(userAgent)
      ]
      const [outcome, family] = list(await run(REDEEM, names.rootOf(sid), args))
      switch (outcome) {
        case 'unknown':
          return { outcome }
        case 'redeemed':
        case 'replayed':
          return { outcome, family: familyIn(family) }
        default:
          throw unexpected(outcome)
      }
    },

    async findFamily(sid, now) {
      const reply = await run(FIND, names.rootOf(sid), [sid, now])
      return reply === null ? null : familyIn(reply)
    },

    async peekToken({ sid, digest, now, graceMs }) {
      const reply = await run(PEEK, names.rootOf(sid), [sid, now, digest, graceMs])
      return reply === null ? null : familyIn(reply)
    },

    async useToken(use) {
      const [outcome, family] = list(await run(USE, names.rootOf(use.sid), argumentsOf(use)))
      switch (outcome) {
        case 'unknown':
          return { outcome }
        case 'used':
        case 'replayed':
          return { outcome, family: familyIn(family) }
        default:
          throw unexpected(outcome)
      }
    },

    async rotateToken(use, next) {
      const args = [...argumentsOf(use), next.digest, next.sealed]
      const [outcome, family, rest, current] = list(await run(ROTATE, names.rootOf(use.sid), args))
      switch (outcome) {
        case 'unknown':
          return { outcome }
        case 'replayed':
          return { outcome, family: familyIn(family) }
        case 'repeated':
          return {
            outcome,
            family: familyIn(family),
            sealed: text(rest),
            undo: { sid: use.sid, digest: text(current), replacedDigest: use.digest, former: null }
          }
        case 'rotated':
          return {
            outcome,
            family: familyIn(family),
            undo: { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: replacedIn(rest) }
          }
        default:
          throw unexpected(outcome)
      }
    },

    async undoRotation({ sid, digest, replacedDigest, former }) {
      const restored = former === null ? [] : [former.digest, former.rotatedAt, former.sealed]
      await run(UNDO, names.rootOf(sid), [sid, digest, replacedDigest, ...restored])
    },

    async revokeFamily(sid, userId) {
      return isOne(await run(REVOKE, names.rootOf(sid), [sid, userId === undefined ? '' : ownerOf(userId)]))
    },

    async revokeFamiliesOfUser(userId, exceptSid) {
      return texts(await run(REVOKE_OF_USER, names.rootOfUser(userId), [ownerOf(userId), exceptSid ?? '']))
    },

    async revokeSession(userId, sessionSid, clientId) {
      const [session, sids] = list(
        await run(REVOKE_SESSION, names.rootOfUser(userId), [
          ownerOf(userId),
          sessionSid,
          encoded(sessionSid),
          clientId === undefined ? '' : encoded(clientId)
        ])
      )
      return { session: session === null ? null : sessionIn(session), sids: texts(sids) }
    },

    async revokeFamiliesOfClient(userId, clientId) {
      return texts(await run(REVOKE_OF_CLIENT, names.rootOfUser(userId), [ownerOf(userId), encoded(clientId)]))
    },

    async listFamiliesOfUser(userId, now) {
      const families = list(await run(LIST, names.rootOfUser(userId), [ownerOf(userId), now])).map(familyIn)
      // Of those created at once, the last added comes first; the sort leaves it so.
      return families.reverse().sort((a, b) => b.createdAt - a.createdAt)
    }
  }
}
