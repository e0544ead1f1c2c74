/** The browser client where there is no browser: on a server, in a worker. */
import { once } from 'node:events'
import vm from 'node:vm'
import { Worker } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import t from '../../support/tap.ts'

/** Globals that a script of a page might read. */
const GLOBALS = [
  'window',
  'self',
  'document',
  'location',
  'history',
  'navigator',
  'localStorage',
  'sessionStorage',
  'indexedDB',
  'crypto',
  'fetch',
  'Request',
  'Response',
  'Headers',
  'URL',
  'URLSearchParams',
  'BroadcastChannel',
  'MessageChannel',
  'AbortSignal',
  'AbortController',
  'addEventListener',
  'postMessage',
  'setTimeout',
  'setInterval',
  'queueMicrotask',
  'performance',
  'atob',
  'btoa',
  'TextEncoder',
  'process',
  'console',
  'open',
  'close'
]

const entry = (name: string): string => fileURLToPath(new URL(`../../../lib/client/${name}.ts`, import.meta.url))

/** Bundles an entry as a script that assigns its exports to `client`. */
function script(name: string): string {
  const {
    outputFiles: [file]
  } = buildSync({
    entryPoints: [entry(name)],
    bundle: true,
    format: 'iife',
    globalName: 'client',
    target: 'es2022',
    platform: 'browser',
    external: ['react', 'vue'],
    write: false
  })
  return file?.text ?? ''
}

/** A context that records each read of these globals. */
function trapped(): { run(code: string): unknown; touched: string[] } {
  const touched: string[] = []
  const world: Record<string, unknown> = {}
  for (const name of GLOBALS)
    Object.defineProperty(world, name, {
      get: () => {
        touched.push(name)
      }
    })
  vm.createContext(world)
  return { run: (code) => vm.runInContext(code, world), touched }
}

t.test('records a read of a global in the context of these tests', async (t) => {
  const { run, touched } = trapped()
  run("typeof document; 'x' in globalThis; globalThis.location?.href")
  t.strictSame(touched, ['document', 'location'])
})

t.test('reads no global on import or construction, and returns no user', async (t) => {
  for (const options of [
    '',
    "storage: 'memory'",
    "storage: 'session'",
    "mode: 'cookie'",
    "allowedOrigins: ['https://api.example']"
  ]) {
    const { run, touched } = trapped()
    run(script('index'))
    run(`var auth = client.createAuthClient({ clientId: 'app', domain: 'auth.example', ${options} })`)
    t.strictSame(touched, [], options)
    t.equal(await run('auth.getUser()'), null)
  }
})

t.test('reads no global on import of the entries popup, silent, state and svelte', async (t) => {
  for (const name of ['popup', 'silent', 'state', 'svelte']) {
    const { run, touched } = trapped()
    run(script(name))
    t.strictSame(touched, [], name)
  }
})

t.test('runs in a worker, and reports that no user is signed in', async (t) => {
  const worker = new Worker(
    `${script('index')}
    const auth = client.createAuthClient({ clientId: 'app', domain: 'auth.example' })
    const code = (error) => [error instanceof client.AuthClientError, error.error, error.retryable]
    Promise.all([auth.getUser(), auth.getAccessToken().catch(code)]).then((told) => require('node:worker_threads').parentPort.postMessage(told))`,
    { eval: true }
  )
  t.strictSame(await once(worker, 'message'), [[null, [true, 'login_required', false]]])
  await worker.terminate()
})

t.test('creates a client without a then method, so that await returns the client', async (t) => {
  const { createAuthClient } = await import(entry('index'))
  const auth = createAuthClient({ clientId: 'app', domain: 'auth.example' })
  t.notOk('then' in auth)
  t.equal(await auth, auth)
  t.strictSame(Object.keys(auth).sort(), [
    'fetch',
    'getAccessToken',
    'getUser',
    'handleRedirectCallback',
    'loginWithRedirect',
    'logout',
    'off',
    'on'
  ])
})
