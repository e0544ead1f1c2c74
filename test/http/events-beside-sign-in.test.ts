/** Events of clients, consents, messages and keys: each with its exact payload, and with the request that led to it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'
import { formAction } from '../support/browser.ts'
import { authorizeAs, authorizePath, basic, openidApp, SECRET } from '../support/openid.ts'

const DAY_MS = 86_400_000
const TYPED = 'CANARY typed in place of a client id'
const header = (value: string): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(value).toString('base64')}`
})

// covers ASVS-16.3.1
t.test('emits an event with the reason when a client fails to authenticate at one of three endpoints', async (t) => {
  const { app, events, clock, close } = await openidApp({}, { requestIdHeader: 'x-request-id' })
  t.teardown(close)
  const cases: Array<[string, Record<string, string>, Record<string, string>, Record<string, unknown>]> = [
    [
      'unknown, by Basic',
      header(`${TYPED}:${SECRET}`),
      {},
      { reason: 'unknown_client', clientId: null, method: 'client_secret_basic' }
    ],
    ['unknown, public', {}, { client_id: TYPED }, { reason: 'unknown_client', clientId: null, method: 'none' }],
    [
      'a wrong secret, by Basic',
      basic('web', 'CANARY wrong secret'),
      {},
      { reason: 'wrong_secret', clientId: 'web', method: 'client_secret_basic' }
    ],
    [
      'a wrong secret, in the body',
      {},
      { client_id: 'web', client_secret: 'CANARY wrong secret' },
      { reason: 'wrong_secret', clientId: 'web', method: 'client_secret_post' }
    ],
    [
      'a secret of a public client',
      {},
      { client_id: 'spa', client_secret: 'CANARY wrong secret' },
      { reason: 'wrong_secret', clientId: 'spa', method: 'client_secret_post' }
    ],
    ['none of a confidential one', {}, { client_id: 'web' }, { reason: 'no_secret', clientId: 'web', method: 'none' }],
    [
      'broken Basic',
      { authorization: 'Basic CANARY-%%%' },
      {},
      { reason: 'malformed_credentials', clientId: null, method: 'client_secret_basic' }
    ],
    [
      'Basic without a colon',
      header('CANARY'),
      {},
      { reason: 'malformed_credentials', clientId: null, method: 'client_secret_basic' }
    ]
  ]
  for (const [url, body] of [
    ['/auth/token', { grant_type: 'client_credentials' }],
    ['/auth/introspect', { token: 'CANARY-token' }],
    ['/auth/revoke', { token: 'CANARY-token' }]
  ] as const) {
    for (const [name, headers, params, facts] of cases) {
      events.length = 0
      const requestId = name.replaceAll(' ', '-')
      const reply = await app.inject({
        method: 'POST',
        url,
        headers: { 'x-request-id': requestId, 'user-agent': 'test', ...headers },
        payload: { ...body, ...params }
      })
      t.equal(reply.statusCode, 401)
      t.strictSame(
        events,
        [
          {
            name: 'client_authentication_failed',
            payload: {
              time: new Date(clock.now()).toISOString(),
              requestId,
              ip: '127.0.0.1',
              userAgent: 'test',
              ...facts
            }
          }
        ],
        `${url}: ${name}`
      )
      t.notMatch(JSON.stringify(events), 'CANARY')
    }
  }
  events.length = 0
  for (const client of [{}, { client_id: 'spa' }])
    await app.inject({ method: 'POST', url: '/auth/introspect', payload: { token: 'x', ...client } })
  t.match(
    events.map(({ payload }) => payload),
    [
      { reason: 'no_secret', clientId: null },
      { reason: 'no_secret', clientId: 'spa' }
    ],
    'introspection is for clients with a secret'
  )
  events.length = 0
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers: basic('web', SECRET),
        payload: { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://app.example/cb' }
      })
    ).json().error,
    'invalid_grant'
  )
  t.strictSame(events, [], 'a client that proves itself is none')
})

t.test('emits an event when a user gives a consent and when the user revokes it', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, ann, browser, events } = subject
  await authorizeAs(browser, authorizePath())
  const path = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb', scope: 'openid profile' })
  const decide = async (decision: 'allow' | 'deny'): Promise<void> => {
    const { reply } = await browser.follow(await browser.get(path))
    t.equal(reply.statusCode, 200)
    await browser.follow(await browser.submit(formAction(reply.body), { decision }))
  }
  events.length = 0
  await decide('deny')
  t.strictSame(events, [], 'what was not allowed is none')
  await decide('allow')
  const [{ id: sid } = { id: '' }] = (await app.authority.sessions(ann.sub)).filter(({ kind }) => kind === 'browser')
  t.match(events, [
    {
      name: 'consent_granted',
      payload: { userId: ann.sub, sid, clientId: 'third', scope: 'openid profile', requestId: /^req-/, ip: '127.0.0.1' }
    }
  ])
  events.length = 0
  await app.authority.revokeConsent(ann.sub, 'third')
  await app.authority.revokeConsent(ann.sub, 'third')
  await app.authority.revokeConsent(ann.sub, 'nobody')
  t.match(
    events.filter(({ name }) => name === 'consent_revoked'),
    [{ payload: { userId: ann.sub, sid: null, clientId: 'third', by: 'host', requestId: null } }],
    'once: a consent that is not there is not taken back'
  )
  await decide('allow')
  events.length = 0
  await app.authority.changePassword(ann.sub, 'an entirely new password')
  t.match(
    events.filter(({ name }) => name === 'consent_revoked'),
    [{ payload: { userId: ann.sub, sid: null, clientId: 'third', by: 'password_changed', requestId: null } }]
  )
})

t.test('emits message_sent and message_failed with the request that caused the message', async (t) => {
  const fails = { next: false }
  const test = await testApp({
    sendMessage: async () => {
      if (fails.next) throw new Error('550')
    }
  })
  t.teardown(test.close)
  const { app, events, clock } = test
  const toldOf = (name: string): unknown[] =>
    events.filter((event) => event.name === name).map(({ payload }) => payload)
  await signUp(app, 'ann@mail.example')
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  t.match(toldOf('message_sent'), [{ kind: 'verify_email', attempts: 1, ip: '127.0.0.1' }])
  fails.next = true
  events.length = 0
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@mail.example' } })
  for (const ms of [0, 1_000, 10_000, 60_000]) {
    clock.step(ms)
    for (let turn = 0; turn < 10; turn++) await setImmediate()
  }
  const asked = events.find(({ name }) => name === 'password_reset_requested')?.payload
  t.type(asked?.['requestId'], 'string')
  t.strictSame(toldOf('message_failed'), [
    {
      time: new Date(clock.now()).toISOString(),
      requestId: asked?.['requestId'],
      ip: '127.0.0.1',
      userAgent: asked?.['userAgent'],
      kind: 'password_reset',
      userId: asked?.['userId'],
      attempts: 4
    }
  ])
  t.strictSame(toldOf('message_sent'), [])
})

t.test('emits an event without key material when a signing key is created or removed', async (t) => {
  const heard: Array<Record<string, unknown>> = []
  for (const name of ['key_created', 'key_retired']) {
    const listen = (message: unknown): void => {
      heard.push({ name, ...(message as object) })
    }
    subscribe(`fastify-authority.${name}`, listen)
    t.teardown(() => {
      unsubscribe(`fastify-authority.${name}`, listen)
    })
  }
  const test = await testApp()
  t.teardown(test.close)
  const { app, clock } = test
  await signUp(app)
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  const start = new Date(clock.now()).toISOString()
  const [{ kid }] = (await app.inject('/.well-known/jwks.json')).json().keys
  t.strictSame(heard, [{ name: 'key_created', time: start, requestId: null, kid, alg: 'ES256', signsFrom: start }])
  /** Steps the clock day by day, so that the key ring checks its keys, then waits until `told` events are heard. */
  const after = async (days: number, told: number): Promise<void> => {
    for (let day = 0; day < days; day++) {
      clock.step(DAY_MS)
      // The ring sets its next timer after it has asked the state.
      for (let turn = 0; turn < 10; turn++) await setImmediate()
    }
    while (heard.length < told) await setImmediate()
  }
  await after(89, 2)
  t.match(heard[1], { name: 'key_created', alg: 'ES256' })
  t.equal(
    heard[1]?.['signsFrom'],
    new Date(Date.parse(String(heard[1]?.['time'])) + DAY_MS).toISOString(),
    'a day before it signs'
  )
  await after(2, 3)
  t.match(heard[2], { name: 'key_retired', kid, alg: 'ES256', requestId: null })
  t.notMatch(JSON.stringify(heard), /"(d|sealed|privateJwk|publicJwk)":/)
})
