import { recordsLua } from './records.ts'
import { defineScript } from './script.ts'
import { endingSession, usingSession } from './session-scripts.ts'

/**
 * The scripts of families and codes. KEYS[1] is the root of the user's partition. An absent field is `false`, which no
 * argument equals. A code is a record without a current token.
 */
const FAMILIES = `${recordsLua({ record: 'f', index: 'fu', fields: 12, version: 17 })}
local FACTS, USER_AGENT, CLIENT, SESSION, OFFLINE, CODE, CURRENT = 6, 7, 8, 9, 10, 11, 12
-- The token that the current one replaced, when, the current one sealed under it, and whether a second call got that.
-- HOLDERS: how many calls got the current token and have not given it back; false: it is somebody's for good.
local REPLACED, ROTATED_AT, SEALED, HOLDERS = 13, 14, 15, 16

-- Each kind is bounded on its own: codes and online families are many and short-lived, and must not push out the offline family of a device.
local KIND_CODE, KIND_ONLINE, KIND_OFFLINE = 0, 1, 2
local function kindOf (record)
  if not record[CURRENT] then return KIND_CODE end
  return record[OFFLINE] == '1' and KIND_OFFLINE or KIND_ONLINE
end

-- What goes out: no digest and nothing sealed.
local function public (sid, record)
  local fields = { sid }
  for field = CREATED_AT, OFFLINE do fields[field] = record[field] end
  return fields
end

local function aliveFamily (sid, now)
  local record = alive(sid, now)
  return record and record[CURRENT] and record
end

-- Which of the family's tokens is presented.
local function presented (record, digest, now, graceMs)
  if record[CURRENT] == digest then return 'current' end
  if record[REPLACED] == digest and graceMs > 0 and now - record[ROTATED_AT] <= graceMs then return 'replaced' end
  return 'replay'
end

local function touch (sid, record, now, idleExpiresAt)
  record[LAST_USED_AT] = now
  record[IDLE_EXPIRES_AT] = math.min(idleExpiresAt, record[EXPIRES_AT])
  write(sid, record, now)
end

local function sidsOf (ended)
  local sids = {}
  for at, one in ipairs(ended) do sids[at] = one.sid end
  return sids
end
`

const CREATING = `${FAMILIES}
local sid = ARGV[1]
local record = {}
for field = OWNER, CURRENT do record[field] = ARGV[field + 2] ~= '' and ARGV[field + 2] end
for field = CREATED_AT, LAST_USED_AT do record[field] = tonumber(record[field]) end
local now = record[CREATED_AT]
write(sid, record, now)
enlist(sid, record, kindOf(record), now)
bound(record[OWNER], sid, kindOf(record), tonumber(ARGV[2]), now)
return 1
`

const REFUSE_TAKEN = "if redis.call('EXISTS', KEYS[1] .. ':f:' .. ARGV[1]) == 1 then return -1 end\n"

/** ARGV: sid, max, then the fields from owner to current token. -1: the sid is taken. */
export const CREATE = defineScript(`${REFUSE_TAKEN}${CREATING}`)

/** The same for a code, with a use of its session behind it in ARGV. 0: that is not alive. */
export const CREATE_IN_SESSION = defineScript(`${REFUSE_TAKEN}${usingSession(15)}${CREATING}`)

/** ARGV: sid, max, digest, client, now, token digest, expiresAt, idleExpiresAt, onlineExpiresAt, user agent. */
export const REDEEM = defineScript(`${FAMILIES}
local sid, max, digest, client, now = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local record = alive(sid, now)
-- The client is looked at before anything that revokes, or one client could end what another was given.
if not record or not record[CODE] or record[CLIENT] ~= client then return { 'unknown' } end
if record[CURRENT] or record[CODE] ~= digest then
  remove(record[OWNER], sid)
  return { 'replayed', public(sid, record) }
end
record[CURRENT] = ARGV[6]
record[LAST_USED_AT] = now
record[EXPIRES_AT] = tonumber(record[OFFLINE] == '1' and ARGV[7] or ARGV[9])
record[IDLE_EXPIRES_AT] = tonumber(record[OFFLINE] == '1' and ARGV[8] or ARGV[9])
record[USER_AGENT] = ARGV[10]
write(sid, record, now)
enlist(sid, record, kindOf(record), now)
bound(record[OWNER], sid, kindOf(record), max, now)
return { 'redeemed', public(sid, record) }
`)

