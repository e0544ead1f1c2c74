import type { Consent, ConsentStore } from '../../ports/consent-store.ts'
import type { RedisConnection } from './connection.ts'
import { ownerOf } from './names.ts'
import type { Names } from './names.ts'
import { isOne, jsonText, list, texts, whole } from './replies.ts'
import { defineScript, type Script } from './script.ts'

/**
 * All consents of a user are one string, packed with cmsgpack, in the order in which their clients came: nobody has many, and they
 * are mostly asked for together. ARGV[1] is the owner.
 */
const CONSENTS = `
local SLACK_MS = 600000
local CLIENT, GRANTED_AT, EXPIRES_AT, SCOPES = 1, 2, 3, 4
local key = KEYS[1] .. ':c:' .. ARGV[1]
local packed = redis.call('GET', key)
local consents = packed and cmsgpack.unpack(packed) or {}

local function isValid (consent, now) return now < consent[EXPIRES_AT] end
`

/** ARGV: owner, client, now. */
const FIND = defineScript(`${CONSENTS}
for _, consent in ipairs(consents) do
  if consent[CLIENT] == ARGV[2] and isValid(consent, tonumber(ARGV[3])) then return consent end
end
return false
`)

/** ARGV: owner, client, grantedAt, expiresAt, scopes. */
const GRANT = defineScript(`${CONSENTS}
local client, now, expiresAt = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local kept, granted, longest = {}, nil, expiresAt
for _, consent in ipairs(consents) do
  if consent[CLIENT] == client then
    granted = consent
    -- One that has expired must not come to life again with the scopes it once had.
    if not isValid(consent, now) then consent[SCOPES] = {} end
    table.insert(kept, consent)
  elseif isValid(consent, now - SLACK_MS) then
    table.insert(kept, consent)
    longest = math.max(longest, consent[EXPIRES_AT])
  end
end
if not granted then
  granted = { client, now, expiresAt, {} }
  table.insert(kept, granted)
end
granted[GRANTED_AT], granted[EXPIRES_AT] = now, expiresAt
local seen = {}
for _, scope in ipairs(granted[SCOPES]) do seen[scope] = true end
for at = 5, #ARGV do
  if not seen[ARGV[at]] then table.insert(granted[SCOPES], ARGV[at]) end
  seen[ARGV[at]] = true
end
redis.call('SET', key, cmsgpack.pack(kept), 'PX', math.max(0, math.ceil(longest - now)) + SLACK_MS)
return 1
`)

/** ARGV: owner, client. */
const REVOKE = defineScript(`${CONSENTS}
for at, consent in ipairs(consents) do
  if consent[CLIENT] == ARGV[2] then
    table.remove(consents, at)
    if #consents == 0 then redis.call('DEL', key) else redis.call('SET', key, cmsgpack.pack(consents), 'KEEPTTL') end
    return 1
  end
end
return 0
`)

/** ARGV: owner, now. In the order they were added in. */
const LIST = defineScript(`${CONSENTS}
local found = {}
for _, consent in ipairs(consents) do
  if isValid(consent, tonumber(ARGV[2])) then table.insert(found, consent) end
end
return found
`)

export const CONSENT_SCRIPTS: readonly Script[] = [FIND, GRANT, REVOKE, LIST]

function consentIn (userId: string, reply: unknown): Consent {
  const [client, grantedAt, expiresAt, scopes] = list(reply)
  return { userId, clientId: jsonText(client), scopes: texts(scopes), grantedAt: whole(grantedAt), expiresAt: whole(expiresAt) }
}

/** Consents in Redis: a method is one script. */
export function redisConsentStore ({ run }: RedisConnection, names: Names): ConsentStore {
  return {
    async findConsent (userId, clientId, now) {
      const reply = await run(FIND, names.rootOfUser(userId), [ownerOf(userId), JSON.stringify(clientId), now])
      return reply === null ? null : consentIn(userId, reply)
    },
    async grantConsent ({ userId, clientId, scopes, grantedAt, expiresAt }) {
      await run(GRANT, names.rootOfUser(userId), [ownerOf(userId), JSON.stringify(clientId), grantedAt, expiresAt, ...scopes])
    },
    async revokeConsent (userId, clientId) {
      return isOne(await run(REVOKE, names.rootOfUser(userId), [ownerOf(userId), JSON.stringify(clientId)]))
    },
    async listConsents (userId, now) {
      const consents = list(await run(LIST, names.rootOfUser(userId), [ownerOf(userId), now])).map((reply) => consentIn(userId, reply))
      return consents.reverse().sort((a, b) => b.grantedAt - a.grantedAt)
    }
  }
}
