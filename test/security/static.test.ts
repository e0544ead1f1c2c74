import { readdirSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'
import { EVENT_NAMES } from '../../lib/events.ts'

const LIB = new URL('../../lib/', import.meta.url)
/** Comments and descriptions of options may name forbidden code. */
const code = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '$1')
    .replace(/\bdescription:(?:[\s+(]*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))+/g, '')
const sources = new Map(
  readdirSync(LIB, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name.replaceAll('\\', '/'), code(readFileSync(new URL(name.replaceAll('\\', '/'), LIB), 'utf8'))])
)

const found = (pattern: RegExp, except: RegExp = /^$/): string[] =>
  [...sources].flatMap(([name, text]) =>
    except.test(name) ? [] : [...text.matchAll(pattern)].map(([match]) => `${name}: ${match}`)
  )

/** The third value lists the allowed places. `client/` runs in the user's browser and exists to make calls. */
// In the browser client, a lock's mark is no secret, and two random UUIDs have 244 random bits. PostgreSQL's trial row
// only needs a unique name. Redis names its scripts by SHA-1, and the scripts are constants. MD5 belongs to imported
// phpass hashes.
const NEVER: Array<[string, RegExp, RegExp?]> = [
  [
    'ASVS-6.5.3 ASVS-11.5.1 ASVS-11.5.2 no weak randomness, and no UUID as a secret',
    /Math\.random|randomUUID|pseudoRandomBytes/g,
    /^client\/storage\.ts$/
  ],
  [
    'ASVS-11.5.1 random bytes come from one place',
    /randomBytes|randomFillSync|getRandomValues/g,
    /^(?:adapters|features\/[^/]+\/upstream)\/|^records\/chance\.ts$|^testing\/|^client\//
  ],
  [
    'ASVS-1.3.2 ASVS-1.3.7 no code and no template from text',
    /\beval\s*\(|new Function\b|node:vm/g,
    /^adapters\/redis\/connection/
  ],
  ['ASVS-1.2.5 no commands', /child_process|execSync|spawn\(/g],
  ['ASVS-1.2.9 no expression made of input', /new RegExp\((?!\s*`\^)/g],
  ['ASVS-1.5.2 no objects revived', /node:v8|deserialize\(|\.load\(.*yaml/g],
  [
    'DOS-event-loop no hashing that blocks',
    /hashSync|verifySync|compareSync|scryptSync|pbkdf2Sync/g,
    /^adapters\/argon2\/hashing-thread\.ts$/
  ],
  [
    'ASVS-11.4.1 ASVS-11.3.1 no broken algorithm to make anything with',
    /(?:createH|\bh)ash\('(?:md5|sha1)'|'(?:aes-\d+-ecb|aes-\d+-cbc|des(?:3|x|-[^']*)?|rc4)'|RSA1_5|RSA_PKCS1_PADDING|createCipher\(/g,
    /^adapters\/(?:redis\/refusal|imported-hashes\/phpass)/
  ],
  ['ASVS-12.3.2 no certificate goes unchecked', /rejectUnauthorized|NODE_TLS_REJECT_UNAUTHORIZED/g],
  [
    'ASVS-15.3.4 ASVS-4.1.3 RL-1 nobody reads forwarding headers for an address, a host or a scheme',
    /headers\[?\.?['"]?(?:x-forwarded|forwarded|x-real-ip|cf-connecting)/gi
  ],
  [
    'ADV-CVE-2026-3635 nothing is made from the Host header',
    /request\.(?:host|hostname|protocol)\b|headers\.host\b|headers\['host'\]/g,
    // Only compares the host. The redirect target begins with the issuer.
    /^http\/pages\/page-routes\.ts$/
  ],
  [
    "ASVS-16.2.3 nothing is written but by the host's logger",
    /console\.\w+|process\.std(?:out|err)/g,
    /^client\/(?:index|dev)\.ts$|^cli\//
  ],
  [
    'ASVS-13.2.3 ASVS-6.3.2 no credential is built in',
    /['"](?:changeme|admin123|password123|secret123|letmein)['"]/gi,
    /common-passwords/
  ],
  [
    'ASVS-14.2.3 ASVS-13.2.4 nobody is called, but clients that registered to hear of a ' +
      'sign-out, and providers that the host has connected',
    /\bfetch\(|node:https?'|node:net'.*connect|undici/g,
    /^adapters\/node\/outbound\.ts$|^client\/|^pages\/script\.ts$/
  ],
  [
    'ADV-CVE-2022-31142 ASVS-11.2.4 no secret is compared by ===',
    /\b(?:clientSecret|client_secret|secret|presentedSecret|signature|mac|token)\s*[!=]==\s*(?!undefined\b|null\b|'|"|`)\w|[!=]==\s*(?:clientSecret|client_secret|secret|signature|mac)\b/g
  ],
  // A link of a message is confirmed by JSON too, by a program that shows no browser. Its browser session ends.
  [
    'ASVS-7.2.4 a sign-in that stays comes from `stay`, which gives it a new secret',
    /\bbrowser:\s*(?:null|\{\s*sid)\b/g,
    /^sessions\/(?:browser-)?sessions\.ts$|^accounts\/change-email\.ts$/
  ],
  [
    'ASVS-7.2.4 a session gets proofs with a new secret alone, and its browser the cookie',
    /\.(?:createSession|renewSession)\(|\bbrowserSessions\.(?:start|renew|stay)\(/g,
    new RegExp(
      '^sessions/browser-sessions|^http/edge/request-browser|^records/|^boundary/|^testing/|' +
        '^accounts/begin-session|^features/second-factors/(?:finish-sign-in|pages/set-up-second-factor)'
    )
  ]
]

t.test('contains no forbidden construct in the source of lib', async (t) => {
  t.ok(sources.size > 50)
  // Values found by a digest, or made for a signed-in user, so the comparison reveals nothing to a guess.
  const harmless = /^(?:tokens\/verified-token-cache|limits\/known-devices)\.ts: /
  for (const [what, pattern, except] of NEVER)
    t.same(
      found(pattern, except).filter((one) => !(what.includes('===') && harmless.test(one))),
      [],
      what
    )
})

t.test('recognizes an example of each forbidden construct', async (t) => {
  const planted = [
    'Math.random()',
    'randomBytes(32)',
    'eval(x)',
    'child_process',
    'new RegExp(input)',
    'node:v8',
    'scryptSync(',
    "createHash('md5')",
    'rejectUnauthorized: false',
    "request.headers['x-forwarded-for']",
    'request.hostname',
    'console.log',
    "'changeme'",
    'fetch(url)',
    'if (clientSecret === given)',
    'stays: { sid, browser: null }',
    'browserSessions.renew(methods, browser)'
  ]
  t.equal(planted.length, NEVER.length)
  for (const [index, text] of planted.entries())
    t.match(text, new RegExp(NEVER[index]?.[1].source ?? '', 'i'), NEVER[index]?.[0] ?? '')
})

t.test('DOS-event-loop loads blocking code only in a worker thread', async (t) => {
  const naming = (pattern: RegExp): string[] =>
    [...sources].filter(([, source]) => pattern.test(source)).map(([name]) => name)
  t.same(naming(/from '[^']*\/(?:hashing|phpass)-thread\.ts'|import\([^)]*(?:hashing|phpass)-thread\b/), [])
  t.same(naming(/\/hashing-thread\b/), ['adapters/argon2/node-rs-hasher.ts'])
  t.same(naming(/\/phpass-thread\b/), ['adapters/imported-hashes/phpass.ts'])
  t.same(naming(/new Worker\(/), ['adapters/threads/hashing-threads.ts'])
})

// covers ASVS-13.2.4 ASVS-15.3.2 ASVS-1.3.6
t.test('posts outbound forms only from the logout code, to a registered back-channel address', async (t) => {
  const text = sources.get('adapters/node/outbound.ts') ?? ''
  t.equal(text.match(/\.request\(/g)?.length, 1)
  const importers = (path: string): string[] =>
    [...sources].filter(([, source]) => source.includes(`${path}.ts'`)).map(([name]) => name)
  t.same(importers('adapters/node/outbound'), ['composition/services.ts', 'resource/plugin.ts'])
  const posting = [...sources].filter(([, source]) => /\bFormPost\b[^']*'[^']*\/ports\/outbound\.ts'/.test(source))
  t.same(posting.map(([name]) => name).sort(), ['adapters/node/outbound.ts', 'authorize/logout.ts'])
  t.match(sources.get('authorize/logout.ts'), /await formPost\(\s*client\.backchannelLogoutUri,\s/)
})

// covers ASVS-11.2.4 ASVS-11.2.1
t.test('compares secrets as digests in constant time', async (t) => {
  const { equalSecrets } = await import('../../lib/protocol/digest.ts')
  t.equal(equalSecrets('a', 'a'), true)
  for (const [left, right] of [
    ['a', 'b'],
    ['a', 'ab'],
    ['', 'a'],
    ['a', '']
  ] as const)
    t.equal(equalSecrets(left, right), false)
  t.match(sources.get('protocol/digest.ts'), /timingSafeEqual/)
  t.match(sources.get('limits/known-devices.ts'), /timingSafeEqual|equalSecrets/)
  t.match(sources.get('oauth/authenticate-client.ts'), /equalSecrets/)
})

t.test('finds a test that names each event', async (t) => {
  const TESTS = new URL('../', import.meta.url)
  const tests = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(new URL(name.replaceAll('\\', '/'), TESTS), 'utf8'))
  t.same(
    EVENT_NAMES.filter((name) => !tests.some((test) => test.includes(`'${name}'`))),
    []
  )
})
