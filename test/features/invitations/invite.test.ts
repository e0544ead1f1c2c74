/** `app.authority.users.invite`, and the message that it sends. */
import t from '../../support/tap.ts'
import {
  type AuditLog,
  memoryAudit,
  memoryUserStore,
  type Message,
  renderMessage,
  type UserStore
} from '../../../lib/index.ts'
import { signUp, testApp } from '../../support/app.ts'
import { until } from '../../support/redis-process.ts'
import { BOB, kindsOf, namesOf, withInvited } from './support.ts'

const DAY_MS = 86_400_000
const oauth = (error: string, statusCode: number) => ({ name: 'OAuthError', error, statusCode })

t.test('creates and invites a user in one call, and names the actor in the event', async (t) => {
  const { app, clock, events, messages, id, token, url } = await withInvited(t, { registration: false })
  t.match(messages.messages, [
    { kind: 'invitation', user: { id, email: BOB }, token, expiresAt: new Date(clock.now() + 7 * DAY_MS), ip: null }
  ])
  t.equal(url, `http://localhost:3000/auth/accept-invitation?token=${token}`)
  t.strictSame(
    namesOf({ events }).filter((name) => name.startsWith('user_')),
    ['user_created', 'user_invited']
  )
  t.notMatch(JSON.stringify(events), new RegExp(token))
  const act = { by: { type: 'cli', id: 'root' }, reason: 'lost the first mail' } as const
  await app.authority.users.invite(id, act)
  t.match(events.filter(({ name }) => name === 'user_invited').at(-1)?.payload, {
    userId: id,
    actor: act.by,
    reason: act.reason
  })
})

t.test('rejects the invitation of a registered, disabled or unknown user, and sends nothing', async (t) => {
  const test = await withInvited(t)
  const { app, users, store, messages, events } = test
  const ann = await signUp(app, 'ann@example.com')
  const nameless = await users.create({ username: 'nameless' })
  const off = await users.create({ username: 'off', email: 'off@example.com' })
  await users.disable(off.id)
  events.length = 0
  const before = messages.messages.length
  for (const [id, error, status] of [
    [ann.sub, 'conflict', 409],
    [nameless.id, 'conflict', 409],
    [off.id, 'conflict', 409],
    ['nobody', 'not_found', 404],
    ['', 'not_found', 404],
    [5, 'not_found', 404],
    [null, 'not_found', 404],
    ['a\0b', 'not_found', 404],
    ['__proto__', 'not_found', 404]
  ] as const)
    await t.rejects(users.invite(id as string), oauth(error, status), String(id))
  await t.rejects(users.invite(test.id, { version: 'another' }), oauth('changed_meanwhile', 412))
  for (const given of [
    { username: 'without' },
    { username: 'eve', email: 'eve@example.com', invite: 'yes' },
    { username: 'eve', email: 'eve@example.com', invite: null },
    { username: 'eve', email: 'eve@example.com', invites: true }
  ])
    await t.rejects(users.create({ invite: true, ...given } as never), oauth('invalid_request', 400))
  for (const name of ['without', 'eve']) t.equal(await store.findByUsername(name), null, 'nothing was made')
  t.equal(messages.messages.length, before)
  t.strictSame(namesOf({ events }), [])
})

t.test('rejects invitations without sendMessage, without pages, or without setPasswordHash in the store', async (t) => {
  for (const options of [{ sendMessage: undefined }, { pages: false as const }]) {
    const { app, close } = await testApp(options)
    t.teardown(close)
    const { id } = await app.authority.users.create({ username: BOB, email: BOB })
    await t.rejects(app.authority.users.invite(id), oauth('invalid_request', 400))
    t.equal((await app.inject('/auth/accept-invitation?token=x')).statusCode, 404)
  }
  const { setPasswordHash: _none, ...rest } = memoryUserStore() as UserStore
  const { app, close } = await testApp({ users: rest as UserStore })
  t.teardown(close)
  const { id } = await app.authority.users.create({ username: BOB, email: BOB })
  await t.rejects(app.authority.users.invite(id), { code: 'FST_AUTHORITY_NOT_SUPPORTED', message: /setPasswordHash/ })
})

