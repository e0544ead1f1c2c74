import { defineScript, type Script } from './script.ts'

/**
 * A counter is one string: 12 bytes an attempt, oldest first, 6 of its time in milliseconds and 6 of the digest of its id.
 * ARGV: the time (empty: the server's), the id, then name, windowMs and max of each limit. The reply, as one text: 1 or 0, then of each
 * limit how many are counted and when one more passes. A time given by a test may go slower than the server's, hence the longer life.
 */
export const RESERVE = defineScript(`
local now = tonumber(ARGV[1])
local spare = 60000
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  spare = 0
end
local logs, reply = {}, {1}
for i = 3, #ARGV, 3 do
  local window = tonumber(ARGV[i + 1])
  local log = redis.call('GET', KEYS[1] .. ':' .. ARGV[i]) or ''
  local first = 1
  while first < #log and now - struct.unpack('>I6', log, first) >= window do first = first + 12 end
  log = string.sub(log, first)
  logs[i] = log
  if #log / 12 >= tonumber(ARGV[i + 2]) then reply[1] = 0 end
end
for i = 3, #ARGV, 3 do
  local window, max, log = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), logs[i]
  if reply[1] == 1 then
    -- A clock set back must not put this one before those that are there.
    local at = now
    if #log > 0 then at = math.max(now, (struct.unpack('>I6', log, #log - 11))) end
    log = log .. struct.pack('>I6I6', at, tonumber(ARGV[2]))
    redis.call('SET', KEYS[1] .. ':' .. ARGV[i], log, 'PX', at - now + window + spare)
  end
  local used = #log / 12
  local reset = 0
  if max < 1 then reset = window end
  -- Where max was lowered, more than one has to expire before the next passes.
  local frees = math.max(0, used - max) * 12 + 1
  if frees < #log then reset = struct.unpack('>I6', log, frees) + window - now end
  reply[#reply + 1] = string.format('%.14g %.14g', used, reset)
end
return table.concat(reply, ' ')
`)

/** ARGV: the id, then the name of each limit. */
export const REFUND = defineScript(`
local id = struct.pack('>I6', tonumber(ARGV[1]))
for i = 2, #ARGV do
  local key = KEYS[1] .. ':' .. ARGV[i]
  local log = redis.call('GET', key) or ''
  for at = #log - 11, 1, -12 do
    if string.sub(log, at + 6, at + 11) == id then
      if #log == 12 then
        redis.call('DEL', key)
      else
        redis.call('SET', key, string.sub(log, 1, at - 1) .. string.sub(log, at + 12), 'KEEPTTL')
      end
      break
    end
  end
end
return 1
`)

const PARTS = `
local function reserve (KEYS, ARGV)${RESERVE.lua}end
local function refund (KEYS, ARGV)${REFUND.lua}end
local function part (first, count)
  local args = {}
  for n = 1, count do args[n] = ARGV[first + n - 1] end
  return args
end
local counters = { KEYS[2] }
`

/**
 * A script that counts an attempt, does its work where all limits let it pass, and gives what counts failures only back where the work
 * succeeds: in one step, so that nobody learns or changes anything beyond a limit. KEYS[2] is the root of the counters.
 * ARGV: how many arguments `RESERVE` has, and those; how many `REFUND` has (0: nothing is given back), and those; those of the work.
 * The reply: that of `RESERVE`; then, where it lets the attempt pass, that of the work, and 1 where the attempt was given back. Where
 * the attempt could not be counted, the reply is empty, and nothing was done.
 */
export const counting = (work: Script, successes: readonly string[]): Script => defineScript(`${PARTS}
local function work (KEYS, ARGV)
${work.lua}
end
local SUCCESSES = { ${successes.map((outcome) => `${outcome} = true`).join(', ')} }
local reserves = tonumber(ARGV[1])
local refunds = tonumber(ARGV[2 + reserves])
local first = 3 + reserves + refunds
local done, standing = pcall(reserve, counters, part(2, reserves))
if not done then return {} end
if string.sub(standing, 1, 1) == '0' then return { standing } end
local reply = work(KEYS, part(first, #ARGV - first + 1))
local given_back = refunds > 0 and SUCCESSES[reply[1]] and pcall(refund, counters, part(3 + reserves, refunds))
return { standing, reply, given_back and 1 or 0 }
`)

/** A script that gives an attempt back where its work answers 1. ARGV: how many arguments `REFUND` has, and those; those of the work. */
export const givingBack = (work: Script): Script => defineScript(`${PARTS}
local function work (KEYS, ARGV)
${work.lua}
end
local refunds = tonumber(ARGV[1])
local reply = work(KEYS, part(2 + refunds, #ARGV - refunds - 1))
if reply == 1 then pcall(refund, counters, part(2, refunds)) end
return reply
`)

export const ATTEMPT_SCRIPTS: readonly Script[] = [RESERVE, REFUND]
