import { createHash } from 'node:crypto'

/** Lua that has `KEYS` and `ARGV`, and whose globals are those of Redis alone. */
export interface Script {
  readonly lua: string
}

export function defineScript (lua: string): Script {
  return { lua }
}

/** Scripts that one command may run, any of them and as often as wanted. */
export interface Programme {
  readonly lua: string
  readonly sha1: string
  /** By what the programme calls it. */
  readonly numbers: ReadonlyMap<Script, number>
  /** A line of the programme as a line of the script that it belongs to. */
  lineOf(script: Script, line: number): number
}

const BEGIN = `local function script (number)
`

/**
 * ARGV[1]: as JSON, of each call the number of its script, the places of its keys in KEYS, and its arguments; one text costs the client
 * a tenth of what as many arguments do. The reply has of each call a list of its reply, or a string of the code of its error and the
 * line: one call's error is its own. But a server that takes no writes is told of as ever, by an error of the whole, since clients
 * of it listen for that.
 */
const END = `end
local outcomes = {}
for number, call in ipairs(cjson.decode(ARGV[1])) do
  local keys = {}
  for at, place in ipairs(call[2]) do keys[at] = KEYS[place] end
  local done, reply = pcall(script(call[1]), keys, call[3])
  local error_text
  if not done then
    error_text = type(reply) == 'table' and reply.err or tostring(reply)
  elseif type(reply) == 'table' then
    error_text = reply.err
  end
  if error_text then
    if string.find(error_text, 'READONLY', 1, true) then return redis.error_reply('READONLY This server takes no writes.') end
    local line = type(reply) == 'table' and reply.line or string.match(error_text, 'user_script:%s?(%d+)')
    outcomes[number] = (string.match(error_text, '^-?(%u+)') or 'ERR') .. ' ' .. (line or '')
  else
    if reply == nil then reply = false end
    outcomes[number] = { reply }
  end
end
return outcomes
`

/** A function is made when it is called for, so that a programme may be long. */
export function programmeOf (scripts: readonly Script[]): Programme {
  const numbers = new Map<Script, number>()
  const firstLines = new Map<Script, number>()
  let lua = BEGIN
  for (const script of new Set(scripts)) {
    numbers.set(script, numbers.size + 1)
    lua += `if number == ${numbers.size} then return function (KEYS, ARGV)\n`
    firstLines.set(script, lua.split('\n').length)
    lua += `${script.lua}\nend end\n`
  }
  lua += END
  return {
    lua,
    sha1: createHash('sha1').update(lua).digest('hex'),
    numbers,
    lineOf: (script, line) => line - (firstLines.get(script) ?? 1) + 1
  }
}

/** Programmes of one script, for those that are in no other. */
const programmesOfOne = new WeakMap<Script, Programme>()

export function programmeOfOne (script: Script): Programme {
  const known = programmesOfOne.get(script) ?? programmeOf([script])
  programmesOfOne.set(script, known)
  return known
}
