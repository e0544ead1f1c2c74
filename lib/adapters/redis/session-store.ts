import type { BrowserSession, SessionStore } from '../../ports/session-store.ts'
import { formatProofs, readProofs } from '../../protocol/authentication.ts'
import type { RedisConnection } from './connection.ts'
import { ownerOf, requirePartition } from './names.ts'
import type { Names } from './names.ts'
import { isOne, jsonList, jsonText, list, text, textOrNull, whole } from './replies.ts'
import { CREATE, FIND, LIST, RENEW, REVOKE_OF_USER, USE } from './session-scripts.ts'

/** Reads what the Lua function `public` of the scripts returns. */
export function sessionIn(reply: unknown): BrowserSession {
  const [sid, createdAt, expiresAt, idleExpiresAt, lastUsedAt, facts, of, clients, methods] = list(reply)
  const [userId, userAgent] = jsonList(facts)
  const authenticatedAt = whole(of)
  return {
    sid: text(sid),
    userId: text(userId),
    authenticatedAt,
    methods: readProofs(methods, authenticatedAt),
    createdAt: whole(createdAt),
    lastUsedAt: whole(lastUsedAt),
    expiresAt: whole(expiresAt),
    idleExpiresAt: whole(idleExpiresAt),
    userAgent: textOrNull(userAgent),
    clientIds: list(clients).map(jsonText)
  }
}

/**
 * Browser sessions in Redis: a method is one script. A user has at most `maxSessionsPerUser`: one more ends the one
 * created first.
 */
export function redisSessionStore({ run }: RedisConnection, names: Names, maxSessionsPerUser: number): SessionStore {
  return {
    async createSession(
      { sid, userId, authenticatedAt, methods, createdAt, lastUsedAt, expiresAt, idleExpiresAt, userAgent, clientIds },
      digest
    ) {
      requirePartition(sid, userId)
      const isCreated = isOne(
        await run(CREATE, names.rootOf(sid), [
          sid,
          maxSessionsPerUser,
          digest,
          ownerOf(userId),
          createdAt,
          expiresAt,
          idleExpiresAt,
          lastUsedAt,
          JSON.stringify([userId, userAgent]),
          authenticatedAt,
          formatProofs({ methods, authenticatedAt }),
          ...clientIds.map((clientId) => JSON.stringify(clientId))
        ])
      )
      if (!isCreated) throw new TypeError('A session with this sid exists.')
    },

    async findSession(sid, digest, now) {
      const reply = await run(FIND, names.rootOf(sid), [sid, now, digest])
      return reply === null ? null : sessionIn(reply)
    },

    async useSession({ sid, now, idleExpiresAt, clientId }) {
      return isOne(
        await run(USE, names.rootOf(sid), [
          sid,
          now,
          idleExpiresAt,
          clientId === undefined ? '' : JSON.stringify(clientId)
        ])
      )
    },

    async renewSession({ sid, userId, formerDigest, digest, now, methods, expiresAt, idleExpiresAt }) {
      return isOne(
        await run(RENEW, names.rootOf(sid), [
          sid,
          now,
          ownerOf(userId),
          formerDigest,
          digest,
          expiresAt,
          idleExpiresAt,
          formatProofs({ methods, authenticatedAt: now })
        ])
      )
    },

    async revokeSessionsOfUser(userId, exceptSid) {
      return list(await run(REVOKE_OF_USER, names.rootOfUser(userId), [ownerOf(userId), exceptSid ?? ''])).map(
        sessionIn
      )
    },

    async listSessionsOfUser(userId, now) {
      const sessions = list(await run(LIST, names.rootOfUser(userId), [ownerOf(userId), now])).map(sessionIn)
      // Of those created at once, the last added comes first; the sort leaves it so.
      return sessions.reverse().sort((a, b) => b.createdAt - a.createdAt)
    }
  }
}
