/** The example server, by its API and by its pages, killed and started again. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from '../support/tap.ts'
import { freePort } from '../support/free-port.ts'
import { decodeJwt } from '../support/jwt.ts'
import { example } from './support/example-server.ts'
import { formBrowser } from './support/form-browser.ts'

const ANN = { username: 'ann@example.com', password: 'nine tall ferns by noon' }
const BOB = { username: 'bob@example.com', password: 'nine tall ferns by noon' }
const { cwd, launch, start } = example(t)

const bearer = (token: string): { headers: { authorization: string } } => ({
  headers: { authorization: `Bearer ${token}` }
})
const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body)
})
const form = (fields: Record<string, string>): RequestInit => ({ method: 'POST', body: new URLSearchParams(fields) })
const login = (origin: string, password: string, username = ANN.username): Promise<Response> =>
  fetch(`${origin}/auth/token`, form({ grant_type: 'password', username, password }))

async function body(response: Response): Promise<Record<string, string>> {
  return (await response.json()) as Record<string, string>
}

t.test('serves sign-up, sign-in and sign-out by its API, also across kill -9', async (t) => {
  const port = await freePort()
  const first = await start(port, { RATE_LIMIT_BYPASS: '' })

  t.notMatch(first.output(), /leave this machine alone/)
  t.equal((await fetch(`${first.origin}/me`)).status, 401)
  const registered = await fetch(`${first.origin}/auth/register`, json(ANN))
  t.equal(registered.status, 201)
  const { sub } = await body(registered)
  t.type(sub, 'string')

  const signedIn = await login(first.origin, ANN.password)
  t.equal(signedIn.status, 200)
  t.equal(signedIn.headers.get('cache-control'), 'no-store')
  const tokens = await body(signedIn)
  const accessToken = tokens['access_token'] ?? ''
  const refreshToken = tokens['refresh_token'] ?? ''
  t.match(await body(await fetch(`${first.origin}/me`, bearer(accessToken))), {
    sub,
    username: ANN.username,
    email: ANN.username
  })
  const refreshed = await fetch(`${first.origin}/auth/refresh`, { method: 'POST', ...bearer(refreshToken) })
  t.equal(refreshed.status, 200)
  t.type((await body(refreshed))['access_token'], 'string')

  await t.test('answers 429 with Retry-After to the sixth password attempt of an address', async (t) => {
    const statuses: number[] = []
    let last: Response | undefined
    // The sign-in above was the first of five allowed ones.
    for (let attempt = 0; attempt < 6; attempt++) {
      last = await login(first.origin, 'wrong wrong wrong')
      statuses.push(last.status)
    }
    t.strictSame(statuses, [400, 400, 400, 400, 429, 429])
    const wait = Number(last?.headers.get('retry-after'))
    t.ok(wait > 0 && wait <= 900)
    t.match(await last?.json(), { error: 'too_many_requests', retryAfter: Number })
  })

  await t.test('prints the reset token of the demo, and accepts it once for a new password', async (t) => {
    t.equal((await fetch(`${first.origin}/auth/password-reset`, json({ username: ANN.username }))).status, 202)
    const line = (await first.printed(/^\{.*"kind":"password_reset".*$/m))[0]
    const { message, msg } = JSON.parse(line) as { message: { to: string; link: string; token: string }; msg: string }
    t.equal(message.to, ANN.username)
    t.match(msg, /^DEMO/)
    t.equal(message.link, `http://localhost:${port}/auth/reset-password?token=${message.token}`)
    const page = message.link.replace('localhost', '127.0.0.1')
    t.match(await (await fetch(page)).text(), 'autocomplete="new-password"', 'the link opens a hosted page')
    const confirm = (): Promise<Response> =>
      fetch(page, {
        ...form({ token: message.token, password: 'eight blue kites at dusk' }),
        headers: { origin: `http://localhost:${port}` },
        redirect: 'manual'
      })
    t.equal((await confirm()).status, 303)
    t.equal((await confirm()).status, 400)
    t.equal(
      (await fetch(`${first.origin}/auth/refresh`, { method: 'POST', ...bearer(refreshToken) })).status,
      401,
      'the reset ended the session'
    )
  })

  const quiet = first.output()
  t.notOk(
    quiet.includes(ANN.password) || quiet.includes(accessToken) || quiet.includes(refreshToken),
    'no password and no bearer token in the log'
  )
  await first.kill('SIGKILL')

  // The counters are in memory, so this process starts from zero. The range is exempt.
  const second = await start(port, { RATE_LIMIT_BYPASS: '127.0.0.0/8, 2001:db8::/32' })
  const again = await body(await login(second.origin, 'eight blue kites at dusk'))
  const statuses: number[] = []
  for (let attempt = 0; attempt < 11; attempt++) statuses.push((await login(second.origin, 'wrong wrong wrong')).status)
  t.strictSame(
    statuses,
    [...new Array<number>(10).fill(400), 429],
    'RL-6 a bypassed address has no limit of its own, but the account keeps its'
  )
  await second.kill('SIGKILL')

  const third = await start(port)
  t.match(third.output(), /leave this machine alone/)
  for (let attempt = 0; attempt < 6; attempt++)
    t.equal(
      (await login(third.origin, 'wrong wrong wrong', `H15-${attempt}@example.com`)).status,
      400,
      'H15 this machine is not limited outside production'
    )
  const afterKill = await fetch(`${third.origin}/auth/refresh`, {
    method: 'POST',
    ...bearer(again['refresh_token'] ?? '')
  })
  t.equal(afterKill.status, 200, 'a session outlives kill -9')
  t.equal(
    (await fetch(`${third.origin}/me`, bearer(again['access_token'] ?? ''))).status,
    200,
    'and so do the sealed signing keys'
  )
  const fresh = (await body(afterKill))['access_token'] ?? ''
  const { sessions } = (await (await fetch(`${third.origin}/auth/sessions`, bearer(fresh))).json()) as {
    sessions: Array<{ id: string; current: boolean }>
  }
  t.equal(sessions.length, 1)
  t.equal(
    (await fetch(`${third.origin}/auth/sessions/${sessions[0]?.id ?? ''}`, { method: 'DELETE', ...bearer(fresh) }))
      .status,
    204
  )
  t.equal((await fetch(`${third.origin}/me`, bearer(fresh))).status, 401, 'signed out')

  await t.test('prints commands that work unchanged', { skip: process.platform === 'win32' }, async (t) => {
    const commands = third.output().match(/^ {2}(?:curl|[A-Z_]+=).*$/gm) ?? []
    const script = commands.join('; echo\n').replaceAll('ann@', 'cat@')
    const { stdout } = await promisify(execFile)('bash', ['-c', script])
    const answers = stdout.split('\n').filter((line) => line !== '')
    t.match(
      answers.map((line): unknown => JSON.parse(line)),
      [
        { username: 'cat@example.com' },
        { username: 'cat@example.com' },
        { access_token: String },
        { sessions: [{ current: true }] },
        {}
      ]
    )
  })

  if (process.platform !== 'win32')
    t.equal(statSync(join(cwd, 'data/secret')).mode & 0o777, 0o600, 'only its owner reads the secret')
  t.notOk(third.output().includes(readFileSync(join(cwd, 'data/secret'), 'utf8').trim()))
  t.equal(await third.kill('SIGTERM'), 0, 'SIGTERM stops it gracefully')
  t.equal(
    statSync(join(cwd, 'data/authority.sqlite-wal'), { throwIfNoEntry: false })?.size ?? 0,
    0,
    'the database file has all data after a stop'
  )
})

t.test('serves its pages and both clients without JavaScript, also across kill -9', async (t) => {
  // Another issuer needs its own state.
  rmSync(join(cwd, 'data'), { recursive: true })
  const port = await freePort()
  const env = { ISSUER: `http://127.0.0.1:${port}`, RATE_LIMIT_BYPASS: '127.0.0.0/8' }
  const first = await start(port, env)
  const { origin } = first
  const browser = formBrowser(origin)
  const signUp = async (): Promise<void> => {
    const page = await browser.submit(await browser.get('/auth/signup?return_to=/'), BOB)
    t.equal(page.url.href, `${origin}/`)
    t.match(page.text, 'Signed in as <strong>bob@example.com</strong>')
  }

  await t.test('shows the start page without scripts', async (t) => {
    const page = await fetch(origin)
    t.equal(page.headers.get('cache-control'), 'no-store')
    t.match(page.headers.get('content-security-policy'), /^default-src 'none'; script-src 'self'; style-src 'self'; /)
    t.notMatch(page.headers.get('content-security-policy'), 'unsafe')
    const text = await page.text()
    t.match(text, 'Nobody is signed in')
    t.notMatch(text, /<script|<style| style=| on[a-z]+=/, 'no code at all')
    for (const [, link = ''] of text.matchAll(/href="(\/[^"]*)"/g))
      t.equal((await fetch(origin + link)).status, 200, link)
    t.equal((await fetch(`${origin}/app.js`)).headers.get('content-type'), 'text/javascript; charset=utf-8')
    await signUp()
  })

  await t.test('signs out only after the button on the sign-out page is pressed', async (t) => {
    const asked = await browser.get('/auth/logout')
    t.match(asked.text, 'value="sign_out"')
    t.match((await browser.get('/')).text, 'Signed in as', 'the link alone does nothing')
    t.equal((await browser.submit(asked, { decision: 'sign_out' })).status, 200)
    t.match((await browser.get('/')).text, 'Nobody is signed in')
  })

  const app = {
    clientId: 'example-spa',
    redirectUri: `${origin}/app`,
    verifier: 'a-verifier-of-at-least-43-characters-for-the-example'
  }
  const signInPage = await browser.get(
    `/auth/authorize?${new URLSearchParams({
      response_type: 'code',
      client_id: app.clientId,
      redirect_uri: app.redirectUri,
      scope: 'openid profile email offline_access',
      state: 'state-1',
      nonce: 'nonce-1',
      code_challenge: createHash('sha256').update(app.verifier).digest('base64url'),
      code_challenge_method: 'S256'
    }).toString()}`
  )
  t.equal(signInPage.url.pathname, '/auth/login')
  const back = await browser.submit(signInPage, BOB)
  t.equal(`${back.url.origin}${back.url.pathname}`, app.redirectUri)
  t.match(Object.fromEntries(back.url.searchParams), { state: 'state-1', iss: origin })
  t.match(back.text, `data-issuer="${origin}" data-client-id="example-spa" data-redirect-uri="${origin}/app"`)
  const code = back.url.searchParams.get('code') ?? ''
  const given = await body(
    await fetch(
      `${origin}/auth/token`,
      form({
        grant_type: 'authorization_code',
        client_id: app.clientId,
        redirect_uri: app.redirectUri,
        code,
        code_verifier: app.verifier
      })
    )
  )
  const { id_token: idToken = '', access_token: accessToken = '' } = given
  t.match(decodeJwt(idToken).claims, { iss: origin, aud: 'example-spa', nonce: 'nonce-1' })
  t.match(await body(await fetch(`${origin}/auth/userinfo`, bearer(accessToken))), {
    preferred_username: BOB.username,
    email: BOB.username
  })
  const { refresh_token: refreshToken = '' } = await body(
    await fetch(
      `${origin}/auth/token`,
      form({ grant_type: 'refresh_token', client_id: app.clientId, refresh_token: given['refresh_token'] ?? '' })
    )
  )
  const { sessions } = (await (await fetch(`${origin}/auth/sessions`, bearer(accessToken))).json()) as {
    sessions: Array<{ kind: string; current: boolean }>
  }
  t.strictSame(sessions.map(({ kind, current }) => `${kind} ${current}`).sort(), ['browser true', 'token true'])

  await t.test('asks for consent before the third-party client gets data', async (t) => {
    const asked = await browser.get('/third-party/sign-in')
    t.equal(asked.url.pathname, '/auth/consent', 'nobody has to sign in again')
    t.match(asked.text, 'Third-party demo')
    t.match((await browser.submit(asked, { decision: 'deny' })).text, 'You did not allow it')
    const allowed = await browser.submit(await browser.get('/third-party/sign-in'), { decision: 'allow' })
    t.equal(allowed.url.href, `${origin}/third-party`)
    t.match(allowed.text, 'You allowed: <code>openid profile email</code>')
    t.match(allowed.text, '<dt>preferred_username</dt><dd>bob@example.com</dd>')
    t.equal((await browser.get('/third-party/callback?code=stolen&state=other')).status, 400, 'an answer to nothing')
  })

  t.notOk(
    [code, accessToken, refreshToken, idToken, BOB.password].some((secret) => first.output().includes(secret)),
    'no code and no token in the log'
  )
  await first.kill('SIGKILL')
  const second = await start(port, env)
  t.match((await browser.get('/')).text, 'Signed in as', 'a browser session outlives kill -9')
  t.equal((await browser.get('/third-party/sign-in')).url.pathname, '/third-party', 'and so does a consent')
  const again = await body(
    await fetch(
      `${origin}/auth/token`,
      form({ grant_type: 'refresh_token', client_id: app.clientId, refresh_token: refreshToken })
    )
  )
  t.type(again['refresh_token'], 'string', 'and a refresh token')

  const out = await browser.get(
    `/auth/logout?${new URLSearchParams({ id_token_hint: idToken, post_logout_redirect_uri: app.redirectUri }).toString()}`
  )
  t.equal(out.url.href, app.redirectUri)
  t.match((await browser.get('/')).text, 'Nobody is signed in')
  const dead = await fetch(
    `${origin}/auth/token`,
    form({ grant_type: 'refresh_token', client_id: app.clientId, refresh_token: again['refresh_token'] ?? '' })
  )
  t.match(await body(dead), { error: 'invalid_grant' }, 'the sign-out ended what the app had')
  t.equal(await second.kill('SIGTERM'), 0)
})

t.test('registers clients of CLIENTS_FILE, and accepts a network address with ALLOW_INSECURE_ISSUER', async (t) => {
  rmSync(join(cwd, 'data'), { recursive: true, force: true })
  const file = join(cwd, 'clients.json')
  const redirectUri = 'https://suite.example/callback'
  writeFileSync(
    file,
    JSON.stringify([
      {
        clientId: 'suite',
        clientSecret: 'a secret of the suite with 32 bytes or more',
        requirePkce: false,
        redirectUris: [redirectUri]
      }
    ])
  )
  const issuer = 'http://192.168.1.5:3000'
  const { origin, kill, output } = await start(await freePort(), {
    CLIENTS_FILE: file,
    ISSUER: issuer,
    ALLOW_INSECURE_ISSUER: 'true'
  })
  t.match(output(), /allowInsecureIssuer: THE ISSUER IS/, 'and it is said')
  t.match(await body(await fetch(`${origin}/.well-known/openid-configuration`)), {
    issuer,
    token_endpoint: `${issuer}/auth/token`
  })
  t.notMatch(await (await fetch(origin)).text(), 'href="/app"', 'no redirect URI would be taken there')
  t.equal((await fetch(`${origin}/app`)).status, 404)
  const reply = await fetch(
    `${origin}/auth/authorize?${new URLSearchParams({ client_id: 'suite', redirect_uri: redirectUri, response_type: 'code', scope: 'openid' }).toString()}`,
    { redirect: 'manual' }
  )
  t.equal(reply.status, 303)
  t.match(reply.headers.get('location'), '/auth/login?client_id=suite')
  await kill('SIGTERM')
})

t.test('exits with 1 and an error without a stack trace for an invalid configuration', async (t) => {
  const cases: ReadonlyArray<readonly [name: string, env: Record<string, string>, says: RegExp]> = [
    ['production without a secret', { NODE_ENV: 'production' }, /AUTH_SECRET is not set/],
    ['a short secret', { AUTH_SECRET: 'short' }, /AUTH_SECRET is shorter than 32 bytes/],
    ['SMTP_URL', { SMTP_URL: 'mail.example:secret' }, /SMTP_URL takes a URL such as smtps:/],
    [
      'a DATABASE_URL of another database',
      { DATABASE_URL: 'mysql://root:hunter2@localhost/x' },
      /^(?!.*hunter2).*DATABASE_URL takes a URL such as postgres:/
    ],
    ['a REDIS_URL that is none', { REDIS_URL: 'localhost:6379' }, /REDIS_URL takes a URL such as redis:/],
    ['a port that is none', { PORT: 'http' }, /PORT is "http"/],
    ['a bypass with host bits', { RATE_LIMIT_BYPASS: '10.0.0.1/8' }, /rateLimit\.bypass\[0\]/],
    [
      'a clients file that is not there',
      { CLIENTS_FILE: 'no-such-file.json' },
      /CLIENTS_FILE is "no-such-file\.json", which can not be read/
    ],
    ['an issuer that is none', { ISSUER: 'http://example.com' }, /Invalid option "issuer"/],
    ['an issuer that is no URL', { ISSUER: 'auth.example.com' }, /ISSUER is "auth\.example\.com"/]
  ]
  mkdirSync(join(cwd, 'data'), { recursive: true })
  for (const [name, env, says] of cases) {
    const { child, output } = launch({ PORT: String(await freePort()), ...env })
    await once(child, 'close')
    t.equal(child.exitCode, 1, name)
    t.match(output(), says, name)
    t.notMatch(output(), /^\s+at /m, `${name}: no stack trace`)
  }
})