/** ARGV: sid, now. */
export const FIND = defineScript(`${FAMILIES}
local record = aliveFamily(ARGV[1], tonumber(ARGV[2]))
return record and public(ARGV[1], record)
`)

/** ARGV: sid, now, digest, graceMs. */
export const PEEK = defineScript(`${FAMILIES}
local now = tonumber(ARGV[2])
local record = aliveFamily(ARGV[1], now)
return record and presented(record, ARGV[3], now, tonumber(ARGV[4])) ~= 'replay' and public(ARGV[1], record)
`)

const USING = `${FAMILIES}
local sid, digest, client = ARGV[1], ARGV[3], ARGV[6]
local now, graceMs, idleExpiresAt = tonumber(ARGV[2]), tonumber(ARGV[4]), tonumber(ARGV[5])
local record = aliveFamily(sid, now)
if not record or (client ~= '' and client ~= record[CLIENT]) then return { 'unknown' } end
local which = presented(record, digest, now, graceMs)
if which == 'replay' then
  remove(record[OWNER], sid)
  return { 'replayed', public(sid, record) }
end
`

/** ARGV: sid, now, digest, graceMs, idleExpiresAt, client (empty: anyone's). */
export const USE = defineScript(`${USING}
touch(sid, record, now, idleExpiresAt)
return { 'used', public(sid, record) }
`)

/** ARGV: as for `USE`, then the successor's digest and the successor, sealed. */
export const ROTATE = defineScript(`${USING}
if which == 'replaced' then
  if record[HOLDERS] then
    record[HOLDERS] = record[HOLDERS] + 1
    rewrite(sid, record)
  end
  return { 'repeated', public(sid, record), record[SEALED], record[CURRENT] }
end
local former = record[REPLACED] and { record[REPLACED], record[ROTATED_AT], record[SEALED] } or false
record[REPLACED], record[ROTATED_AT], record[SEALED], record[HOLDERS] = digest, now, ARGV[8], 1
record[CURRENT] = ARGV[7]
touch(sid, record, now, idleExpiresAt)
return { 'rotated', public(sid, record), former }
`)

/** ARGV: sid, digest, replaced digest, then digest, rotatedAt and sealed of the former, where there was one. */
export const UNDO = defineScript(`${FAMILIES}
local sid = ARGV[1]
local record = read(sid)
if not record or record[CURRENT] ~= ARGV[2] or not record[HOLDERS] then return 0 end
record[HOLDERS] = record[HOLDERS] > 1 and record[HOLDERS] - 1
if not record[HOLDERS] then
  record[CURRENT] = ARGV[3]
  record[REPLACED], record[ROTATED_AT], record[SEALED] = ARGV[4] or false, tonumber(ARGV[5]) or false, ARGV[6] or false
end
rewrite(sid, record)
return 1
`)

/** ARGV: sid, owner (empty: anyone's). */
export const REVOKE = defineScript(`${FAMILIES}
local record = readToEnd(ARGV[1], ARGV[2])
if record then remove(record[OWNER], ARGV[1]) end
return record ~= false and 1 or 0
`)

/** ARGV: owner, the sid that stays (empty: none). */
export const REVOKE_OF_USER = defineScript(`${FAMILIES}
return sidsOf(endThose(ARGV[1], ARGV[2], function () return true end))
`)

/**
 * ARGV: owner, sid of the session, the same as a family has it, client whose offline families end as well (empty:
 * none's).
 */
export const REVOKE_SESSION = defineScript(`${endingSession(1)}${FAMILIES}
return { session, sidsOf(endThose(ARGV[1], '', function (one)
  return one.record[SESSION] == ARGV[3] and (one.kind ~= KIND_OFFLINE or one.record[CLIENT] == ARGV[4])
end)) }
`)

/** ARGV: owner, client. */
export const REVOKE_OF_CLIENT = defineScript(`${FAMILIES}
return sidsOf(endThose(ARGV[1], '', function (one) return one.record[CLIENT] == ARGV[2] end))
`)

/** ARGV: owner, now. In the order they were added in. */
export const LIST = defineScript(`${FAMILIES}
local found = {}
for _, one in ipairs(recordsOf(ARGV[1])) do
  if one.kind ~= KIND_CODE and isAlive(one.record, tonumber(ARGV[2])) then found[#found + 1] = public(one.sid, one.record) end
end
return found
`)
