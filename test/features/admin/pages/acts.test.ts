/** ADM-P3 and P5: an act by a page asks first, keeps the reason, and is done once. */
import t from '../../../support/tap.ts'
import { markupOf } from '../../../../lib/pages/html.ts'
import { ADMIN_SCOPES } from '../../../../lib/protocol/scope.ts'
import { statusCell } from '../../../../lib/features/admin/pages/people.ts'
import { ACTS, paged, REASON, signedIn, victim } from './pages-world.ts'

t.test('asks before each act, requires and records a reason, and reports the act on the next page', async (t) => {
  const test = await paged(t)
  const { browser, post, actsOn, root } = test
  for (const [act, action, note] of ACTS) {
    const { id, url, username } = await victim(test, act)
    const before = JSON.stringify(await test.app.authority.users.get(id))
    const asked = await browser.get(url)
    t.equal(asked.statusCode, 200, `${act}: ${asked.body}`)
    t.ok(asked.body.includes(username))
    t.match(asked.body, /data-deliberate/, 'the button waits for half a second')
    t.equal(JSON.stringify(await test.app.authority.users.get(id)), before, 'asking changes nothing')
    const confirmed = act === 'delete' ? { username } : {}
    const former = (await actsOn(id, action)).length
    for (const reason of ['', 'too short', ' '.repeat(10), '\u200b'.repeat(20), `${REASON}\0`, 'x'.repeat(501)]) {
      const refused = await post(url, { reason, ...confirmed })
      t.equal(refused.statusCode, 400, act)
      t.match(refused.body, /Give a reason of 10 to 500 characters\./)
    }
    t.equal((await actsOn(id, action)).length, former, 'a form with a mistake is no act')
    const done = await post(url, { reason: REASON, ...confirmed })
    t.equal(done.statusCode, 303, `${act}: ${done.body}`)
    const page = await browser.get(String(done.headers.location), { 'sec-fetch-site': 'same-origin' })
    t.equal(page.statusCode, 200)
    t.match(page.body, note)
    t.match(page.body, /<title>Done: /)
    t.notMatch((await browser.get(String(done.headers.location), { 'sec-fetch-site': 'cross-site' })).body, note)
    const found = await actsOn(id, action, former)
    t.match(
      found.filter(({ outcome }) => outcome === 'attempted'),
      [{ actor: { type: 'user', id: root.sub }, details: { reason: REASON } }],
      act
    )
    t.equal(found.filter(({ outcome }) => outcome === 'done').length, 1, act)
    t.equal(found.length, 2, act)
  }
})

