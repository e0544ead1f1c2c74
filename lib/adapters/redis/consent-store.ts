import type { Consent, ConsentStore } from '../../ports/consent-store.ts'
import type { RedisConnection } from './connection.ts'
import type { Names } from './names.ts'
import { isOne, jsonText, list, texts, whole } from './replies.ts'
import { defineKeyScript, SLACK } from './script.ts'

/**
 * All consents of a user are one string, packed with cmsgpack, in the order in which their clients came: nobody has
 * many, and they are mostly asked for together. KEYS[1] is that key.
 */
const CONSENTS = `
${SLACK}
-- Behind the fields of each is its version; those of 0.1.0 have none.
local FORM = 1
local CLIENT, GRANTED_AT, EXPIRES_AT, SCOPES, VERSION = 1, 2, 3, 4, 5
local key = KEYS[1]

-- nil: they can't be read.
local function look ()
  local packed = redis.call('GET', key)
  if not packed then return {} end
  local done, consents = pcall(cmsgpack.unpack, packed)
  if not done or type(consents) ~= 'table' then return nil end
  for _, consent in ipairs(consents) do
    if type(consent) ~= 'table' or #consent < SCOPES or (consent[VERSION] or FORM) ~= FORM then return nil end
  end
  return consents
end

local function read ()
  return look() or error('consents of another form')
end

local function isValid (consent, now) return now < consent[EXPIRES_AT] end
`

/** ARGV: client, now. */
const FIND = defineKeyScript(`${CONSENTS}
for _, consent in ipairs(read()) do
  if consent[CLIENT] == ARGV[1] and isValid(consent, tonumber(ARGV[2])) then return consent end
end
return false
`)

/** ARGV: client, grantedAt, expiresAt, scopes. */
const GRANT = defineKeyScript(`${CONSENTS}
local client, now, expiresAt = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local kept, granted, longest = {}, nil, expiresAt
for _, consent in ipairs(read()) do
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
  granted = { client, now, expiresAt, {}, FORM }
  table.insert(kept, granted)
end
granted[GRANTED_AT], granted[EXPIRES_AT] = now, expiresAt
local seen = {}
for _, scope in ipairs(granted[SCOPES]) do seen[scope] = true end
for at = 4, #ARGV do
  if not seen[ARGV[at]] then table.insert(granted[SCOPES], ARGV[at]) end
  seen[ARGV[at]] = true
end
redis.call('SET', key, cmsgpack.pack(kept), 'PX', math.max(0, math.ceil(longest - now)) + SLACK_MS)
return 1
`)

/** ARGV: client. */
const REVOKE = defineKeyScript(`${CONSENTS}
local consents = look()
-- Nobody can take back what nobody can read: all of it goes, and each client asks again.
if not consents then return redis.call('DEL', key) end
for at, consent in ipairs(consents) do
  if consent[CLIENT] == ARGV[1] then
    table.remove(consents, at)
    if #consents == 0 then redis.call('DEL', key) else redis.call('SET', key, cmsgpack.pack(consents), 'KEEPTTL') end
    return 1
  end
end
return 0
`)

/** ARGV: now. In the order they were added in. */
const LIST = defineKeyScript(`${CONSENTS}
local found = {}
for _, consent in ipairs(read()) do
  if isValid(consent, tonumber(ARGV[1])) then table.insert(found, consent) end
end
return found
`)

function consentIn(userId: string, reply: unknown): Consent {
  const [client, grantedAt, expiresAt, scopes] = list(reply)
  return {
    userId,
    clientId: jsonText(client),
    scopes: texts(scopes),
    grantedAt: whole(grantedAt),
    expiresAt: whole(expiresAt)
  }
}

/** Consents in Redis: a method is one script. */
export function redisConsentStore({ run }: RedisConnection, names: Names): ConsentStore {
  return {
    async findConsent(userId, clientId, now) {
      const reply = await run(FIND, names.consentsOf(userId), [JSON.stringify(clientId), now])
      return reply === null ? null : consentIn(userId, reply)
    },
    async grantConsent({ userId, clientId, scopes, grantedAt, expiresAt }) {
      await run(GRANT, names.consentsOf(userId), [JSON.stringify(clientId), grantedAt, expiresAt, ...scopes])
    },
    async revokeConsent(userId, clientId) {
      return isOne(await run(REVOKE, names.consentsOf(userId), [JSON.stringify(clientId)]))
    },
    async listConsents(userId, now) {
      const consents = list(await run(LIST, names.consentsOf(userId), [now])).map((reply) => consentIn(userId, reply))
      return consents.reverse().sort((a, b) => b.grantedAt - a.grantedAt)
    }
  }
}
