import { defineKeyScript, defineScript, SLACK } from './script.ts'

/**
 * All that a user has is one string, packed with cmsgpack: it is asked for together at every sign-in, and a script that
 * touches one declared key is right while its slot moves. It has no TTL. A factor is an array that begins with its id
 * and with what never changes of it, as JSON that no script reads.
 */
const FACTORS = `
local HANDLE, EPOCH, APPS, PASSKEYS, CODES, VERSION = 1, 2, 3, 4, 5, 6
local ID, FACTS, NAME, LAST_USED_AT = 1, 2, 3, 4
local SEALED, LAST_STEP, FAILURES, DISABLED = 5, 6, 7, 8
local CREDENTIAL, SIGN_COUNT, BACKED_UP, IN_SEVERAL_PLACES = 5, 6, 7, 8
local FORM = 1
${SLACK}

local function areFactors (factors, types)
  if type(factors) ~= 'table' then return false end
  for _, factor in ipairs(factors) do
    if type(factor) ~= 'table' or #factor ~= #types then return false end
    for field, name in ipairs(types) do
      if name ~= 'any' and type(factor[field]) ~= name then return false end
    end
  end
  return true
end

-- What the user has; nil: it can't be read.
local function lookAt (key)
  local packed = redis.call('GET', key)
  if not packed then return { false, 0, {}, {}, {}, FORM } end
  local done, held = pcall(cmsgpack.unpack, packed)
  if not done or type(held) ~= 'table' or held[VERSION] ~= FORM or type(held[EPOCH]) ~= 'number' or type(held[CODES]) ~= 'table' then return nil end
  if not areFactors(held[APPS], { 'string', 'string', 'string', 'any', 'string', 'number', 'number', 'boolean' }) then return nil end
  if not areFactors(held[PASSKEYS], { 'string', 'string', 'string', 'any', 'string', 'number', 'boolean', 'boolean' }) then return nil end
  return held
end

local function readFrom (key)
  return lookAt(key) or error('factors of another form')
end

local function read () return readFrom(KEYS[1]) end
local function write (held) redis.call('SET', KEYS[1], cmsgpack.pack(held)) end
local function moveEpoch (held) held[EPOCH] = held[EPOCH] + 1 end

local function find (factors, field, value)
  for at, factor in ipairs(factors) do
    if factor[field] == value then return factor, at end
  end
end

local function findById (held, id)
  return find(held[APPS], ID, id) or find(held[PASSKEYS], ID, id)
end

local function public (held)
  return { held[HANDLE], held[EPOCH], held[APPS], held[PASSKEYS], #held[CODES] }
end
`

export const FIND = defineKeyScript(`${FACTORS}
return public(read())
`)

/**
 * KEYS: the root. ARGV: handle. Replies the user and what they have. A handle's record is its owner, 16 characters, and
 * the user.
 */
export const FIND_BY_HANDLE = defineScript(`${FACTORS}
local record = redis.call('GET', KEYS[1] .. ':h:' .. ARGV[1])
if not record then return false end
local held = readFrom(KEYS[1] .. ':a:' .. string.sub(record, 1, 16))
return held[HANDLE] == ARGV[1] and { string.sub(record, 17), public(held) }
`)

/**
 * KEYS: factors, candidate. ARGV: candidate, owner and user. Replies the handle; false: the candidate is another
 * user's.
 */
export const CLAIM_HANDLE = defineKeyScript(`${FACTORS}
local held = read()
if held[HANDLE] then return held[HANDLE] end
local taken = redis.call('GET', KEYS[2])
if taken and taken ~= ARGV[2] then return false end
held[HANDLE] = ARGV[1]
redis.call('SET', KEYS[2], ARGV[2])
write(held)
return held[HANDLE]
`)

const ADD = `
local function add (kind, factor, limit, firstCode)
  local held = read()
  if findById(held, factor[ID]) or (kind == PASSKEYS and find(held[PASSKEYS], CREDENTIAL, factor[CREDENTIAL])) then return 'duplicate' end
  if #held[kind] >= limit then return 'full' end
  table.insert(held[kind], factor)
  moveEpoch(held)
  local outcome = 'added'
  if #held[CODES] == 0 and ARGV[firstCode] then
    for at = firstCode, #ARGV do table.insert(held[CODES], ARGV[at]) end
    outcome = 'added with codes'
  end
  write(held)
  return outcome
end
`

/** ARGV: limit, the fields as they are numbered, digests. */
export const ADD_TOTP = defineKeyScript(`${FACTORS}${ADD}
return add(APPS, { ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]) or false, ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9] == '1' }, tonumber(ARGV[1]), 10)
`)

/** Likewise. */
export const ADD_PASSKEY = defineKeyScript(`${FACTORS}${ADD}
return add(PASSKEYS, { ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]) or false, ARGV[6], tonumber(ARGV[7]), ARGV[8] == '1', ARGV[9] == '1' }, tonumber(ARGV[1]), 10)
`)

