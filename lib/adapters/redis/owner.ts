import type { RedisConnection } from './connection.ts'
import type { Names } from './names.ts'
import { text } from './replies.ts'
import { defineKeyScript } from './script.ts'

/** ARGV: the issuer. Like the signing keys, the record is kept for 400 days after it was last asked for. */
const CLAIM = defineKeyScript(`
local owner = redis.call('GET', KEYS[1]) or ARGV[1]
redis.call('SET', KEYS[1], owner, 'PX', 34560000000)
return owner
`)

/** Whose state it is: a record beside the signing keys. */
export async function claimFor(issuer: string, { run }: RedisConnection, { keys }: Names): Promise<string> {
  return text(await run(CLAIM, `${keys}:issuer`, [issuer]))
}