t.test('performs no administration act for a form from another session or another site', async (t) => {
  const test = await paged(t)
  const { browser, fieldsOf, actsOn, admins, app } = test
  admins.set('ann', ADMIN_SCOPES)
  const ann = await signedIn(app, 'ann')
  for (const [act, action] of ACTS) {
    const { id, url, username } = await victim(test, act)
    const former = (await actsOn(id, action)).length
    const fields = { ...(await fieldsOf(url)), reason: REASON, username }
    const forged: Array<[fields: Record<string, string>, headers: Record<string, string>, status: number]> = [
      [{ ...fields, session: 'x' }, {}, 200],
      [{ reason: REASON, username }, {}, 200],
      [fields, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
      [fields, { 'sec-fetch-site': 'same-site', origin: 'https://other.auth.example' }, 403]
    ]
    for (const [sent, headers, status] of forged)
      t.equal((await browser.submit(url, sent, headers)).statusCode, status, act)
    t.match((await ann.submit(url, fields)).body, /the form was of another sign-in/)
    t.equal((await actsOn(id, action)).length, former, act)
  }
})

t.test('performs an administration act once when its form is submitted three times in parallel', async (t) => {
  const test = await paged(t)
  const { browser, fieldsOf, actsOn } = test
  for (const [act, action] of ACTS) {
    const { id, url, username } = await victim(test, act)
    const former = (await actsOn(id, action)).length
    const fields = { ...(await fieldsOf(url)), reason: REASON, username }
    const replies = await Promise.all([1, 2, 3].map(async () => await browser.submit(url, fields)))
    t.same(new Set(replies.map(({ statusCode }) => statusCode)), new Set([303]), act)
    t.equal((await actsOn(id, action)).length, former + 2, act)
  }
})

t.test('reports and records a repeated act as already done, and ends sessions that began since', async (t) => {
  const test = await paged(t)
  const { app, browser, fieldsOf, entries } = test
  for (const act of ['disable', 'enable', 'reset'] as const) {
    const { id, url } = await victim(test, act)
    const [first, second] = [await fieldsOf(url), await fieldsOf(url)]
    t.equal((await browser.submit(url, { ...first, reason: REASON })).statusCode, 303)
    if (act === 'reset') await app.authority.issueTokens(id)
    const { length } = await entries(id)
    const again = await browser.submit(url, { ...second, reason: REASON })
    t.match(again.headers.location, /was=already/)
    t.match((await browser.get(String(again.headers.location), { 'sec-fetch-site': 'same-origin' })).body, /already/)
    t.ok((await entries(id)).length >= length + 2, 'the act has entries of its own')
    if (act !== 'enable') t.same(await app.authority.sessions(id), [], act)
  }
})

t.test('answers 412 to an administration form that was opened before the account changed', async (t) => {
  const test = await paged(t)
  const { app, browser, fieldsOf } = test
  for (const act of ['disable', 'reset', 'delete', 'sessions', 'api-keys/:one'] as const) {
    const { id, url, username } = await victim(test, act)
    const fields = { ...(await fieldsOf(url)), reason: REASON, username }
    await app.authority.users.disable(id)
    await app.authority.users.enable(id)
    const reply = await browser.submit(url, fields)
    t.equal(reply.statusCode, 412, act)
    t.match(reply.body, /This account changed meanwhile/)
    t.match(await app.authority.users.get(id), { disabled: false, hasPassword: true })
  }
})

t.test('says on the confirmation page how many devices and API keys stop working', async (t) => {
  const { app, browser, ann } = await paged(t)
  await signedIn(app, 'ann')
  await signedIn(app, 'ann')
  await app.authority.apiKeys.create({ userId: ann.sub, name: 'Reports' })
  const SAID: Array<[act: string, devices: boolean, keys: boolean]> = [
    ['disable', true, true],
    ['delete', true, true],
    ['sessions', true, false],
    ['enable', false, false]
  ]
  for (const [act, devices, keys] of SAID) {
    const { body } = await browser.get(`/auth/admin/people/${ann.sub}/${act}`)
    t.equal(body.includes('2 devices are signed out.'), devices, act)
    t.equal(body.includes('1 API key stops working.'), keys, act)
  }
})

t.test('shows "No password", not "Invited", for an unconfirmed account after a reset', async (t) => {
  const test = await paged(t)
  const { id, url } = await victim(test, 'reset')
  t.equal((await test.post(url, { reason: REASON })).statusCode, 303)
  for (const page of ['/auth/admin', `/auth/admin/people/${id}`]) {
    const { body } = await test.browser.get(page)
    t.match(body, /<span class="badge">No password<\/span>/)
    t.notMatch(body, /Invited/)
  }
})

t.test('shows an account without a password as active unless its address is unconfirmed', async (t) => {
  const email = 'ann@example.com'
  for (const [status, hasPassword, address, emailVerified] of [
    ['Active', true, email, false],
    ['Active', false, email, true],
    ['Active', false, null, false],
    ['No password', false, email, false]
  ] as const) {
    const user = { id: '1', username: 'ann', disabled: false, createdAt: null, version: null }
    t.match(markupOf(statusCell({ ...user, hasPassword, email: address, emailVerified })), `>${status}</span>`)
  }
})
