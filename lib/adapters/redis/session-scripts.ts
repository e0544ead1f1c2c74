import { MAX_SECRETS } from '../../ports/session-store.ts'
import { recordsLua } from './records.ts'
import { defineScript } from './script.ts'

/** The scripts of browser sessions. KEYS[1] is the root of the user's partition. */
const SESSIONS = `${recordsLua({ record: 's', index: 'su', fields: 9, version: 10 })}
local FACTS, AUTHENTICATED_AT, CLIENTS, DIGESTS = 6, 7, 8, 9
-- Behind the version, where releases that do not know of it leave it alone.
local METHODS = 11

-- What goes out: no digest.
local function public (sid, record)
  local fields = { sid }
  for field = CREATED_AT, CLIENTS do fields[field] = record[field] end
  fields[CLIENTS + 1] = record[METHODS] or false
  return fields
end

local function has (texts, wanted)
  for _, text in ipairs(texts) do
    if text == wanted then return true end
  end
  return false
end
`

/**
 * ARGV: sid, max, digest, then the fields from owner to `authenticatedAt`, the methods, and the clients. 0: the sid is
 * taken.
 */
export const CREATE = defineScript(`${SESSIONS}
local sid = ARGV[1]
if redis.call('EXISTS', keyOf(sid)) == 1 then return 0 end
local record = {}
for field = OWNER, AUTHENTICATED_AT do record[field] = ARGV[field + 3] end
for field = CREATED_AT, LAST_USED_AT do record[field] = tonumber(record[field]) end
record[AUTHENTICATED_AT] = tonumber(record[AUTHENTICATED_AT])
record[CLIENTS] = {}
record[METHODS] = ARGV[AUTHENTICATED_AT + 4]
for at = AUTHENTICATED_AT + 5, #ARGV do table.insert(record[CLIENTS], ARGV[at]) end
record[DIGESTS] = { ARGV[3] }
local now = record[CREATED_AT]
write(sid, record, now)
enlist(sid, record, 0, now)
bound(record[OWNER], sid, 0, tonumber(ARGV[2]), now)
return 1
`)

/** ARGV: sid, now, digest. */
export const FIND = defineScript(`${SESSIONS}
local record = alive(ARGV[1], tonumber(ARGV[2]))
return record and has(record[DIGESTS], ARGV[3]) and public(ARGV[1], record)
`)

/**
 * Lua that returns 0 where the session is not alive, and goes on where it has been used. `from`: the place in ARGV of
 * sid, now, idleExpiresAt and client (empty: none).
 */
export const usingSession = (from: number): string => `do
${SESSIONS}
  local sid, now, client = ARGV[${from}], tonumber(ARGV[${from + 1}]), ARGV[${from + 3}]
  local record = alive(sid, now)
  if not record then return 0 end
  record[LAST_USED_AT] = now
  record[IDLE_EXPIRES_AT] = math.min(tonumber(ARGV[${from + 2}]), record[EXPIRES_AT])
  if client ~= '' and not has(record[CLIENTS], client) then table.insert(record[CLIENTS], client) end
  write(sid, record, now)
end
`

export const USE = defineScript(`${usingSession(1)}
return 1
`)

/** ARGV: sid, now, owner, former digest, digest, expiresAt, idleExpiresAt, methods. */
export const RENEW = defineScript(`${SESSIONS}
local sid, now, former = ARGV[1], tonumber(ARGV[2]), ARGV[4]
local record = alive(sid, now)
if not record or record[OWNER] ~= ARGV[3] then return 0 end
local digests = {}
for _, digest in ipairs(record[DIGESTS]) do
  if digest ~= former then table.insert(digests, digest) end
end
table.insert(digests, ARGV[5])
while #digests > ${MAX_SECRETS} do table.remove(digests, 1) end
record[DIGESTS] = digests
record[AUTHENTICATED_AT], record[LAST_USED_AT] = now, now
record[METHODS] = ARGV[8]
record[EXPIRES_AT], record[IDLE_EXPIRES_AT] = tonumber(ARGV[6]), tonumber(ARGV[7])
write(sid, record, now)
enlist(sid, record, 0, now)
return 1
`)

/**
 * Lua that ends the session and leaves in `session` what it was, or `false`. `from`: the place in ARGV of owner and
 * sid.
 */
export const endingSession = (from: number): string => `local session = false
do
${SESSIONS}
  local owner, sid = ARGV[${from}], ARGV[${from + 1}]
  local record = readToEnd(sid, owner)
  if record then
    remove(owner, sid)
    session = public(sid, record)
  end
end
`

/** ARGV: owner, the sid that stays (empty: none). */
export const REVOKE_OF_USER = defineScript(`${SESSIONS}
local ended = {}
for _, one in ipairs(endThose(ARGV[1], ARGV[2], function () return true end)) do
  if one.record then ended[#ended + 1] = public(one.sid, one.record) end
end
return ended
`)

/** ARGV: owner, now. In the order they were added in. */
export const LIST = defineScript(`${SESSIONS}
local found = {}
for _, one in ipairs(recordsOf(ARGV[1])) do
  if isAlive(one.record, tonumber(ARGV[2])) then table.insert(found, public(one.sid, one.record)) end
end
return found
`)
