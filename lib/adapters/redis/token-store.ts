import type { CountedAttempt, OpenAttempt } from '../../ports/attempt-store.ts'
import type { ReplacedToken, TokenStore } from '../../ports/token-store.ts'
import type { RedisConnection } from './connection.ts'
import { type Done, runCounting, runGivingBack } from './counted.ts'
import { argumentsOf, encoded, familyIn, fieldsOf } from './family-records.ts'
import {
  CREATE, CREATE_GIVING_BACK, FIND, LIST, PEEK, REDEEM, REDEEM_COUNTING, REVOKE, REVOKE_OF_CLIENT, REVOKE_OF_SESSION, REVOKE_OF_USER, ROTATE, ROTATE_COUNTING,
  UNDO, USE, USE_COUNTING
} from './family-scripts.ts'
import { ownerOf, requirePartition } from './names.ts'
import type { Names } from './names.ts'
import { isOne, list, text, texts, whole } from './replies.ts'

function replacedIn (reply: unknown): ReplacedToken | null {
  if (reply === null) return null
  const [digest, rotatedAt, sealed] = list(reply)
  return { digest: text(digest), rotatedAt: whole(rotatedAt), sealed: text(sealed) }
}

const countedIn = ({ attempt }: Done): { attempt?: CountedAttempt } => attempt === undefined ? {} : { attempt }

const unexpected = (outcome: unknown): TypeError => new TypeError(`A script on families answered ${String(outcome)}.`)

/**
 * Refresh token families and authorization codes in Redis: a method is one script. A user has at most `maxFamiliesPerUser`
 * families that are offline, as many that are not, and as many codes that wait: one more ends the one created first.
 */
export function redisTokenStore (connection: RedisConnection, names: Names, maxFamiliesPerUser: number): TokenStore {
  const { run } = connection
  const max = String(maxFamiliesPerUser)

  async function create (created: Parameters<typeof fieldsOf>[0], attempt?: OpenAttempt): Promise<void> {
    requirePartition(created.sid, created.userId)
    const work = { script: CREATE, counting: CREATE_GIVING_BACK, root: names.rootOf(created.sid), args: [created.sid, max, ...fieldsOf(created)] }
    if (!isOne(await runGivingBack(connection, attempt, work))) throw new TypeError('A family with this sid exists.')
  }

  return {
    createFamily: create,
    createCode: async (code) => { await create(code) },

    async redeemCode ({ sid, digest, clientId, now, tokenDigest, expiresAt, idleExpiresAt, onlineExpiresAt, userAgent, attempt }) {
      const args = [sid, max, digest, encoded(clientId), now, tokenDigest, expiresAt, idleExpiresAt, onlineExpiresAt, encoded(userAgent)]
      const done = await runCounting(connection, attempt, { script: REDEEM, counting: REDEEM_COUNTING, root: names.rootOf(sid), args })
      if (done.reply === null) return { outcome: 'limited', ...countedIn(done) }
      const [outcome, family] = done.reply
      switch (outcome) {
        case 'unknown': return { outcome, ...countedIn(done) }
        case 'redeemed':
        case 'replayed': return { outcome, family: familyIn(family), ...countedIn(done) }
        default: throw unexpected(outcome)
      }
    },

    async findFamily (sid, now) {
      const reply = await run(FIND, names.rootOf(sid), [sid, now])
      return reply === null ? null : familyIn(reply)
    },

    async peekToken ({ sid, digest, now, graceMs }) {
      const reply = await run(PEEK, names.rootOf(sid), [sid, now, digest, graceMs])
      return reply === null ? null : familyIn(reply)
    },

    async useToken (use) {
      const done = await runCounting(connection, use.attempt, { script: USE, counting: USE_COUNTING, root: names.rootOf(use.sid), args: argumentsOf(use) })
      if (done.reply === null) return { outcome: 'limited', ...countedIn(done) }
      const [outcome, family] = done.reply
      switch (outcome) {
        case 'unknown': return { outcome, ...countedIn(done) }
        case 'used':
        case 'replayed': return { outcome, family: familyIn(family), ...countedIn(done) }
        default: throw unexpected(outcome)
      }
    },

    async rotateToken (use, next) {
      const args = [...argumentsOf(use), next.digest, next.sealed]
      const done = await runCounting(connection, use.attempt, { script: ROTATE, counting: ROTATE_COUNTING, root: names.rootOf(use.sid), args })
      if (done.reply === null) return { outcome: 'limited', ...countedIn(done) }
      const [outcome, family, rest, current] = done.reply
      switch (outcome) {
        case 'unknown': return { outcome, ...countedIn(done) }
        case 'replayed': return { outcome, family: familyIn(family), ...countedIn(done) }
        case 'repeated': return {
          outcome,
          family: familyIn(family),
          sealed: text(rest),
          undo: { sid: use.sid, digest: text(current), replacedDigest: use.digest, former: null },
          ...countedIn(done)
        }
        case 'rotated': return {
          outcome,
          family: familyIn(family),
          undo: { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: replacedIn(rest) },
          ...countedIn(done)
        }
        default: throw unexpected(outcome)
      }
    },

    async undoRotation ({ sid, digest, replacedDigest, former }) {
      const restored = former === null ? [] : [former.digest, former.rotatedAt, former.sealed]
      await run(UNDO, names.rootOf(sid), [sid, digest, replacedDigest, ...restored])
    },

    async revokeFamily (sid, userId) {
      return isOne(await run(REVOKE, names.rootOf(sid), [sid, userId === undefined ? '' : ownerOf(userId)]))
    },

    async revokeFamiliesOfUser (userId, exceptSid) {
      return texts(await run(REVOKE_OF_USER, names.rootOfUser(userId), [ownerOf(userId), exceptSid ?? '']))
    },

    async revokeFamiliesOfSession (userId, sessionSid, clientId) {
      return texts(await run(REVOKE_OF_SESSION, names.rootOfUser(userId), [
        ownerOf(userId), encoded(sessionSid), clientId === undefined ? '' : encoded(clientId)
      ]))
    },

    async revokeFamiliesOfClient (userId, clientId) {
      return texts(await run(REVOKE_OF_CLIENT, names.rootOfUser(userId), [ownerOf(userId), encoded(clientId)]))
    },

    async listFamiliesOfUser (userId, now) {
      const families = list(await run(LIST, names.rootOfUser(userId), [ownerOf(userId), now])).map(familyIn)
      // Of those created at once, the last added comes first; the sort leaves it so.
      return families.reverse().sort((a, b) => b.createdAt - a.createdAt)
    }
  }
}
