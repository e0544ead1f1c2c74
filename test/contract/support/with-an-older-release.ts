import type { Test } from 'tap'
import type { State } from '../../../lib/ports/state.ts'
import { END, LATER, NOW } from './before-methods.ts'

type Act = 'session' | 'renewal' | 'family' | 'code' | 'redemption'

const password = { acr: 'password', amr: ['pwd'] }
const methods = (at: number) => [{ method: 'password', at }]
const ends = { expiresAt: END, idleExpiresAt: END }
const family = {
  userId: 'user-19367',
  clientId: 'app',
  scope: 'openid',
  authenticatedAt: NOW,
  acr: 'connection',
  amr: [],
  createdAt: NOW,
  sessionSid: null,
  offline: true
}
const session = {
  userId: 'user-19367',
  authenticatedAt: NOW,
  methods: [{ method: 'connection' as const, at: NOW - 5 }],
  createdAt: NOW,
  lastUsedAt: NOW,
  ...ends,
  userAgent: 'ua',
  clientIds: ['app']
}
const use = { digest: 'd', now: LATER, graceMs: 0, idleExpiresAt: END }
const redemption = {
  digest: 'd',
  clientId: 'app',
  now: LATER,
  tokenDigest: 'e',
  ...ends,
  onlineExpiresAt: END,
  userAgent: 'ua'
}

/**
 * This release and an older one on the same records, turn by turn. `older` does what the older one does; `opened` opens
 * the store with this one. An older release that touches what this one wrote leaves what it says of the sign-in, or
 * makes a password of it where it saw one.
 */
export async function worksWithAnOlderRelease(
  t: Test,
  older: (act: Act, sid: string) => Promise<void>,
  opened: () => State | Promise<State>
): Promise<void> {
  await older('session', 'sid-1')
  await older('family', 'sid-2')
  await older('code', 'sid-3')
  const { tokens, browserSessions } = await opened()

  t.strictSame(
    await browserSessions.findSession('sid-1', 'd', LATER),
    { ...session, sid: 'sid-1', methods: methods(NOW) },
    'an older session is one by a password'
  )
  const kept = { ...family, ...password, sid: 'sid-2', lastUsedAt: NOW, ...ends, userAgent: 'ua', authorization: null }
  t.strictSame(await tokens.findFamily('sid-2', LATER), kept)
  t.strictSame(await tokens.useToken({ ...use, sid: 'sid-2' }), {
    outcome: 'used',
    family: { ...kept, lastUsedAt: LATER }
  })
  t.match(await tokens.rotateToken({ ...use, sid: 'sid-2' }, { digest: 'f', sealed: 's' }), {
    outcome: 'rotated',
    family: password
  })
  t.match(
    await tokens.redeemCode({ ...redemption, sid: 'sid-3' }),
    { outcome: 'redeemed', family: { ...password, authorization: '{}' } },
    'an older code'
  )
  t.equal(
    await browserSessions.renewSession({
      sid: 'sid-1',
      userId: 'user-19367',
      formerDigest: 'd',
      digest: 'e',
      now: LATER,
      methods: [{ method: 'email', at: LATER }],
      ...ends
    }),
    true
  )
  t.match(await browserSessions.findSession('sid-1', 'e', LATER), {
    authenticatedAt: LATER,
    methods: [{ method: 'email', at: LATER }]
  })

  // An instance that was not replaced yet, or an older release after this one was taken back.
  await older('session', 'sid-4')
  await older('family', 'sid-5')
  t.match(await browserSessions.findSession('sid-4', 'd', LATER), { methods: methods(NOW) })
  t.match(await tokens.findFamily('sid-5', LATER), password)
  await browserSessions.createSession({ ...session, sid: 'sid-6' }, 'd')
  t.match(await browserSessions.findSession('sid-6', 'd', LATER), { methods: session.methods })
  await older('renewal', 'sid-6')
  t.strictSame(
    await browserSessions.findSession('sid-6', 'e', LATER),
    { ...session, sid: 'sid-6', authenticatedAt: LATER, lastUsedAt: LATER, methods: methods(LATER) },
    'renewed by a password that an older release saw'
  )
  await tokens.createCode({
    ...family,
    sid: 'sid-7',
    clientId: 'app',
    authorization: '{}',
    codeDigest: 'd',
    codeExpiresAt: END
  })
  await older('redemption', 'sid-7')
  t.match(
    await tokens.findFamily('sid-7', LATER),
    { acr: 'connection', amr: [], userAgent: 'ua' },
    'redeemed by an older release'
  )
  t.same(
    (await browserSessions.listSessionsOfUser('user-19367', LATER))
      .map(({ methods: [proof] }) => proof?.method)
      .toSorted(),
    ['email', 'password', 'password']
  )
  t.equal((await browserSessions.revokeSessionsOfUser('user-19367')).length, 3)
  t.equal((await tokens.listFamiliesOfUser('user-19367', LATER)).length, 4)
}
