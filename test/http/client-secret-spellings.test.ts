import t from '../support/tap.ts'
import type { Client } from '../../lib/index.ts'
import { testApp, type TestApp } from '../support/app.ts'

const raw = (id: string, secret: string): string => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
const form = (text: string): string => new URLSearchParams({ x: text }).toString().slice(2)
const clientOf = (clientId: string, clientSecret: string): Client => ({
  clientId,
  clientSecret,
  grantTypes: ['client_credentials'],
  scopes: ['read']
})

async function ask(
  { app }: Pick<TestApp, 'app'>,
  authorization: string,
  body: Record<string, string> = {}
): Promise<{ status: number; error: string | undefined; retryAfter: unknown; challenge: unknown }> {
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { authorization },
    payload: { grant_type: 'client_credentials', ...body }
  })
  return {
    status: reply.statusCode,
    error: reply.json().error,
    retryAfter: reply.headers['retry-after'],
    challenge: reply.headers['www-authenticate']
  }
}

// covers L3 R6749-2.3.1
t.test('accepts a client secret in Basic authentication both form-encoded and verbatim', async (t) => {
  const secrets = [
    'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83v+/+/A==',
    `100%${'x'.repeat(32)}`,
    `a%20b+c d${'x'.repeat(32)}`,
    `%zz%${'x'.repeat(32)}`,
    `:colon:${'x'.repeat(32)}`,
    'plain-base64url_secret-of-32-bytes-or-more',
    `ü€😀${'x'.repeat(32)}`
  ]
  const test = await testApp({
    scopes: ['openid', 'read'],
    clients: [...secrets.map((secret, index) => clientOf(`c${index}`, secret)), clientOf('a+b%', `+${'x'.repeat(32)}`)]
  })
  t.teardown(test.close)
  for (const [index, secret] of secrets.entries()) {
    for (const header of [
      raw(`c${index}`, secret),
      raw(`c${index}`, form(secret)),
      raw(`c${index}`, encodeURIComponent(secret))
    ])
      t.equal((await ask(test, header)).status, 200, `${secret} as ${header}`)
    for (const wrong of [form(form(secret)), secret.toUpperCase(), `${secret} `, secret.slice(1), '']) {
      if (form(wrong) === form(secret) || wrong === form(secret)) continue
      t.match(
        await ask(test, raw(`c${index}`, wrong)),
        { status: 401, error: 'invalid_client', challenge: /^Basic / },
        `${secret} is not ${wrong}`
      )
    }
    t.equal(
      (
        await test.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'client_credentials', client_id: `c${index}`, client_secret: secret }
        })
      ).statusCode,
      200,
      'a form or JSON has its own encoding'
    )
    if (form(secret) !== secret)
      t.equal(
        (
          await test.app.inject({
            method: 'POST',
            url: '/auth/token',
            payload: { grant_type: 'client_credentials', client_id: `c${index}`, client_secret: form(secret) }
          })
        ).statusCode,
        401,
        'and no second one'
      )
  }
  const odd = `+${'x'.repeat(32)}`
  for (const header of [raw('a+b%', odd), raw(form('a+b%'), form(odd))])
    t.equal((await ask(test, header, { client_id: 'a+b%' })).status, 200, `the id of a client too: ${header}`)
})

// covers L3
t.test('counts both decodings of a wrong secret as one failure', async (t) => {
  const test = await testApp({
    rateLimit: { refresh: { max: 4 } },
    scopes: ['openid', 'read'],
    clients: [clientOf('web', 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83v+/+/A==')]
  })
  t.teardown(test.close)
  const statuses: number[] = []
  for (let guess = 0; guess < 6; guess++)
    statuses.push((await ask(test, raw('web', `a+wrong+secret%20${guess}`))).status)
  t.same(statuses, [401, 401, 401, 401, 429, 429])
})

// covers C5
t.test('rejects malformed Basic credentials at the token, revocation and introspection endpoints', async (t) => {
  const test = await testApp({
    scopes: ['openid', 'read'],
    clients: [clientOf('web', 'a'.repeat(43)), { clientId: 'spa', grantTypes: ['password'] }]
  })
  t.teardown(test.close)
  for (const authorization of ['Basic', 'basic', 'Basic ', 'Basic =', 'Basic null', `Basic ${'A'.repeat(5000)}`]) {
    for (const [url, payload] of [
      ['/auth/token', { grant_type: 'client_credentials' }],
      ['/auth/token', { grant_type: 'password', username: 'ann', password: 'x', client_id: 'spa' }],
      ['/auth/revoke', { token: 'x' }],
      ['/auth/introspect', { token: 'x' }]
    ] as const) {
      const reply = await test.app.inject({ method: 'POST', url, headers: { authorization }, payload })
      t.same([reply.statusCode, reply.json().error], [401, 'invalid_client'], `${url} ${authorization.slice(0, 20)}`)
      t.match(reply.headers['www-authenticate'], /^Basic realm=/)
    }
  }
})
