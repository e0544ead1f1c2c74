import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import t from '../../support/tap.ts'

const run = promisify(execFile)
const source = (file: string, adapter = 'argon2') => join(import.meta.dirname, '../../../lib/adapters', adapter, file)
const LOWEST = process.platform === 'linux' ? 'lowest' : 'own'

/**
 * Ends a process with an error if it does not end by itself. The timer does not keep the process alive. It starts after
 * the work, because a thread of the lowest priority takes any time on a busy machine.
 */
const MUST_END = 'setTimeout(() => process.exit(7), 20_000).unref()'

/** A program that hashes, verifies, and prints the priority of its threads. It must end by itself. */
const HOST = `
  const hasher = nodeRsHasher()
  const encoded = await hasher.hash('correct horse', { memoryCost: 64, timeCost: 1, parallelism: 1 }, Buffer.alloc(32, 7))
  const matches = await hasher.verify(encoded, 'correct horse', Buffer.alloc(32, 7))
  const { readdirSync, readFileSync } = await import('node:fs')
  const lowest = process.platform === 'linux' && readdirSync('/proc/self/task').some((id) => / 39 19 /.test(readFileSync('/proc/self/task/' + id + '/stat', 'utf8')))
  console.log(matches, lowest ? 'lowest' : 'own')
  ${MUST_END}
`

/**
 * Builds the hasher as JavaScript. With the file of the thread next to it, as in the package, or without, as in a
 * bundle.
 */
async function built(outdir: string, entries: string[], format: 'esm' | 'cjs'): Promise<void> {
  await build({
    entryPoints: entries.map((file) => source(file)),
    outdir,
    format,
    bundle: true,
    platform: 'node',
    external: ['@node-rs/argon2'],
    logLevel: 'silent'
  })
}

async function outputOf(file: string): Promise<string> {
  const { stdout } = await run(process.execPath, [file], { env: { PATH: process.env['PATH'] } })
  return stdout.trim()
}

t.test('lets a process end by itself after its hashing is done', async (t) => {
  const directory = t.testdir({
    'package.json': '{"type":"module"}',
    'host.js': `import { nodeRsHasher } from './node-rs-hasher.js'\n${HOST}`
  })
  await built(directory, ['node-rs-hasher.ts', 'hashing-thread.ts'], 'esm')
  t.equal(await outputOf(join(directory, 'host.js')), `true ${LOWEST}`)
})

t.test('hashes in the thread pool of Node.js when a bundle lacks the thread file', async (t) => {
  for (const [format, type, host] of [
    ['esm', 'module', `import { nodeRsHasher } from './node-rs-hasher.js'\n${HOST}`],
    ['cjs', 'commonjs', `const { nodeRsHasher } = require('./node-rs-hasher.js')\n;(async () => {${HOST}})()`]
  ] as const) {
    const directory = t.testdir({ 'package.json': JSON.stringify({ type }), 'host.js': host })
    await built(directory, ['node-rs-hasher.ts'], format)
    t.notOk(readdirSync(directory).includes('hashing-thread.js'))
    t.equal(await outputOf(join(directory, 'host.js')), 'true own', format)
  }
})

t.test('names a missing package in the error of the thread', async (t) => {
  const directory = t.testdir({
    'package.json': '{"type":"module"}',
    'host.js':
      `import { nodeRsHasher } from './node-rs-hasher.js'\nawait nodeRsHasher().hash('x', ` +
      '{}).catch((error) => { console.log(error.message, error.cause.code ?? ' +
      `error.cause.message) })\n${MUST_END}`
  })
  await build({
    entryPoints: ['node-rs-hasher.ts', 'hashing-thread.ts'].map((file) => source(file)),
    outdir: directory,
    format: 'esm',
    bundle: true,
    platform: 'node',
    external: ['@node-rs/*'],
    alias: { '@node-rs/argon2': '@node-rs/not-there' },
    logLevel: 'silent'
  })
  t.match(
    await outputOf(join(directory, 'host.js')),
    /npm install @node-rs\/argon2 (?:ERR_MODULE_NOT_FOUND|Cannot find)/
  )
})

t.test('runs phpass with and without the file of its thread, and lets the process end', async (t) => {
  const host = `
    import { phpassKey } from './phpass.js'
    const key = await phpassKey('test12345', { rounds: 2048, salt: Buffer.from('IQRaTwmf') })
    console.log(Buffer.from(key).toString('hex'))
    ${MUST_END}
  `
  // Computed with hashlib of CPython.
  const key = '6a47277aba44ad01115b4a095e710397'
  for (const entries of [['phpass.ts', 'phpass-thread.ts'], ['phpass.ts']]) {
    const directory = t.testdir({ 'package.json': '{"type":"module"}', 'host.js': host })
    await build({
      entryPoints: entries.map((file) => source(file, 'imported-hashes')),
      outdir: directory,
      format: 'esm',
      bundle: true,
      platform: 'node',
      logLevel: 'silent'
    })
    t.equal(await outputOf(join(directory, 'host.js')), key, entries.join())
  }
})
