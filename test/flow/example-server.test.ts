/** The example server as a stranger runs it: compiled, a process of its own, real sockets, killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript-tap'

const root = fileURLToPath(new URL('../../', import.meta.url))
const ANN = { username: 'ann@example.com', password: 'nine tall ferns by noon' }
const START_WITHIN_MS = 30_000

/** Compiles library and example into a directory of the test's own, as `npm start` does into dist. Types are another gate's. */
function build (directory: string): string {
  for (const tree of ['lib', 'examples/server']) {
    for (const file of readdirSync(join(root, tree), { recursive: true, encoding: 'utf8' })) {
      const [from, to] = [join(root, tree, file), join(directory, tree, file)]
      mkdirSync(dirname(to), { recursive: true })
      if (file.endsWith('.ts')) writeFileSync(to.replace(/\.ts$/, '.js'), compiled(from))
      else if (statSync(from).isFile()) copyFileSync(from, to)
    }
  }
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'fastify-authority', type: 'module', exports: { '.': './lib/index.js' } }))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction')
  return join(directory, 'examples/server/main.js')
}

function compiled (file: string): string {
  return ts.transpileModule(readFileSync(file, 'utf8'), {
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true, rewriteRelativeImportExtensions: true }
  }).outputText
}

/** Without what a developer may have set for the example. */
function cleanEnv (extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', SystemRoot = '' } = process.env
  return { PATH, ...SystemRoot === '' ? {} : { SystemRoot }, ...extra }
}

