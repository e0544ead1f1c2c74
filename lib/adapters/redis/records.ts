import { SLACK } from './script.ts'

/**
 * Lua that the scripts of families and of browser sessions begin with. A record is one string: an array packed with
 * cmsgpack, which keeps whole numbers as JavaScript has them. A hash would take three times the memory, since digests
 * are too long for its compact form. The first five fields are the same in both.
 *
 * The records of a user stand in an index, a sorted set of their `sid`s. The score is four times the place in the order
 * in which they were added, plus their kind. Members whose record has gone are taken out when they are met.
 *
 * A record has a version behind its last field; those of 0.1.0 have none, and their readers overlook it. What is of
 * another version, or no record at all, is an error to all that would use it, and deleted by whatever revokes: nobody
 * could sign out of it else.
 *
 * Whether something has ended is judged by the caller's clock. The TTL only frees memory: what is left of the life by
 * that clock, and ten minutes more, so that no instance with a slower clock misses it.
 */
export const recordsLua = ({
  record,
  index,
  fields,
  version
}: {
  record: string
  index: string
  /** How many there are at the least. */
  fields: number
  /** Where the version stands. */
  version: number
}): string => `
${SLACK}
local FORM, VERSION = 1, ${version}
local OWNER, CREATED_AT, EXPIRES_AT, IDLE_EXPIRES_AT, LAST_USED_AT = 1, 2, 3, 4, 5

local function keyOf (sid) return KEYS[1] .. ':${record}:' .. sid end
local function indexOf (owner) return KEYS[1] .. ':${index}:' .. owner end

local function isRecord (record)
  if type(record) ~= 'table' or #record < ${fields} or (record[VERSION] or FORM) ~= FORM or type(record[OWNER]) ~= 'string' then return false end
  for field = CREATED_AT, LAST_USED_AT do
    if type(record[field]) ~= 'number' then return false end
  end
  return true
end

-- The record; false: there is none; nil: it can't be read.
local function look (sid)
  local packed = redis.call('GET', keyOf(sid))
  if not packed then return false end
  local done, record = pcall(cmsgpack.unpack, packed)
  if done and isRecord(record) then return record end
  return nil
end

local function read (sid)
  local record = look(sid)
  if record == nil then error('a record of another form') end
  return record
end

local function packed (record)
  for field = 1, VERSION - 1 do
    if record[field] == nil then record[field] = false end
  end
  record[VERSION] = FORM
  return cmsgpack.pack(record)
end

local function isAlive (record, now)
  return now < record[EXPIRES_AT] and now < record[IDLE_EXPIRES_AT]
end

-- A server that is short of memory may throw an index away. What no revocation of all that the user has would find must not live
-- on without it.
local function alive (sid, now)
  local record = read(sid)
  return record and isAlive(record, now) and redis.call('ZSCORE', indexOf(record[OWNER]), sid) and record
end

local function ttlUntil (ends, now)
  return math.max(0, math.ceil(ends - now)) + SLACK_MS
end

local function write (sid, record, now)
  redis.call('SET', keyOf(sid), packed(record), 'PX', ttlUntil(math.min(record[EXPIRES_AT], record[IDLE_EXPIRES_AT]), now))
end

-- Without a change of its life.
local function rewrite (sid, record)
  redis.call('SET', keyOf(sid), packed(record), 'KEEPTTL')
end

local function remove (owner, sid)
  redis.call('ZREM', indexOf(owner), sid)
  return redis.call('DEL', keyOf(sid)) == 1
end

-- Puts the record into the index of its owner, or gives it another kind there. The index lives as long as any of it can: to the
-- absolute end, which no use moves, so that a use has nothing to do here.
local function enlist (sid, record, kind, now)
  local index = indexOf(record[OWNER])
  local score = redis.call('ZSCORE', index, sid)
  local place = score and math.floor(tonumber(score) / 4)
  if not place then
    local last = redis.call('ZREVRANGE', index, 0, 0, 'WITHSCORES')[2]
    place = last and math.floor(tonumber(last) / 4) + 1 or 1
  end
  redis.call('ZADD', index, place * 4 + kind, sid)
  local ttl = ttlUntil(record[EXPIRES_AT], now)
  if redis.call('PTTL', index) < ttl then redis.call('PEXPIRE', index, ttl) end
end

-- For a revocation: the record, if there is one of that owner (empty: of anybody); else false. nil: it couldn't be read, and is deleted.
local function readToEnd (sid, owner)
  local record = look(sid)
  if record == nil then
    if owner ~= '' and not redis.call('ZSCORE', indexOf(owner), sid) then return false end
    remove(owner, sid)
    return nil
  end
  return record and (owner == '' or record[OWNER] == owner) and record
end

-- What the user has, in the order it was added in, as { sid, record, place, kind }; those that can't be read, without a record.
local function allOf (owner, kind)
  local index = indexOf(owner)
  local members = redis.call('ZRANGE', index, 0, -1, 'WITHSCORES')
  local found = {}
  for at = 1, #members, 2 do
    local sid, score = members[at], tonumber(members[at + 1])
    if not kind or score % 4 == kind then
      local record = look(sid)
      if record ~= false then
        found[#found + 1] = { sid = sid, record = record, place = score, kind = score % 4 }
      else
        redis.call('ZREM', index, sid)
      end
    end
  end
  return found
end

local function recordsOf (owner)
  local all = allOf(owner)
  for _, one in ipairs(all) do
    if not one.record then error('a record of another form') end
  end
  return all
end

-- Ends those of the user that the condition is true of, and all that can't be read but the sid kept, and returns them.
local function endThose (owner, kept, condition)
  local ended = {}
  for _, one in ipairs(allOf(owner)) do
    if one.sid ~= kept and (not one.record or condition(one)) then
      remove(owner, one.sid)
      ended[#ended + 1] = one
    end
  end
  return ended
end

-- Leaves the user max of a kind, the record sid among them: what has ended or can't be read goes first, then what was created first, then what was
-- added first. Records are read only where the index has more members than that.
local function bound (owner, sid, kind, max, now)
  local index = indexOf(owner)
  local size = redis.call('ZCARD', index)
  -- Those that ended by themselves would pile up until then: every eighth time they are looked for.
  if size % 8 == 0 then
    for _, member in ipairs(redis.call('ZRANGE', index, 0, -1)) do
      if redis.call('EXISTS', keyOf(member)) == 0 then redis.call('ZREM', index, member) end
    end
  end
  if size <= max then return end
  local others = {}
  for _, one in ipairs(allOf(owner, kind)) do
    if one.sid ~= sid then
      one.alive = one.record ~= nil and isAlive(one.record, now)
      one.createdAt = one.record and one.record[CREATED_AT] or 0
      others[#others + 1] = one
    end
  end
  table.sort(others, function (one, other)
    if one.alive ~= other.alive then return one.alive end
    if one.createdAt ~= other.createdAt then return one.createdAt > other.createdAt end
    return one.place > other.place
  end)
  for at = max, #others do remove(owner, others[at].sid) end
end
`
