/**
 * A process of its own that writes to a file others write to as well. Reports `ready`, waits for `go`, does what the message
 * says and reports the outcomes.
 */
import Database from 'libsql'
import { sqliteState } from '../../../lib/adapters/sqlite/state.ts'
import { sqliteUserStore } from '../../../lib/adapters/sqlite/user-store.ts'

const [file = '', name = ''] = process.argv.slice(2)
const NOW = Date.UTC(2026, 0, 1)

async function work (rounds: number): Promise<string[]> {
  // Opened only now, so that the processes migrate at once, too.
  const db = new Database(file)
  const { tokens, keys } = sqliteState(db)
  const users = sqliteUserStore(db)
  const outcomes: string[] = []
  for (let round = 0; round < rounds; round++) {
    const created = await users.create({ username: `user-${round}`, passwordHash: name }).then(() => 'created', (error: unknown) => error instanceof Error && 'code' in error ? String(error.code) : String(error))
    outcomes.push(`create ${round} ${created}`)
    outcomes.push(`key ${round} ${await keys.addIfAbsent({ kid: `${name}-${round}`, alg: 'ES256', sequence: round, signsFrom: 0, createdAt: 0, publicJwk: {}, sealed: 's' })}`)
    const family = { sid: `sid-${round}`, userId: 'u', clientId: null, scope: '', authenticatedAt: NOW, createdAt: NOW, lastUsedAt: NOW, expiresAt: NOW + 1e6, idleExpiresAt: NOW + 1e6, userAgent: null, tokenDigest: 'first' }
    // One of the processes creates it; to the other its sid is taken.
    await tokens.createFamily(family).catch(() => undefined)
    const rotated = await tokens.rotateToken({ sid: family.sid, digest: 'first', now: NOW, graceMs: 1000, idleExpiresAt: NOW + 1e6 }, { digest: `of ${name}`, sealed: `sealed by ${name}` })
    outcomes.push(`rotate ${round} ${rotated.outcome}`)
  }
  db.close()
  return outcomes
}

process.once('message', (rounds) => {
  work(Number(rounds)).then(
    (outcomes) => { process.send?.({ outcomes }, () => { process.disconnect() }) },
    (error: unknown) => { process.send?.({ error: String(error) }, () => { process.disconnect() }) }
  )
})
process.send?.('ready')