interface Server {
  child: ChildProcess
  origin: string
  output(): string
  /** Resolves with the first match in what the server printed. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): Promise<number | null>
}

const t0 = t.testdir({ build: {}, data: {} })
const main = build(join(t0, 'build'))
const cwd = join(t0, 'data')
const running = new Set<ChildProcess>()
t.teardown(() => { for (const child of running) child.kill('SIGKILL') })

function launch (env: Record<string, string>): Pick<Server, 'child' | 'output' | 'printed' | 'kill'> {
  const child = spawn(process.execPath, [main], { cwd, env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let text = ''
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => { running.delete(child); resolve(code) }))
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => { text += chunk; child.emit('printed') })
  return {
    child,
    output: () => text,
    async printed (pattern) {
      const signal = AbortSignal.timeout(START_WITHIN_MS)
      for (;;) {
        const match = pattern.exec(text)
        if (match !== null) return match
        if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${text}`)
        await once(child, 'printed', { signal })
      }
    },
    async kill (signal) {
      child.kill(signal)
      return await exited
    }
  }
}

async function start (port: number, env: Record<string, string> = {}): Promise<Server> {
  const server = launch({ PORT: String(port), HOST: '127.0.0.1', ...env })
  await server.printed(/Open http/)
  return { ...server, origin: `http://127.0.0.1:${port}` }
}

async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

const bearer = (token: string): { headers: { authorization: string } } => ({ headers: { authorization: `Bearer ${token}` } })
const json = (body: unknown): RequestInit => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
const form = (fields: Record<string, string>): RequestInit => ({ method: 'POST', body: new URLSearchParams(fields) })
const login = (origin: string, password: string, username = ANN.username): Promise<Response> => fetch(`${origin}/auth/token`, form({ grant_type: 'password', username, password }))

async function body (response: Response): Promise<Record<string, string>> {
  return await response.json() as Record<string, string>
}

t.test('sign-up to sign-out, over kill -9', async (t) => {
  const port = await freePort()
  const first = await start(port)

  const page = await fetch(first.origin)
  t.equal(page.status, 200)
  t.match(await page.text(), '<html lang="en">')
  t.match(page.headers.get('content-security-policy'), "script-src 'self'")
  const script = await fetch(`${first.origin}/page.js`)
  t.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')

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
  t.match(await body(await fetch(`${first.origin}/me`, bearer(accessToken))), { sub, username: ANN.username, email: ANN.username })
  const refreshed = await fetch(`${first.origin}/auth/refresh`, { method: 'POST', ...bearer(refreshToken) })
  t.equal(refreshed.status, 200)
  t.type((await body(refreshed))['access_token'], 'string')

  await t.test('the sixth password attempt of an address is 429 with Retry-After', async (t) => {
    const statuses: number[] = []
    let last: Response | undefined
    // The sign-in above was the first of the five.
    for (let attempt = 0; attempt < 6; attempt++) {
      last = await login(first.origin, 'wrong wrong wrong')
      statuses.push(last.status)
    }
    t.strictSame(statuses, [400, 400, 400, 400, 429, 429])
    const wait = Number(last?.headers.get('retry-after'))
    t.ok(wait > 0 && wait <= 900)
    t.match(await last?.json(), { error: 'too_many_requests', retryAfter: Number })
  })

  await t.test('a reset token is printed, since it is a demo, and sets a new password once', async (t) => {
    t.equal((await fetch(`${first.origin}/auth/password-reset`, json({ username: ANN.username }))).status, 202)
    const line = (await first.printed(/^\{.*"kind":"password_reset".*$/m))[0]
    const { message, msg } = JSON.parse(line) as { message: { to: string, link: string, token: string }, msg: string }
    t.equal(message.to, ANN.username)
    t.match(msg, /^DEMO/)
    t.ok(message.link.startsWith(`http://localhost:${port}/auth/reset-password#token=`))
    t.equal((await fetch(message.link.replace('localhost', '127.0.0.1'))).status, 200, 'the link opens a page')
    const confirm = (): Promise<Response> => fetch(`${first.origin}/auth/password-reset/confirm`, json({ token: message.token, password: 'eight blue kites at dusk' }))
    t.equal((await confirm()).status, 204)
    t.equal((await confirm()).status, 400)
    t.equal((await fetch(`${first.origin}/auth/refresh`, { method: 'POST', ...bearer(refreshToken) })).status, 401, 'the reset ended the session')
  })

  const quiet = first.output()
  t.notOk(quiet.includes(ANN.password) || quiet.includes(accessToken) || quiet.includes(refreshToken), 'no password and no bearer token in the log')
  await first.kill('SIGKILL')

  // The counters are in memory, so this process counts from nought; the range is not limited at all.
  const second = await start(port, { RATE_LIMIT_BYPASS: '127.0.0.0/8, 2001:db8::/32' })
  const again = await body(await login(second.origin, 'eight blue kites at dusk'))
  const statuses: number[] = []
  for (let attempt = 0; attempt < 11; attempt++) statuses.push((await login(second.origin, 'wrong wrong wrong')).status)
  t.strictSame(statuses, [...new Array<number>(10).fill(400), 429], 'RL-6 a bypassed address has no limit of its own, but the account keeps its')
  await second.kill('SIGKILL')

  const third = await start(port)
  const afterKill = await fetch(`${third.origin}/auth/refresh`, { method: 'POST', ...bearer(again['refresh_token'] ?? '') })
  t.equal(afterKill.status, 200, 'a session outlives kill -9')
  t.equal((await fetch(`${third.origin}/me`, bearer(again['access_token'] ?? ''))).status, 200, 'and so do the sealed signing keys')
  const fresh = (await body(afterKill))['access_token'] ?? ''
  const { sessions } = await (await fetch(`${third.origin}/auth/sessions`, bearer(fresh))).json() as { sessions: Array<{ id: string, current: boolean }> }
  t.equal(sessions.length, 1)
  t.equal((await fetch(`${third.origin}/auth/sessions/${sessions[0]?.id ?? ''}`, { method: 'DELETE', ...bearer(fresh) })).status, 204)
  t.equal((await fetch(`${third.origin}/me`, bearer(fresh))).status, 401, 'signed out')

  if (process.platform !== 'win32') t.equal(statSync(join(cwd, 'data/secret')).mode & 0o777, 0o600, 'only its owner reads the secret')
  t.notOk(third.output().includes(readFileSync(join(cwd, 'data/secret'), 'utf8').trim()))
  t.equal(await third.kill('SIGTERM'), 0, 'SIGTERM stops it gracefully')
})

t.test('what can not be served is said at the start', async (t) => {
  const cases: ReadonlyArray<readonly [name: string, env: Record<string, string>, says: RegExp]> = [
    ['production without a secret', { NODE_ENV: 'production' }, /AUTH_SECRET is not set/],
    ['a short secret', { AUTH_SECRET: 'short' }, /AUTH_SECRET is shorter than 32 bytes/],
    ['SMTP_URL', { SMTP_URL: 'smtp://localhost' }, /SMTP_URL is set, but this version does not support it yet/],
    ['DATABASE_URL', { DATABASE_URL: 'postgres://localhost' }, /DATABASE_URL is set, but/],
    ['REDIS_URL', { REDIS_URL: 'redis://localhost' }, /REDIS_URL is set, but/],
    ['a port that is none', { PORT: 'http' }, /PORT is "http"/],
    ['a bypass with host bits', { RATE_LIMIT_BYPASS: '10.0.0.1/8' }, /rateLimit\.bypass\[0\]/],
    ['an issuer that is none', { ISSUER: 'http://example.com' }, /Invalid option "issuer"/]
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
