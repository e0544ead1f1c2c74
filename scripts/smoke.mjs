// Does the quick start of the README do what it says, from the packed tarball, in an empty project? Run as a stranger
// would: as an ES module and through require(), over a real socket. `node scripts/smoke.mjs 22 24` runs what it has
// installed on these versions of Node.js instead: the package is JavaScript, and the binaries of its dependencies are
// for all versions.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { nodeOf } from './on-nodes.mjs'
import { pack, root } from './pack.mjs'

const START_WITHIN_MS = 20_000
const USER = { username: 'ann@example.com', password: 'seven green boats at dawn' }

const source = quickStart(readFileSync(join(root, 'README.md'), 'utf8'))
const project = mkdtempSync(join(tmpdir(), 'fastify-authority-smoke-'))
const packed = pack()
try {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/fastify/package.json'), 'utf8'))
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'smoke', private: true, allowScripts: { argon2: true } })
  )
  execFileSync(
    'npm',
    [
      'install',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      packed.tarball,
      `fastify@${version}`
    ],
    { cwd: project, stdio: 'inherit' }
  )
  const versions = process.argv.slice(2)
  for (const version of versions.length === 0 ? [null] : versions) {
    const node = version === null ? process.execPath : nodeOf(version)
    await tryOut(node, 'quick-start.mjs', source)
    await tryOut(node, 'quick-start.cjs', toCommonJs(source))
    checkHostTypes(node)
  }
} finally {
  packed.remove()
  rmSync(project, { recursive: true, force: true })
}

/**
 * The bundle has a TypeBox of its own. Formats and types that a host has registered in the package must hold for its
 * profile fields.
 */
function checkHostTypes(node) {
  const program = `
    import Fastify from 'fastify'
    import { FormatRegistry, Kind, Type, TypeRegistry } from '@sinclair/typebox'
    import { authPlugin, memoryUserStore } from 'fastify-authority'
    FormatRegistry.Set('even', (text) => text.length % 2 === 0)
    TypeRegistry.Set('Odd', (schema, value) => value % 2 === 1)
    const app = Fastify()
    const fields = Type.Object({ pet: Type.String({ format: 'even' }), lucky: Type.Unsafe({ [Kind]: 'Odd' }), born: Type.String({ format: 'date' }) })
    const registration = { fields }
    app.register(authPlugin, { issuer: 'http://localhost', users: memoryUserStore(), registration, pages: false, rateLimit: false })
    const good = { pet: 'ab', lucky: 1, born: '2026-01-01' }
    const answers = [good, { ...good, pet: 'abc' }, { ...good, lucky: 2 }, { ...good, born: 'soon' }].map(async (given, index) =>
      await app.inject({ method: 'POST', url: '/auth/register', payload: { username: \`a\${index}@example.com\`, password: 'seven green boats at dawn', ...given } }))
    console.log((await Promise.all(answers)).map(({ statusCode, body }) => \`\${statusCode} \${JSON.parse(body).error_description?.split(':')[0] ?? ''}\`.trim()).join(', '))
    await app.close()`
  writeFileSync(join(project, 'host-types.mjs'), program)
  const found = execFileSync(node, ['host-types.mjs'], { cwd: project, encoding: 'utf8' }).trim()
  if (found !== '201, 400 pet, 400 lucky, 400 born')
    throw new Error(`profile fields with a host's own format and type: ${found}`)
  console.log('host-types.mjs: profile fields know the formats and types of the host')
}

/** The first `ts` or `js` block below a heading that says "Quick start". */
function quickStart(readme) {
  const section = readme.split(/^#{1,6} +(?=.*quick start)/im)[1]
  const block = section === undefined ? null : /^```(?:ts|js|typescript|javascript)\b.*\n([\s\S]*?)^```/m.exec(section)
  if (block === null) throw new Error('README.md has no code block below a heading "Quick start"')
  return block[1]
}

/** The same program for a host that still is CommonJS: imports become require(), the rest runs in an async function. */
function toCommonJs(esm) {
  const imports = []
  const body = esm.replace(
    /^import (?:(\w+))?(?:, )?(?:\{([^}]*)\})? from '([^']+)'.*$/gm,
    (_line, whole, named, from) => {
      const names = [
        whole === undefined ? [] : [`default: ${whole}`],
        named === undefined ? [] : [named.replaceAll(' as ', ': ')]
      ].flat()
      imports.push(`const { ${names.join(', ')} } = require('${from}')`)
      return ''
    }
  )
  if (imports.length === 0 || /^import /m.test(body))
    throw new Error('the quick start has an import that this script can not turn into require()')
  return (
    `${imports.join('\n')}\n;(async () => {\n${body}\n})().catch((error) => { ` +
    `console.error(error); process.exitCode = 1 })\n`
  )
}

async function tryOut(node, file, program) {
  const port = await freePort()
  if (!program.includes('3000')) throw new Error('the quick start does not listen on port 3000')
  mkdirSync(join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'src', file), program.replaceAll('3000', String(port)))
  const child = spawn(node, [join('src', file)], { cwd: project, stdio: ['ignore', 'inherit', 'inherit'] })
  try {
    await journey(`http://localhost:${port}`, () => child.exitCode)
    console.log(`${file}: registered, signed in, GET /me 200`)
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill()
      await once(child, 'exit')
    }
  }
}

async function journey(origin, exitCode) {
  await untilUp(origin, exitCode)
  expectStatus('GET /me without a token', await fetch(`${origin}/me`), 401)
  expectStatus('POST /auth/register', await postJson(`${origin}/auth/register`, USER), 201)
  const token = await fetch(`${origin}/auth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', ...USER })
  })
  expectStatus('POST /auth/token', token, 200)
  const { access_token: accessToken } = await token.json()
  const me = await fetch(`${origin}/me`, { headers: { authorization: `Bearer ${accessToken}` } })
  expectStatus('GET /me', me, 200)
  const { sub } = await me.json()
  if (typeof sub !== 'string' || sub === '') throw new Error('GET /me names no subject')
  // The bundle reads the other languages from files of the package.
  const page = await fetch(`${origin}/auth/login`, { headers: { 'accept-language': 'de' } })
  expectStatus('GET /auth/login', page, 200)
  if (!(await page.text()).includes('<html lang="de"')) throw new Error('GET /auth/login is not in German')
}

async function untilUp(origin, exitCode) {
  const deadline = Date.now() + START_WITHIN_MS
  while (Date.now() < deadline) {
    if (exitCode() !== null) throw new Error(`the quick start ended with exit code ${exitCode()}`)
    try {
      await fetch(origin)
      return
    } catch {
      await delay(50)
    }
  }
  throw new Error(`the quick start did not listen within ${START_WITHIN_MS} ms`)
}

function postJson(url, body) {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

function expectStatus(what, response, status) {
  if (response.status !== status) throw new Error(`${what}: ${response.status} where ${status} was expected`)
}

async function freePort() {
  const server = createServer().listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
