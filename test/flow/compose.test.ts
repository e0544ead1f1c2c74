/** The example of Docker Compose, without Docker: the same topology of real servers and processes. */
import { setTimeout as delay } from 'node:timers/promises'
import t from '../support/tap.ts'
import { composeText, startTopology } from './support/compose.ts'
import { formBrowser } from './support/form-browser.ts'
import { httpsClient } from './support/https-client.ts'

const ANN = { username: 'ann@example.com', password: 'nine tall ferns by noon' }
/** Loopback addresses. The addresses of the load have no limits. */
const [PERSON, GUESSER, NEIGHBOUR, LOAD] = ['127.0.0.5', '127.0.0.6', '127.0.0.7', '127.0.1.1']
const LOADERS = 2
const PAUSE_MS = 200
/** The maximum number of sign-ins of one loader, because a user's sign-ins are limited. */
const MOST_SIGN_INS = 15

t.test('runs two instances behind nginx with TLS', async (t) => {
  const { origin, plainOrigin, ca, nginx, smtp, servers, commands, upstream, start, update } = await startTopology(t, {
    DRAIN_SECONDS: '2',
    RATE_LIMIT_BYPASS: '127.0.1.0/24'
  })
  const from = (address: string): typeof fetch => httpsClient({ ca, from: address })
  const person = from(PERSON)
  const token = async (
    send: typeof fetch,
    fields: Record<string, string>,
    headers = {}
  ): Promise<{ status: number; body: Record<string, string> }> => {
    const reply = await send(`${origin}/auth/token`, { method: 'POST', headers, body: new URLSearchParams(fields) })
    return { status: reply.status, body: (await reply.json()) as Record<string, string> }
  }
  const logged = (name: string): string => servers[name]?.map(({ output }) => output()).join('') ?? ''

  const cookies: string[] = []
  const browser = formBrowser(origin, async (input, init) => {
    const reply = await person(input, init)
    cookies.push(...reply.headers.getSetCookie())
    return reply
  })
  t.equal(
    (await fetch(`${plainOrigin}/auth/login`, { redirect: 'manual' })).headers.get('location'),
    `${origin}/auth/login`,
    'http: leads to https:'
  )
  const signedUp = await browser.submit(await browser.get('/auth/signup?return_to=/'), ANN)
  t.match(signedUp.text, `Signed in as <strong>${ANN.username}`)
  t.match(
    cookies.find((cookie) => cookie.startsWith('__Host-')),
    /; Path=\/; HttpOnly; SameSite=Lax; Secure$/
  )
  t.ok(cookies.every((cookie) => cookie.includes('Secure')))
  const [link = ''] = /^https:\S+$/m.exec((await smtp.next()).parts['text/plain'] ?? '') ?? []
  t.ok(link.startsWith(`${origin}/auth/verify-email?token=`), link)
  t.match((await browser.submit(await browser.get(link))).text, /email is confirmed/)
  const asked = await browser.get('/third-party/sign-in')
  t.equal(asked.url.pathname, '/auth/consent', 'the third-party demo asks the issuer through nginx')
  t.match(
    (await browser.submit(asked, { decision: 'allow' })).text,
    '<dt>preferred_username</dt><dd>ann@example.com</dd>',
    'whichever instance the answer comes to'
  )

  const signedIn = await token(person, { grant_type: 'password', ...ANN })
  t.equal(signedIn.status, 200)
  let refreshToken = signedIn.body['refresh_token'] ?? ''
  for (let turn = 0; turn < 4; turn++) {
    const { status, body } = await token(person, { grant_type: 'refresh_token', refresh_token: refreshToken })
    t.equal(status, 200)
    refreshToken = body['refresh_token'] ?? ''
    const me = await person(`${origin}/me`, { headers: { authorization: `Bearer ${body['access_token']}` } })
    t.match(await me.json(), { username: ANN.username })
  }
  for (const name of ['app-1', 'app-2']) {
    t.match(logged(name), /"url":"\/auth\/token"/, `${name} had a part in it`)
    t.match(logged(name), `"remoteAddress":"${PERSON}"`, 'and saw whose')
    t.notMatch(logged(name), /FST_AUTHORITY_UNSAFE/)
  }

  const guesses: number[] = []
  for (let guess = 0; guess < 6; guess++)
    guesses.push(
      (
        await token(
          from(GUESSER),
          { grant_type: 'password', username: `nobody-${guess}@example.com`, password: 'wrong wrong wrong' },
          { 'x-forwarded-for': `203.0.113.${guess}` }
        )
      ).status
    )
  t.strictSame(guesses, [400, 400, 400, 400, 400, 429], 'both count together, whatever address the client claims')
  t.equal(
    (await token(from(NEIGHBOUR), { grant_type: 'password', ...ANN })).status,
    200,
    'the next address has an allowance of its own'
  )
  const cross = await person(`${origin}/auth/login`, {
    method: 'POST',
    headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    body: new URLSearchParams(ANN)
  })
  t.equal(cross.status, 403, 'nginx passes on what browsers say of themselves')

  const secrets = [new URL(link).searchParams.get('token') ?? '-', refreshToken, ANN.password]
  for (const text of [nginx.accessLog(), nginx.errorLog(), logged('app-1'), logged('app-2')])
    t.notOk(secrets.some((secret) => text.includes(secret)))
  t.match(nginx.accessLog(), `${PERSON} `)

  await t.test('loses no request during a rolling update by update.sh under load', async (t) => {
    const send = from(LOAD)
    const failed: string[] = []
    const done = { sign_in: 0, refresh: 0 }
    let over = false
    async function load(): Promise<void> {
      let refresh = ''
      for (let turn = 0; !over; turn++) {
        const kind = turn % 4 === 0 && turn < 4 * MOST_SIGN_INS ? 'sign_in' : 'refresh'
        const answer = await token(
          send,
          kind === 'sign_in'
            ? { grant_type: 'password', ...ANN }
            : { grant_type: 'refresh_token', refresh_token: refresh }
        ).catch((error: unknown) => ({ status: String(error), body: {} as Record<string, string> }))
        if (answer.status === 200) done[kind]++
        else failed.push(`${kind} ${answer.status} ${JSON.stringify(answer.body)}`)
        refresh = answer.body['refresh_token'] ?? refresh
        await delay(PAUSE_MS)
      }
    }
    const loads = Array.from({ length: LOADERS }, load)
    try {
      await update()
    } finally {
      over = true
      await Promise.all(loads)
    }
    t.strictSame(failed, [])
    t.ok(done.sign_in >= LOADERS && done.refresh >= LOADERS, JSON.stringify(done))
    t.strictSame(commands, [
      'compose up --build --wait',
      'compose build app-1',
      ...['app-1', 'app-2'].flatMap((name) => [
        'compose exec -T nginx nginx -s reload',
        `compose up --detach --no-deps --wait ${name}`,
        'compose exec -T nginx nginx -s reload'
      ])
    ])
    t.strictSame(
      Object.values(servers).map((ever) => ever.map(({ child }) => child.exitCode)),
      [
        [0, null],
        [0, null]
      ],
      'the old ones ended by themselves, the new ones run'
    )
    t.equal(
      (await token(person, { grant_type: 'refresh_token', refresh_token: refreshToken })).status,
      200,
      'people are signed in as before'
    )
    t.match((await browser.get('/')).text, 'Signed in as')
    t.equal(upstream(), composeText('nginx/upstream.conf'))
  })

  const statusOf = async (path: string): Promise<number> => (await person(`${origin}${path}`)).status
  const end = async (name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<unknown> =>
    await servers[name]?.at(-1)?.kill(signal)
  await t.test('answers requests through nginx after one instance crashed, and after the other stopped', async (t) => {
    await end('app-1', 'SIGKILL')
    for (let turn = 0; turn < 4; turn++) t.equal(await statusOf('/auth/login'), 200, 'the other answers')
    await start('app-1')
    await end('app-2', 'SIGTERM')
    for (let turn = 0; turn < 20; turn++) t.equal(await statusOf('/auth/login'), 200, 'it is asked again')
  })

  await t.test('writes no token to the error log of nginx while no instance answers', async (t) => {
    await end('app-1', 'SIGKILL')
    const links = ['reset-password', 'verify-email', 'email-link', 'second-factor/link', 'undo']
    for (const path of links) t.equal(await statusOf(`/auth/${path}?token=token-of-a-mail`), 502)
    t.equal(await statusOf('/auth/login?return_to=/another-address'), 502)
    t.match(nginx.errorLog(), '/another-address', 'it has the addresses of other requests')
    t.notMatch(nginx.errorLog(), 'token-of-a-mail')
  })
})
