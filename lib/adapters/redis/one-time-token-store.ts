import {
  type CodeOutcome,
  MAX_CODE_FAILURES,
  type OneTimeToken,
  type OneTimeTokenPurpose,
  type OneTimeTokenStore
} from '../../ports/one-time-token-store.ts'
import type { RedisConnection } from './connection.ts'
import { ownerOf, requirePartition } from './names.ts'
import type { Names } from './names.ts'
import { isOne, jsonText, list, text, whole } from './replies.ts'
import { defineScript, SLACK } from './script.ts'

/**
 * A token is a record by its digest and an entry by its user, which names the digest: the next one for the same
 * purpose, and a discard, find it by that. ARGV[1] is the purpose.
 */
const TOKENS = `
${SLACK}
-- Behind the fields is the version; a token of 0.1.0 has none.
local FORM = 1
local OWNER, USER, EXPIRES_AT, VERSION = 1, 2, 3, 4
-- Of a code, once a wrong one was tried: how many of those were, and until when they count.
local FAILURES, FAILURES_UNTIL = 5, 6
local function keyOf (digest) return KEYS[1] .. ':t:' .. ARGV[1] .. ':' .. digest end
local function entryOf (owner) return KEYS[1] .. ':tu:' .. ARGV[1] .. ':' .. owner end

local function valid (digest, now)
  local packed = redis.call('GET', keyOf(digest))
  local token = packed and cmsgpack.unpack(packed)
  if token and (token[VERSION] or FORM) ~= FORM then error('a token of another form') end
  -- Without its entry, which a server short of memory may throw away, neither a discard nor the next token would end it.
  return token and now < token[EXPIRES_AT] and redis.call('GET', entryOf(token[OWNER])) == digest and token
end

local function discard (owner)
  local digest = redis.call('GET', entryOf(owner))
  if digest then redis.call('DEL', keyOf(digest), entryOf(owner)) end
end
`

/** ARGV: purpose, digest, owner, user, expiresAt. 0: the digest is another user's. */
const PUT = defineScript(`${TOKENS}
local digest, owner, expiresAt = ARGV[2], ARGV[3], tonumber(ARGV[5])
local former = redis.call('GET', entryOf(owner))
former = former and redis.call('GET', keyOf(former))
former = former and cmsgpack.unpack(former) or {}
discard(owner)
if redis.call('EXISTS', keyOf(digest)) == 1 then return 0 end
-- The caller doesn't say what time it is. By this clock it is only freed, never judged.
local time = redis.call('TIME')
local ttl = math.max(0, math.ceil(expiresAt - time[1] * 1000 - time[2] / 1000)) + SLACK_MS
redis.call('SET', keyOf(digest), cmsgpack.pack({ owner, ARGV[4], expiresAt, FORM, former[FAILURES], former[FAILURES_UNTIL] }), 'PX', ttl)
redis.call('SET', entryOf(owner), digest, 'PX', ttl)
return 1
`)

/** ARGV: purpose, digest, now. */
const FIND = defineScript(`${TOKENS}
local token = valid(ARGV[2], tonumber(ARGV[3]))
return token and { token[USER], token[EXPIRES_AT] }
`)

/** ARGV: purpose, digest, now. */
const CONSUME = defineScript(`${TOKENS}
local token = valid(ARGV[2], tonumber(ARGV[3]))
if not token then return false end
discard(token[OWNER])
redis.call('DEL', keyOf(ARGV[2]))
return { token[USER], token[EXPIRES_AT] }
`)

/** ARGV: purpose, owner, digest, now. */
const REDEEM = defineScript(`${TOKENS}
local owner, now = ARGV[2], tonumber(ARGV[4])
local digest = redis.call('GET', entryOf(owner))
local token = digest and valid(digest, now)
if not token then return 'unknown' end
local counts = now < (token[FAILURES_UNTIL] or 0)
if counts and token[FAILURES] >= ${MAX_CODE_FAILURES} then return 'spent' end
if digest == ARGV[3] then
  discard(owner)
  return 'redeemed'
end
token[FAILURES] = counts and token[FAILURES] + 1 or 1
token[FAILURES_UNTIL] = counts and token[FAILURES_UNTIL] or token[EXPIRES_AT]
redis.call('SET', keyOf(digest), cmsgpack.pack(token), 'KEEPTTL')
return 'wrong'
`)

/** ARGV: purpose, owner. */
const DISCARD = defineScript(`${TOKENS}
discard(ARGV[2])
return 1
`)

function tokenIn(purpose: OneTimeTokenPurpose, digest: string, reply: unknown): OneTimeToken | null {
  if (reply === null) return null
  const [user, expiresAt] = list(reply)
  return { purpose, digest, userId: jsonText(user), expiresAt: whole(expiresAt) }
}

/** One-time tokens in Redis: a method is one script. */
export function redisOneTimeTokenStore({ run }: RedisConnection, names: Names): OneTimeTokenStore {
  return {
    async put({ purpose, digest, userId, expiresAt }) {
      requirePartition(digest, userId)
      const isPut = isOne(
        await run(PUT, names.rootOf(digest), [purpose, digest, ownerOf(userId), JSON.stringify(userId), expiresAt])
      )
      if (!isPut) throw new TypeError('A token with this digest exists.')
    },
    async find(purpose, digest, now) {
      return tokenIn(purpose, digest, await run(FIND, names.rootOf(digest), [purpose, digest, now]))
    },
    async consume(purpose, digest, now) {
      return tokenIn(purpose, digest, await run(CONSUME, names.rootOf(digest), [purpose, digest, now]))
    },
    async discard(purpose, userId) {
      await run(DISCARD, names.rootOfUser(userId), [purpose, ownerOf(userId)])
    },
    async redeemCode({ purpose, owner, codeDigest, now }) {
      return text(await run(REDEEM, names.rootOfUser(owner), [purpose, ownerOf(owner), codeDigest, now])) as CodeOutcome
    }
  }
}
