/**
 * A process that writes to a file that other processes also write to. Reports `ready`. For each received number it runs
 * one round and reports the outcomes, until it is killed.
 */
import Database from 'libsql'
import { sqliteState } from '../../../lib/adapters/sqlite/record-store.ts'
import { sqliteUserStore } from '../../../lib/adapters/sqlite/user-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'

const [file = '', name = ''] = process.argv.slice(2)
const NOW = Date.UTC(2026, 0, 1)
const lifetime = { expiresAt: NOW + 1e6, idleExpiresAt: NOW + 1e6 }
const times = { authenticatedAt: NOW, createdAt: NOW, lastUsedAt: NOW, ...lifetime }

async function open() {
  const db = new Database(file)
  db.exec('PRAGMA synchronous = OFF')
  const [state, users] = [sqliteState(db), sqliteUserStore(db)]
  // As a service does at its start, where a migration waits longer for the lock than a request does.
  await state.prepare?.()
  await users.prepare()
  return { state, users }
}
let opened: Awaited<ReturnType<typeof open>> | undefined

async function work(round: number): Promise<string[]> {
  // Opened only in the first round, so that the processes migrate at once, too.
  opened ??= await open()
  const {
    state: { tokens, keys, browserSessions, consents },
    users
  } = opened
  const [sid, codeSid] = [`${partitionOf('u')}sid-${round}`, `${partitionOf('u')}code-${round}`]
  const created = await users.create({ username: `user-${round}`, passwordHash: name }).then(
    () => 'created',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error))
  )
  const added = await keys.addIfAbsent({
    kid: `${name}-${round}`,
    alg: 'ES256',
    sequence: round,
    signsFrom: 0,
    createdAt: 0,
    publicJwk: {},
    sealed: 's'
  })

  // One process creates it, and the other gets an error for the existing sid. The same for the code and the session.
  await tokens
    .createFamily({
      sid,
      userId: 'u',
      clientId: null,
      scope: '',
      acr: 'password',
      amr: ['pwd'],
      ...times,
      userAgent: null,
      sessionSid: null,
      offline: true,
      authorization: null,
      tokenDigest: 'first'
    })
    .catch(() => undefined)
  const rotated = await tokens.rotateToken(
    { sid, digest: 'first', now: NOW, graceMs: 1000, idleExpiresAt: NOW + 1e6 },
    { digest: `of ${name}`, sealed: `sealed by ${name}` }
  )

  await tokens
    .createCode({
      sid: codeSid,
      userId: 'u',
      clientId: 'c',
      scope: '',
      authenticatedAt: NOW,
      acr: 'password',
      amr: ['pwd'],
      createdAt: NOW,
      sessionSid: null,
      offline: true,
      authorization: '{}',
      codeDigest: 'code',
      codeExpiresAt: NOW + 1e6
    })
    .catch(() => undefined)
  const redeemed = await tokens.redeemCode({
    sid: codeSid,
    digest: 'code',
    clientId: 'c',
    now: NOW,
    tokenDigest: name,
    ...lifetime,
    onlineExpiresAt: NOW + 1e6,
    userAgent: null
  })

  await browserSessions
    .createSession(
      { methods: [{ method: 'password', at: NOW }], sid, userId: 'u', ...times, userAgent: null, clientIds: [] },
      'first'
    )
    .catch(() => undefined)
  const renewed = await browserSessions.renewSession({
    sid,
    userId: 'u',
    formerDigest: 'first',
    digest: `of ${name}`,
    now: NOW,
    authenticatedAt: NOW,
    methods: [{ method: 'password', at: NOW }],
    ...lifetime
  })
  await browserSessions.useSession({ sid, digest: `of ${name}`, now: NOW, idleExpiresAt: NOW + 1e6, clientId: name })
  await consents.grantConsent({
    userId: `user-${round}`,
    clientId: 'c',
    scopes: [name],
    grantedAt: NOW,
    expiresAt: NOW + 1e6
  })

  return [
    `create ${round} ${created}`,
    `key ${round} ${added}`,
    `rotate ${round} ${rotated.outcome}`,
    `redeem ${round} ${redeemed.outcome}`,
    `renew ${round} ${renewed}`
  ]
}

process.on('message', (message) => {
  work(Number(message)).then(
    (outcomes) => {
      process.send?.({ outcomes })
    },
    (error: unknown) => {
      process.send?.({ error: String(error) })
    }
  )
})
process.send?.('ready')
