// The examples as a reader runs them: built, then started. The server must answer; the others must do what they are
// there for.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
const DEADLINE_MS = 30_000

run(npm, ['run', '--silent', 'built'])
run(npm, ['run', '--silent', 'build:examples'])
run(process.execPath, ['dist/examples/own-user-store/contract.js'])
console.log('own-user-store: the contract suite passed')

await serve('own-user-store', async (origin) => {
  const credentials = new URLSearchParams({
    grant_type: 'password',
    username: 'Ann@example.com',
    password: 'seven green boats at dawn'
  })
  const signedIn = await fetch(`${origin}/auth/token`, { method: 'POST', body: credentials })
  if (signedIn.status !== 200) throw new Error(`token answered ${signedIn.status}`)
  const headers = { authorization: `Bearer ${(await signedIn.json()).access_token}` }
  // Her old hash is replaced behind the answer.
  for (const end = Date.now() + DEADLINE_MS; ;) {
    const me = await (await fetch(`${origin}/me`, { headers })).json()
    if (me.person_no === 1 && me.has_old_hash === 0)
      return 'a person of the existing table signed in, and her bcrypt hash was replaced'
    if (Date.now() > end) throw new Error(`/me answered ${JSON.stringify(me)}`)
    await new Promise((resolve) => {
      setTimeout(resolve, 50)
    })
  }
})

await serve('server', async (origin) => {
  await get(`${origin}/`)
  const registered = await fetch(`${origin}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'ann@example.com', password: 'seven green boats at dawn' })
  })
  if (registered.status !== 201) throw new Error(`register answered ${registered.status}`)
  return 'GET / 200, register 201'
})

await serve('api', async (origin) => {
  const person = { username: 'ann@example.com', password: 'seven green boats' }
  await fetch(`${origin}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(person)
  })
  const api = `http://127.0.0.1:${Number(new URL(origin).port) + 1}`
  const statuses = []
  for (const target of [{ resource: api }, {}]) {
    const body = new URLSearchParams({ grant_type: 'password', client_id: 'shell', ...person, ...target })
    const { access_token: token } = await (await fetch(`${origin}/auth/token`, { method: 'POST', body })).json()
    statuses.push((await fetch(`${api}/orders`, { headers: { authorization: `Bearer ${token}` } })).status)
  }
  if (statuses.join() !== '200,401') throw new Error(`the API answered ${statuses.join()}`)
  return 'the API took a token for itself, and refused one for the issuer'
})

await serve('device', async (origin) => {
  const person = { username: 'ann@example.com', password: 'seven green boats at dawn' }
  await fetch(`${origin}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(person)
  })
  const issuer = origin.replace('localhost', '127.0.0.1')
  const tool = spawn(process.execPath, [join(root, 'dist/examples/device/cli.js')], {
    env: { ...process.env, ISSUER: issuer },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const lines = createInterface({ input: tool.stdout })[Symbol.asyncIterator]()
  const [, user_code] = /enter ([A-Z-]+)/.exec((await lines.next()).value) ?? []
  let cookie = ''
  const press = async (path, form) => {
    const headers = { origin: issuer, cookie }
    const body = new URLSearchParams(form)
    const reply = await fetch(issuer + path, { method: 'POST', redirect: 'manual', headers, body })
    for (const set of reply.headers.getSetCookie()) cookie += `${set.split(';')[0]}; `
    return reply
  }
  await press('/auth/login', person)
  const page = await (await press('/device', { user_code })).text()
  const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(page) ?? []
  await press(action.replaceAll('&amp;', '&'), { user_code, decision: 'allow' })
  const { value: last } = await lines.next()
  if (!last?.startsWith('Signed in: {"sub":')) throw new Error(`the tool ended with ${last}`)
  return 'a command line tool signed in after its user allowed it in a browser'
})

await serve('spa-react', async (origin) => {
  await get(`${origin}/`)
  await get(`${origin}/me`)
  const bundle = await get(`${origin}/app.js`)
  return `GET / 200, GET /me 200, GET /app.js 200 with ${bundle.length} characters`
})

/** Starts an example on a free port, in a directory of its own, and ends it after `check`. */
async function serve(name, check) {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-example-'))
  const server = spawn(process.execPath, [join(root, `dist/examples/${name}/main.js`)], {
    cwd: directory,
    env: { ...process.env, PORT: String(port), HOST: '127.0.0.1', ISSUER: `http://127.0.0.1:${port}` },
    stdio: ['ignore', 'ignore', 'inherit']
  })
  try {
    const origin = `http://localhost:${port}`
    await answer(server, `${origin}/`)
    console.log(`${name}: ${await check(origin)}`)
  } finally {
    server.kill('SIGTERM')
    await new Promise((resolve) => {
      server.once('exit', resolve)
    })
    rmSync(directory, { recursive: true, force: true })
  }
}

async function get(url) {
  const response = await fetch(url)
  if (response.status !== 200) throw new Error(`GET ${url} answered ${response.status}`)
  return await response.text()
}

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => {
    probe.once('listening', resolve)
  })
  const { port } = probe.address()
  await new Promise((resolve) => {
    probe.close(resolve)
  })
  return port
}

/** The first answer of a server that is starting. */
async function answer(server, url) {
  for (const end = Date.now() + DEADLINE_MS; ;) {
    try {
      return await fetch(url)
    } catch (error) {
      if (Date.now() > end || server.exitCode !== null) throw error
      await new Promise((resolve) => {
        setTimeout(resolve, 50)
      })
    }
  }
}