/** ARGV: id, step, now, secret or nothing. */
export const USE_TOTP = defineKeyScript(`${FACTORS}
local held = read()
local app = find(held[APPS], ID, ARGV[1])
if not app then return 'unknown' end
if app[DISABLED] then return 'disabled' end
if tonumber(ARGV[2]) <= app[LAST_STEP] then return 'replayed' end
for _, one in ipairs(held[APPS]) do
  if not one[DISABLED] then one[FAILURES] = 0 end
end
app[LAST_STEP], app[LAST_USED_AT] = tonumber(ARGV[2]), tonumber(ARGV[3])
if ARGV[4] then app[SEALED] = ARGV[4] end
write(held)
return 'used'
`)

/** ARGV: max. */
export const COUNT_FAILURE = defineKeyScript(`${FACTORS}
local held = read()
local outcome = 'unknown'
for _, app in ipairs(held[APPS]) do
  if not app[DISABLED] then
    app[FAILURES] = app[FAILURES] + 1
    app[DISABLED] = app[FAILURES] >= tonumber(ARGV[1])
    outcome = (app[DISABLED] or outcome == 'disabled') and 'disabled' or 'counted'
  end
end
if outcome ~= 'unknown' then write(held) end
return outcome
`)

/**
 * KEYS: factors, claim. ARGV: credential, claimExpiresAt, counter, backedUp, now. The TTL frees memory; nobody who asks
 * has the time judged by it.
 */
export const USE_PASSKEY = defineKeyScript(`${FACTORS}
local held = read()
local passkey = find(held[PASSKEYS], CREDENTIAL, ARGV[1])
if not passkey then return 'unknown' end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'replayed' end
local signCount, now = tonumber(ARGV[3]), tonumber(ARGV[5])
local hasRegressed = signCount <= passkey[SIGN_COUNT] and (signCount ~= 0 or passkey[SIGN_COUNT] ~= 0)
if hasRegressed and not passkey[IN_SEVERAL_PLACES] then return 'regressed' end
redis.call('SET', KEYS[2], '1', 'PX', math.max(0, math.ceil(tonumber(ARGV[2]) - now)) + SLACK_MS)
passkey[SIGN_COUNT], passkey[BACKED_UP], passkey[LAST_USED_AT] = signCount, ARGV[4] == '1', now
write(held)
return hasRegressed and 'used though regressed' or 'used'
`)

/** ARGV: digest. Replies how many are left; -1: there is no such code. */
export const USE_RECOVERY_CODE = defineKeyScript(`${FACTORS}
local held = read()
for at, digest in ipairs(held[CODES]) do
  if digest == ARGV[1] then
    table.remove(held[CODES], at)
    write(held)
    return #held[CODES]
  end
end
return -1
`)

/** ARGV: digests. */
export const REPLACE_RECOVERY_CODES = defineKeyScript(`${FACTORS}
local held = read()
if #held[APPS] + #held[PASSKEYS] == 0 then return 0 end
held[CODES] = {}
for at, digest in ipairs(ARGV) do held[CODES][at] = digest end
write(held)
return 1
`)

/** ARGV: id, keepOne. */
export const REMOVE = defineKeyScript(`${FACTORS}
local held = read()
local usable, kind, place = 0, nil, nil
for _, factors in ipairs({ APPS, PASSKEYS }) do
  for at, factor in ipairs(held[factors]) do
    if factor[ID] == ARGV[1] then
      kind, place = factors, at
    elseif factors == PASSKEYS or not factor[DISABLED] then
      usable = usable + 1
    end
  end
end
if not kind then return 'unknown' end
if ARGV[2] == '1' and usable == 0 then return 'last' end
table.remove(held[kind], place)
if #held[APPS] + #held[PASSKEYS] == 0 then held[CODES] = {} end
moveEpoch(held)
write(held)
return 'removed'
`)

/** ARGV: id, name. */
export const RENAME = defineKeyScript(`${FACTORS}
local held = read()
local factor = findById(held, ARGV[1])
if not factor then return 0 end
factor[NAME] = ARGV[2]
write(held)
return 1
`)

export const FORGET_DEVICES = defineKeyScript(`${FACTORS}
local held = read()
moveEpoch(held)
write(held)
return held[EPOCH]
`)

/**
 * What can't be read goes too, or nobody could begin anew; its epoch is not known, so the next is one that no user
 * comes to by changes.
 */
export const REMOVE_ALL = defineKeyScript(`${FACTORS}
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local held = lookAt(KEYS[1])
if held then
  moveEpoch(held)
  write({ held[HANDLE], held[EPOCH], {}, {}, {}, FORM })
  return #held[APPS] + #held[PASSKEYS]
end
local time = redis.call('TIME')
write({ false, time[1] * 1000000 + time[2], {}, {}, {}, FORM })
return 0
`)
