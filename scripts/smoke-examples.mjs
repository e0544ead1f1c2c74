// The examples as a reader runs them: built, then started. The server must answer; the others must do what they are there for.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
const DEADLINE_MS = 30_000

run(npm, ['run', '--silent', 'build'])
run(npm, ['run', '--silent', 'build:examples'])
run(process.execPath, ['dist/examples/own-user-store/contract.js'])
console.log('own-user-store: the contract suite passed')

const port = await freePort()
const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-example-'))
const server = spawn(process.execPath, [join(root, 'dist/examples/server/main.js')], { cwd: directory, env: { ...process.env, PORT: String(port), HOST: '127.0.0.1', ISSUER: `http://127.0.0.1:${port}` }, stdio: ['ignore', 'ignore', 'inherit'] })
try {
  const page = await answer(`http://127.0.0.1:${port}/`)
  if (page.status !== 200) throw new Error(`GET / answered ${page.status}`)
  const registered = await fetch(`http://127.0.0.1:${port}/auth/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ username: 'ann', password: 'seven green boats at dawn' }) })
  if (registered.status !== 201) throw new Error(`register answered ${registered.status}`)
  console.log('server: GET / 200, register 201')
} finally {
  server.kill('SIGTERM')
  await new Promise((resolve) => { server.once('exit', resolve) })
  rmSync(directory, { recursive: true, force: true })
}

function run (command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

async function freePort () {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => { probe.once('listening', resolve) })
  const { port } = probe.address()
  await new Promise((resolve) => { probe.close(resolve) })
  return port
}

/** The first answer of a server that is starting. */
async function answer (url) {
  for (const end = Date.now() + DEADLINE_MS; ;) {
    try {
      return await fetch(url)
    } catch (error) {
      if (Date.now() > end || server.exitCode !== null) throw error
      await new Promise((resolve) => { setTimeout(resolve, 50) })
    }
  }
}
