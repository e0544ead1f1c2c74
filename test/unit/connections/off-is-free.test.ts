/**
 * A feature that is off is not loaded: the plugin alone loads no code of connections, second factors, sign-in by email,
 * or QR codes.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'
import t from '../../support/tap.ts'
import { oidc } from '../../../lib/connections/index.ts'
import { connectionsOf } from '../../../lib/features/connections/connection.ts'
import { settingsOf } from '../../../lib/composition/compose.ts'
import { connectionSettings } from '../../support/upstream/connection-settings.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import Fastify from 'fastify'

const STATIC = /^(?:import|export)\s(?!type\b)[^'"]*?from '([^']+)'|^import '([^']+)'/gm

/** The files of lib and the packages that this file loads by static imports, directly or indirectly. */
function loads(entry: URL): Set<string> {
  const found = new Set<string>()
  const visit = (file: URL): void => {
    if (found.has(file.href)) return
    found.add(file.href)
    for (const [, from, bare] of readFileSync(file, 'utf8').matchAll(STATIC)) {
      const specifier = from ?? bare ?? ''
      if (specifier.startsWith('.')) visit(new URL(specifier, file))
      else found.add(specifier)
    }
  }
  visit(entry)
  return found
}

t.test('loads only the declarations of connections, and no OAuth engine, with the plugin alone', async (t) => {
  const loaded = [...loads(new URL('../../../lib/index.ts', import.meta.url))]
  t.ok(loaded.length > 200 && loaded.some((one) => one.endsWith('/lib/features/connections/feature.ts')))
  t.strictSame(
    loaded.filter(
      (one) =>
        one === 'oauth4webapi' ||
        /\/lib\/(?:connections\/|features\/connections\/(?!(?:feature|grants|options)\.ts$))/.test(one)
    ),
    []
  )
  t.ok(
    loads(new URL('../../../lib/features/connections/upstream/upstream.ts', import.meta.url)).has('oauth4webapi'),
    'and the walk finds it where it is'
  )
})

t.test(
  'loads no module of passkeys, QR codes, factors, email codes or connections with the plugin alone',
  async (t) => {
    const late = [
      'features/second-factors/create.ts',
      'features/connections/create.ts',
      'features/connections/endpoints.ts',
      'features/connections/exchange.ts',
      'features/connections/pages/callback.ts',
      'features/email-codes/create.ts',
      'features/email-codes/pages/email-code.ts',
      'features/email-codes/pages/email-link.ts',
      'features/email-codes/sign-in.ts',
      'features/passkeys/create.ts',
      'features/passkeys/prove.ts',
      'pages/qr.ts'
    ].map((file) => new URL(`../../../lib/${file}`, import.meta.url))
    const loaded = loads(new URL('../../../lib/index.ts', import.meta.url))
    for (const file of late) t.ok(loads(file).has(file.href) && !loaded.has(file.href), file.pathname)
  }
)

/**
 * Files of second factors and of other features, except declarations of features, options and grants. Leaves out the
 * own account, which is always on, and invitations, which are on with emails and pages.
 */
const FACTORS =
  /^(?:features\/(?!own|inv)[^/]+\/(?!(?:feature|grants|options)\.ts$)|protocol\/(?:totp|recovery-code|webauthn))/

t.test('loads only the option, grant and feature declarations of optional features with the plugin alone', (t) => {
  const root = new URL('../../../lib/', import.meta.url).href
  const under = (file: string): string[] =>
    [...loads(new URL(file, root))].map((one) => one.replace(root, '')).filter((one) => FACTORS.test(one))
  t.strictSame(under('index.ts'), [])
  t.ok(
    under('features/second-factors/create.ts').includes('features/second-factors/finish-sign-in.ts'),
    'and the walk finds them where they are'
  )
  t.ok(under('features/email-codes/sign-in.ts').includes('features/email-codes/ask.ts'))
  t.end()
})

t.test('loads no file of second factors in a process that serves requests without second factors', async (t) => {
  const root = new URL('../../../', import.meta.url)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      './scripts/typescript-loader.mjs',
      fileURLToPath(new URL('support/serve-without.ts', import.meta.url))
    ],
    { cwd: root, timeout: 180_000 }
  )
  const { atReady, loaded, answers, noFactors } = JSON.parse(stdout) as {
    atReady: number
    loaded: string[]
    answers: Record<string, number>
    noFactors: string
  }
  t.ok(atReady > 200 && loaded.includes('accounts/begin-session.ts'), 'what is loaded was seen')
  t.strictSame(
    loaded.filter((one) => FACTORS.test(one)),
    ['features/users/create.ts'],
    'app.authority.users loads the rest at its first call'
  )
  t.equal(noFactors, 'app.authority: there are no second factors without the option factors.')
  const refused = Object.entries(answers)
    .filter(([, status]) => status >= 400)
    .map(([what]) => what)
  t.strictSame(refused, ['mfa grant', 'passkey grant', 'wrong sign-in', 'passkey at sign-in'], 'all else was served')
})

t.test('loads fewer than 20 files and no package with the entry of the providers', async (t) => {
  const loaded = [...loads(new URL('../../../lib/connections/index.ts', import.meta.url))]
  t.strictSame(
    loaded.filter((one) => !one.startsWith('file:')),
    ['node:crypto']
  )
  t.ok(loaded.length < 20, loaded.length.toString())
})

t.test('creates a connection only when one is configured', async (t) => {
  const parts = {
    clock: steppedClock(),
    outbound: async () => await Promise.reject(new Error('no call')),
    log: Fastify().log,
    callbackUrl: () => '',
    sealer: aesSealer(['a secret of more than 32 bytes, for tests only'])
  }
  const base = { issuer: 'https://auth.example', users: memoryUserStore() }
  t.equal((await connectionsOf(connectionSettings(base), settingsOf(base), parts)).size, 0)
  t.equal(
    (
      await connectionsOf(
        connectionSettings({
          ...base,
          secret: 'a secret of more than 32 bytes, for tests only',
          connections: [oidc({ id: 'up', issuer: 'https://x.example', clientId: 'c' })]
        }),
        settingsOf(base),
        parts
      )
    ).size,
    1
  )
})
