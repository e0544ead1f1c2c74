/** The takeover by a replica, and the losses that the docs announce. */
import { type RedisServer, until } from '../../support/redis-process.ts'

export async function becomesMaster(replica: RedisServer): Promise<void> {
  const admin = replica.client()
  try {
    await until('a failover', async () => (await admin.info('replication')).includes('role:master'))
  } finally {
    admin.disconnect()
  }
}

/** Redis answers before its replicas have the write: milliseconds on one machine, for which a second is generous. */
export const UNREPLICATED = {
  rules: [
    'undone',
    'lost-refresh',
    'revoked-accepted',
    'fork',
    'code-twice',
    'one-time-twice',
    'replay-accepted',
    'limit'
  ],
  reason: 'a write that no replica had when its master died',
  beforeMs: 1000,
  afterMs: 200
} as const
