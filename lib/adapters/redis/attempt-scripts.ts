import { defineScript } from './script.ts'

/**
 * A counter is one string: 12 bytes an attempt, oldest first, 6 of its time in milliseconds and 6 of the digest of its
 * id. ARGV: the time (empty: the server's), the id, then name, windowMs and max of each limit. The reply, as one text:
 * 1 or 0, then of each limit how many are counted and when one more passes. A time given by a test may go slower than
 * the server's, hence the longer life.
 *
 * Times are whole milliseconds, each rounded to where the attempt stays in the window for longer: that of an attempt
 * up, that of now down. A time that lies ahead was written while the clock went ahead, and becomes that of now: it
 * blocks for one window from here.
 */
export const RESERVE = defineScript(`
local now = tonumber(ARGV[1])
local spare = 60000
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
  spare = 0
end
local later = math.ceil(now)
now = math.floor(now)
local logs, reply = {}, {1}
for i = 3, #ARGV, 3 do
  local window = tonumber(ARGV[i + 1])
  local log = redis.call('GET', KEYS[1] .. ':' .. ARGV[i]) or ''
  local first = 1
  while first < #log and now - struct.unpack('>I6', log, first) >= window do first = first + 12 end
  log = string.sub(log, first)
  if #log > 0 and struct.unpack('>I6', log, #log - 11) > later then
    local mended = {}
    for at = 1, #log, 12 do
      local time = math.min(later, (struct.unpack('>I6', log, at)))
      mended[#mended + 1] = struct.pack('>I6', time) .. string.sub(log, at + 6, at + 11)
    end
    log = table.concat(mended)
    redis.call('SET', KEYS[1] .. ':' .. ARGV[i], log, 'PX', later - now + window + spare)
  end
  logs[i] = log
  if #log / 12 >= tonumber(ARGV[i + 2]) then reply[1] = 0 end
end
for i = 3, #ARGV, 3 do
  local window, max, log = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), logs[i]
  if reply[1] == 1 then
    log = log .. struct.pack('>I6I6', later, tonumber(ARGV[2]))
    redis.call('SET', KEYS[1] .. ':' .. ARGV[i], log, 'PX', later - now + window + spare)
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