t.test('sends no invitation to a user who is disabled meanwhile, and leaves no valid token', async (t) => {
  const inner = memoryUserStore()
  const store: UserStore = { ...inner }
  const test = await withInvited(t, { users: store })
  let reads = 0
  store.findById = async (id) => {
    if (++reads === 2) await inner.setDisabled?.(id, true)
    return await inner.findById(id)
  }
  const before = kindsOf(test).length
  await t.rejects(test.users.invite(test.id), oauth('conflict', 409))
  await test.users.enable(test.id)
  t.equal(kindsOf(test).length, before)
  t.equal((await test.open(test.token)).statusCode, 400, 'the former link was replaced, and ended')
})

t.test('shows hostile names as plain text in the invitation mail and on its page', async (t) => {
  const { app, close, messages } = await testApp({ registration: { username: 'any' } })
  t.teardown(close)
  const names = ['<script>alert(1)</script>', 'bob\u202Egnp.exe', '=1+1"&<b>', 'https://evil.example/login']
  for (const [index, username] of names.entries()) {
    const made = await app.authority.users
      .create({ username, email: `p${index}@example.com`, invite: true })
      .catch(({ error }: { error: string }) => error)
    if (made === 'invalid_request') continue
    const message = (await messages.next('invitation')) as Message
    const { subject, text, html } = renderMessage(message, { title: 'Shop\r\nBcc: eve@example.com' })
    t.notMatch(subject, /[\r\n]/)
    for (const form of [text, html]) {
      t.notMatch(form, /\u202E/)
      t.notMatch(form, /evil\.example/)
    }
    t.notMatch(html, /<script>alert|<b>"/)
    const page = await app.inject({ url: `/auth/accept-invitation?token=${message.token}` })
    t.equal(page.statusCode, 200)
    t.notMatch(page.body, /<script>alert/)
  }
  await t.rejects(
    app.authority.users.create({ username: 'eve', email: 'eve@example.com\r\nBcc: all@example.com', invite: true }),
    oauth('invalid_request', 400)
  )
})

t.test('renders the invitation with the title in the subject and the link in text and HTML', async (t) => {
  const { messages, url } = await withInvited(t)
  const message = messages.messages[0] as Message
  const { subject, text, html } = renderMessage(message, { title: 'Shop' })
  t.equal(subject, 'You’re invited – Shop')
  t.ok(text.includes(url) && html.includes(url))
  t.notMatch(text, /Time:|IP address/)
})

t.test('records each invitation in the audit log, and sends none that cannot be recorded', async (t) => {
  const inner = memoryAudit()
  let [down, isHalfDown] = [false, false]
  const log: AuditLog = {
    ...inner,
    async append(entry) {
      if (down || (isHalfDown && entry.action === 'user_invited')) throw new Error('down')
      await inner.append(entry)
    }
  }
  const test = await withInvited(t, { audit: log, secret: 'a secret of the tests with 32 bytes or more' })
  const { id, users, token } = test
  await users.invite(id, { reason: 'asked again' })
  await test.messages.next('invitation')
  await t.rejects(users.invite('nobody'), oauth('not_found', 404))
  // The outcome is written behind the answer.
  const isRecorded = async (outcome: string): Promise<boolean> =>
    (await inner.list({ limit: 50 })).entries.some((entry) => entry.outcome === outcome)
  await until('the refusal is in the log', async () => await isRecorded('refused'))
  down = true
  await t.rejects(users.invite(id), oauth('temporarily_unavailable', 503))
  await t.rejects(users.create({ username: 'eve@example.com', invite: true }), oauth('temporarily_unavailable', 503))
  down = false
  isHalfDown = true
  await t.rejects(users.create({ username: 'zoe@example.com', invite: true }), oauth('temporarily_unavailable', 503))
  await until('the failure is in the log', async () => await isRecorded('failed'))
  isHalfDown = false
  t.notOk(
    (await users.list()).users.some(({ username }) => username === 'zoe@example.com'),
    'nothing was changed, as the error says'
  )
  t.equal(kindsOf(test).length, 2, 'no message without an entry')
  const { entries } = await inner.list({ limit: 50 })
  t.strictSame(
    entries.flatMap(({ action, outcome, target }) =>
      /^user_(?:created|invited)$/.test(action) ? [`${action} ${outcome} ${target === null ? '' : 'user'}`] : []
    ),
    [
      'user_created failed ',
      'user_created attempted ',
      'user_invited refused user',
      'user_invited attempted user',
      'user_invited done user',
      'user_invited attempted user',
      'user_created done user',
      'user_invited done user',
      'user_invited attempted ',
      'user_created attempted '
    ]
  )
  t.notMatch(JSON.stringify(entries), new RegExp(token))
})
