import type { KeyStore, StoredKey } from '../../ports/key-store.ts'
import type { RedisConnection } from './connection.ts'
import type { Names } from './names.ts'
import { isOne, json, list, text, whole } from './replies.ts'
import { defineKeyScript } from './script.ts'

/**
 * One hash: `kid` to algorithm, sequence and the rest, packed with cmsgpack. It is kept for 400 days after its last
 * write.
 */
const KEYS = `
local KEPT_MS = 34560000000
local ALG, SEQUENCE, REST = 1, 2, 3
`

const LIST = defineKeyScript(`${KEYS}
local found = {}
for _, packed in ipairs(redis.call('HVALS', KEYS[1])) do table.insert(found, cmsgpack.unpack(packed)[REST]) end
return found
`)

/** ARGV: kid, alg, sequence, rest. */
const ADD_IF_ABSENT = defineKeyScript(`${KEYS}
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
for _, packed in ipairs(redis.call('HVALS', KEYS[1])) do
  local known = cmsgpack.unpack(packed)
  if known[ALG] == ARGV[2] and known[SEQUENCE] == ARGV[3] then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack({ ARGV[2], ARGV[3], ARGV[4] }))
redis.call('PEXPIRE', KEYS[1], KEPT_MS)
return 1
`)

/** ARGV: kid. */
const REMOVE = defineKeyScript(`${KEYS}
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], KEPT_MS)
return 1
`)

function keyIn(reply: unknown): StoredKey {
  const [kid, alg, sequence, signsFrom, createdAt, publicJwk, sealed] = list(json(reply))
  return {
    kid: text(kid),
    alg: text(alg),
    sequence: whole(sequence),
    signsFrom: whole(signsFrom),
    createdAt: whole(createdAt),
    publicJwk: jwkIn(publicJwk),
    sealed: text(sealed)
  }
}

/** Without `__proto__`: copied on by plain assignment, that would become a prototype. */
function jwkIn(value: unknown): StoredKey['publicJwk'] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('Redis holds a key of another form.')
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== '__proto__'))
}

/** Signing keys in Redis: a method is one script. */
export function redisKeyStore({ run }: RedisConnection, { keys }: Names): KeyStore {
  return {
    async list() {
      return list(await run(LIST, keys, []))
        .map(keyIn)
        .sort((a, b) => (a.alg === b.alg ? a.sequence - b.sequence : a.alg < b.alg ? -1 : 1))
    },
    async addIfAbsent({ kid, alg, sequence, signsFrom, createdAt, publicJwk, sealed }) {
      return isOne(
        await run(ADD_IF_ABSENT, keys, [
          kid,
          alg,
          String(sequence),
          JSON.stringify([kid, alg, sequence, signsFrom, createdAt, publicJwk, sealed])
        ])
      )
    },
    async remove(kid) {
      await run(REMOVE, keys, [kid])
    }
  }
}
