import { logLines } from '../../support/log-lines.ts'
import t from '../../support/tap.ts'
import { type AuditEntry, memoryAudit } from '../../../lib/index.ts'
import { EVENT_NAMES } from '../../../lib/events.ts'
import { recordedEvents } from '../../../lib/features/audit/create.ts'
import { bearer, PASSWORD } from '../../support/app.ts'
import { allOf, audited } from './world.ts'

t.test('records account events by user id, without usernames, email addresses or secrets', async (t) => {
  const log = memoryAudit()
  const { app, ann, messages } = await audited(t, log)
  const ask = async (url: string, payload: object, headers = {}) =>
    await app.inject({
      method: 'POST',
      url,
      payload,
      headers: { 'user-agent': 'Canary/1', ...headers },
      remoteAddress: '192.0.2.7'
    })
  const signIn = async (password: string, username = 'ann@example.com') =>
    await ask('/auth/token', { grant_type: 'password', username, password })
  await signIn('a wrong canary')
  await signIn('a wrong canary', 'nobody@canary.example')
  const { access_token: token, refresh_token: refresh } = (await signIn(PASSWORD)).json()
  await ask('/auth/password', { current_password: PASSWORD, new_password: `${PASSWORD} canary` }, bearer(token))
  await ask('/auth/password-reset', { username: 'ann@example.com' })
  await app.authority.revokeUser(ann.sub)
  let entries: AuditEntry[] = []
  while (!entries.some(({ action }) => action === 'logged_out')) {
    entries = await allOf(log)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const actions = entries.map(({ action, outcome, actor }) => `${action} ${outcome} ${actor.type}`)
  for (const one of [
    'started done system',
    'registered done user',
    'login_failed refused anonymous',
    'authenticated done user',
    'token_issued done user',
    'password_changed done user',

    'logged_out done host'
  ])
    t.ok(actions.includes(one), one)
  const [known, unknown] = entries.filter(({ action }) => action === 'login_failed')
  t.match(known, { target: { type: 'user', id: ann.sub }, details: { reason: 'wrong_password' }, ip: '192.0.2.7' })
  t.match(unknown, { target: null, details: { reason: 'unknown_user' } })
  t.equal(known?.ipMac, unknown?.ipMac, 'one address has one MAC')
  t.not(known?.ipMac, null)
  const text = JSON.stringify(entries)
  for (const secret of [
    'ann@',
    'nobody@',
    'canary',
    'Canary',
    PASSWORD,
    token,
    refresh,
    ...messages.messages.map((message) => ('token' in message ? message.token : 'canary'))
  ])
    t.notOk(text.includes(secret), secret.slice(0, 12))
})

t.test('names no user as the actor of a reset request, or of the sign-out of a disabled account', async (t) => {
  const log = memoryAudit()
  const { app, ann, users } = await audited(t, log)
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
  })
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@example.com' } })
  for (;;) {
    const found = await allOf(log)
    const asked = found.find(({ action }) => action === 'password_reset_requested')
    const ended = found.find(({ action }) => action === 'logged_out')
    if (asked !== undefined && ended !== undefined) {
      t.equal(asked.actor.type, 'anonymous')
      t.equal(ended.actor.type, 'system')
      return
    }
    if (asked !== undefined) await users.disable(ann.sub)
    await new Promise((resolve) => setImmediate(resolve))
  }
})

t.test('records a message that could not be sent as a failure of the system', async (t) => {
  const log = memoryAudit()
  const sendMessage = async (): Promise<void> => {
    throw new Error('no mail server')
  }
  const { ann, clock } = await audited(t, log, { sendMessage })
  for (;;) {
    const found = (await allOf(log)).find(({ action }) => action === 'message_failed')
    if (found !== undefined) {
      const target = { type: 'user', id: ann.sub }
      t.match(found, { outcome: 'failed', actor: { type: 'system', id: null }, target })
      return
    }
    clock.step(60_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
})

t.test('assigns every event to a level of audit.events, to the audited acts, or to none', async (t) => {
  const [admin, security, all] = (['admin', 'security', 'all'] as const).map(recordedEvents)
  t.same(admin, [])
  t.ok(security?.includes('authenticated') && !security.includes('token_refreshed'))
  t.ok(all?.includes('token_refreshed'))
  const acts = [
    'user_created',
    'user_updated',
    'user_disabled',
    'user_enabled',
    'password_reset_required',
    'user_invited',
    'impersonated'
  ]
  const never = ['hash_queue_full', 'store_degraded', 'audit_degraded']
  t.same([...(all ?? []), ...acts, ...never].toSorted(), [...EVENT_NAMES].toSorted())
})

t.test('stops the start for an invalid audit option, and accepts a log without further options', async (t) => {
  const log = memoryAudit()
  for (const [option, audit] of [
    ['audit', true],
    ['audit', {}],
    ['audit', { log: {} }],
    ['audit.events', { log, events: 'some' }],
    ['audit.retainDays', { log, retainDays: 0 }],
    ['audit.addressDays', { log, addressDays: -1 }],
    ['audit', { log, days: 1 }]
  ] as Array<[string, never]>)
    await t.rejects(audited(t, log, { audit }), { message: option }, option)
  const { app } = await audited(t, log, { audit: log })
  t.same((await app.authority.verifyAudit()).faults, [])
  const without = await audited(t, log, { audit: undefined })
  await t.rejects(without.app.authority.verifyAudit(), TypeError)
})

t.test('logs at start that a durable audit log without the option secret cannot be verified later', async (t) => {
  const { lines, stream } = logLines()
  const log = { ...memoryAudit(), durable: true }
  const said = () => lines.filter(({ msg }) => /Set the option secret/.test(String(msg)) && /audit/.test(String(msg)))
  for (const [options, count] of [
    [{ audit: log, secret: undefined }, 1],
    [{ audit: { log, events: 'all' as const }, secret: undefined }, 2],
    [{ audit: memoryAudit(), secret: undefined }, 2],
    [{ audit: log }, 2]
  ] as const) {
    await audited(t, log, options, { logger: { level: 'info', stream } })
    t.equal(said().length, count)
  }
})
