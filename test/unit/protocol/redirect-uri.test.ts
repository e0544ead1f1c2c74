import t from '../../support/tap.ts'
import {
  checkClientRedirectUri,
  checkRegistrableRedirectUri,
  checkWebUri,
  formActionOf,
  isPublicNativeRedirect,
  matchesRedirectUri
} from '../../../lib/protocol/redirect-uri.ts'

const REGISTERED = 'https://app.example/cb'
/** URIs that some parser takes for `https://app.example/cb`, but that are others. */
const NOT_REGISTERED = [
  `${REGISTERED}/`,
  'https://app.example/CB',
  'HTTPS://APP.example/cb',
  'https://app.example:443/cb',
  `${REGISTERED}/x`,
  `${REGISTERED}/../x`,
  'https://app.example/x/../cb',
  'https://app.example/./cb',
  `${REGISTERED}%2f..`,
  'https://app.example/%63b',
  'https://app.example/%2563b',
  `${REGISTERED};x`,
  `${REGISTERED}?x=1`,
  `${REGISTERED}?`,
  `${REGISTERED}#f`,
  `${REGISTERED}#`,
  '//app.example/cb',
  'https:app.example/cb',
  'https:/app.example/cb',
  'https:///app.example/cb',
  'https:\\\\app.example\\cb',
  'https://app.example\\cb',
  'https://app.example@evil/cb',
  'https://evil\\@app.example/cb',
  'https://evil@app.example/cb',
  'https://@app.example/cb',
  'https://app.example.evil/cb',
  'https://app.example./cb',
  'https://evil/https://app.example/cb',
  'https://evil/?https://app.example/cb',
  `${REGISTERED} `,
  ` ${REGISTERED}`,
  `${REGISTERED}\t`,
  'https://app.exa\tmple/cb',
  `${REGISTERED}\0`,
  `${REGISTERED}%00`,
  `${REGISTERED}\r\n`,
  `${REGISTERED}\r\nSet-Cookie:a=b`,
  'https://\u0430pp.example/cb',
  'https://xn--pp-6kc.example/cb',
  'https://app\u3002example/cb',
  'http://app.example/cb',
  'https://*/cb',
  'https://*.example/cb',
  '*',
  '/cb',
  'cb',
  '',
  'javascript:alert(1)',
  'data:text/html,x',
  'intent://app.example/cb',
  `${REGISTERED}${'x'.repeat(3000)}`,
  '__proto__',
  'length',
  '0'
]

// covers ASVS-10.4.1 R6749-3.1.2.3 R9700-2.1 OIDF-oidcc-ensure-registered-redirect-uri
t.test('matches a registered URI character by character', async (t) => {
  t.ok(matchesRedirectUri([REGISTERED], REGISTERED))
  t.ok(matchesRedirectUri(['https://other.example/', REGISTERED], REGISTERED))
  t.notOk(matchesRedirectUri([], REGISTERED))
  for (const requested of NOT_REGISTERED)
    t.notOk(
      matchesRedirectUri([REGISTERED, 'https://other.example/cb'], requested),
      JSON.stringify(requested).slice(0, 60)
    )
  const withQuery = 'https://app.example/cb?dummy1=lorem&dummy2=ipsum'
  t.ok(matchesRedirectUri([withQuery], withQuery))
  for (const requested of [
    REGISTERED,
    `${REGISTERED}?dummy2=ipsum&dummy1=lorem`,
    `${withQuery}&x=1`,
    `${REGISTERED}?dummy1=lorem`
  ])
    t.notOk(matchesRedirectUri([withQuery], requested), requested)
  t.notOk(matchesRedirectUri(['HTTPS://app.example/cb'], REGISTERED), 'the registered one is not spelled anew either')
})

// covers R8252-7.3
t.test('allows any port for a loopback URI of a native app, and no other difference', async (t) => {
  for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
    for (const registered of [`http://${host}/cb?a=b`, `http://${host}:3000/cb?a=b`]) {
      for (const port of ['', ':1', ':80', ':3000', ':65535'])
        t.ok(matchesRedirectUri([registered], `http://${host}${port}/cb?a=b`, 'native'), `${registered} ${port}`)
      for (const port of [
        ':',
        ':0',
        ':65536',
        ':99999',
        ':080',
        ':8 0',
        ':-1',
        ':a',
        ':1:2',
        ':1@evil.example',
        '@evil.example',
        '.evil.example',
        ':1.evil.example',
        '%2eevil.example'
      ])
        t.notOk(matchesRedirectUri([registered], `http://${host}${port}/cb?a=b`, 'native'), `${registered} ${port}`)
      for (const rest of [
        '',
        '/',
        '/cb',
        '/cb/',
        '/CB?a=b',
        '/cb?a=c',
        '/cb?a=b&c',
        '/cb/../cb?a=b',
        '/cb?a=b#',
        '/cb?a=b#f',
        '//cb?a=b'
      ])
        t.notOk(matchesRedirectUri([registered], `http://${host}:7${rest}`, 'native'), `${registered} ${rest}`)
    }
    t.notOk(matchesRedirectUri([`http://${host}/cb`], `https://${host}:1/cb`, 'native'), 'another scheme')
    t.notOk(matchesRedirectUri([`https://${host}/cb`], `https://${host}:1/cb`, 'native'), 'not of https')
    t.ok(matchesRedirectUri([`http://${host}`], `http://${host}:1`, 'native'), 'no path')
    t.ok(
      matchesRedirectUri([REGISTERED, `http://${host}/cb`, 'com.example.app:/cb'], `http://${host}:1/cb`, 'native'),
      'one of several'
    )
    t.notOk(matchesRedirectUri([`http://${host}/cb`], `http://${host}:1/cb`), 'A7 a web client has no other port')
    t.ok(matchesRedirectUri([`http://${host}:1/cb`], `http://${host}:1/cb`), 'than its own')
  }
  for (const [registered, requested] of [
    ['http://127.0.0.1/cb', 'http://localhost:1/cb'],
    ['http://localhost/cb', 'http://127.0.0.1:1/cb'],
    ['http://localhost/cb', 'http://[::1]:1/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.2:1/cb'],
    ['http://127.0.0.2/cb', 'http://127.0.0.2:1/cb'],
    ['http://127.0.0.1/cb', 'http://127.1:1/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1.nip.io/cb'],
    ['http://[::1]/cb', 'http://[::ffff:7f00:1]/cb'],
    ['http://[::1]/cb', 'http://[0:0:0:0:0:0:0:1]:1/cb'],
    ['http://localhost/cb', 'http://LOCALHOST:1/cb'],
    ['http://localhost/cb', 'http://localhost.:1/cb'],
    ['https://app.example/cb', 'http://localhost:1/cb'],
    ['https://app.example:1/cb', 'https://app.example:2/cb'],
    ['com.example.app://localhost:1/cb', 'com.example.app://localhost:2/cb']
  ] as const)
    t.notOk(matchesRedirectUri([registered], requested, 'native'), `${registered} ${requested}`)
})

const GOOD_WEB = [
  'https://app.example/cb',
  'https://app.example',
  'https://app.example/',
  'https://app.example:8443/cb',
  'https://app.example/cb?dummy1=lorem&dummy2=ipsum',
  'https://xn--tst-qla.example/cb',
  'https://192.0.2.1/cb',
  'https://[2001:db8::1]/cb',
  "https://app.example/a;b/c,d/(e)'*!$&+=:@",
  'https://app.example/%C3%A9',
  'http://localhost/cb',
  'http://localhost:3000/cb',
  'http://127.0.0.1:3000/cb',
  'http://127.8.9.10/cb',
  'http://[::1]:3000/cb'
]
const GOOD_PRIVATE = [
  'com.example:/cb',
  'com.example.app:/oauth2/callback',
  'com.example.app://callback',
  'com.example.app:/cb?a=b',
  'com.googleusercontent.apps.123-abc:/cb',
  'Com.Example.App:/cb'
]
const BAD: Array<[uri: string, takes: RegExp]> = [
  ...['', '/cb', '//app.example/cb', 'app.example/cb', '?a', '.example:/cb', '1a.example:/cb'].map(
    (uri): [string, RegExp] => [uri, uri === '' ? /at most 2048/ : /an absolute URI/]
  ),
  ...[`${REGISTERED}#`, `${REGISTERED}#f`, 'com.example:/cb#f', 'http://localhost/#'].map((uri): [string, RegExp] => [
    uri,
    /without a fragment/
  ]),
  ...[
    'https://me@app.example/cb',
    'https://me:pw@app.example/cb',
    'https://@app.example/cb',
    'https://app.example@evil.example',
    'http://localhost@evil.example/cb',
    'http://localhost:1@evil.example/cb',
    'com.example.app://me@host/cb'
  ].map((uri): [string, RegExp] => [uri, /without user name/]),
  ...[
    'http://app.example/cb',
    'http://10.0.0.1/cb',
    'http://0.0.0.0/cb',
    'http://[::]/cb',
    'http://[::2]/cb',
    'http://localhost.evil.example/cb',
    'http://evillocalhost/cb',
    'http://evil.localhost/cb',
    'http://xlocalhost:1/cb',
    'http://evil127.0.0.1.example/cb',
    'http://localhost./cb',
    'http://127.0.0.1.nip.io/cb',
    'http://[::ffff:7f00:1]/cb'
  ].map((uri): [string, RegExp] => [uri, /http: on localhost/]),
  ...[
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'javascript://app.example/%0aalert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://app.example/x',
    'intent://x',
    'about:blank',
    'ftp://app.example/',
    'ws://app.example/',
    'myapp:/cb',
    'myapp://cb',
    'urn:ietf:wg:oauth:2.0:oob',
    'app.example:8080/cb',
    'com.example:cb',
    'a.:/cb',
    'a..b:/cb'
  ].map((uri): [string, RegExp] => [uri, /private-use scheme with a dot/]),
  ...[
    'https:',
    'https:/',
    'https://',
    'https:///cb',
    'https:app.example/cb',
    'https:/app.example/cb',
    'https://app.example:/cb',
    'https://app.example:0/cb',
    'https://app.example:65536/cb',
    'https://app.example:x/cb',
    'https://%61pp.example/cb',
    'https://app.example;x/cb',
    'https://*.example/cb',
    'https://*/cb',
    'https://a,b/cb',
    "https://a'b/cb",
    'http://127.1/cb',
    'http://0x7f.0.0.1/cb',
    'http://2130706433/cb',
    'http://127.0.0.01/cb',
    'https://[::1/cb',
    'https://[2001:db8:0:0:0:0:0:1]/cb',
    'https://999.1.1.1/cb'
  ].map((uri): [string, RegExp] => [uri, /host is spelled as browsers do/]),
  ...[
    'https://app.example\\cb',
    'https://app.example/ cb',
    ' https://app.example/cb',
    'https://app.example/cb\n',
    'https://app.example/\0',
    'https://täst.example/cb',
    'https://app.example/é',
    'https://app.example/<x>',
    'https://app.example/"',
    'https://app.example/`',
    'https://app.example/{x}',
    'https://app.example/|',
    'https://app.example/^',
    `https://app.example/${'x'.repeat(2029)}`
  ].map((uri): [string, RegExp] => [uri, /at most 2048 characters/])
]

// covers ASVS-1.2.2 R9700-2.6 R8252-7.1 ADV-GHSA-86j7-9j95-vpqj
t.test('accepts registrable URIs, and refuses other URIs with the reason', async (t) => {
  for (const uri of [...GOOD_WEB, ...GOOD_PRIVATE, `https://app.example/${'x'.repeat(2028)}`])
    t.equal(checkRegistrableRedirectUri(uri), null, uri)
  for (const [uri, takes] of BAD) {
    t.match(checkRegistrableRedirectUri(uri), takes, JSON.stringify(uri).slice(0, 60))
    t.notOk(matchesRedirectUri([uri], uri), 'and it matches nothing, should a client store have it all the same')
  }
})

// covers C1
t.test('refuses to register a URI that cannot be parsed', async (t) => {
  const hosts = [
    'a',
    'a:1',
    'a:99999',
    'a:x',
    'a:',
    ':1',
    '[::1]',
    '[::1',
    '::1]',
    '[x]',
    'a%',
    'a%zz',
    'a b',
    '',
    '%2f',
    'a[b',
    '*',
    '0x7f.1',
    '.',
    'a..b'
  ]
  const tails = ['', '/', '/cb', '/cb?a=[', '/%', '/%zz', '/[', '//', '?', '?%']
  for (const scheme of ['com.example.app', 'https', 'http', 'a.b', 'x.1']) {
    for (const slashes of [':/', '://', ':///']) {
      for (const host of hosts) {
        for (const tail of tails) {
          const uri = `${scheme}${slashes}${host}${tail}`
          if (checkRegistrableRedirectUri(uri) === null && !URL.canParse(uri)) t.fail(uri)
        }
      }
    }
  }
  for (const uri of [
    'com.example.app://a:99999/cb',
    'com.example.app://a:x/cb',
    'com.example.app://[::1/cb',
    'com.example.app://[x]/cb',
    'com.example.app://a[b/cb'
  ]) {
    t.match(checkRegistrableRedirectUri(uri), /can be parsed/, uri)
    t.notOk(matchesRedirectUri([uri], uri), 'and a client store can not have it either')
    t.equal(formActionOf(uri), "'self'", uri)
  }
})

t.test('accepts only https: and loopback URLs as web addresses', async (t) => {
  for (const uri of GOOD_WEB) t.equal(checkWebUri(uri), null, uri)
  for (const uri of GOOD_PRIVATE) t.match(checkWebUri(uri), /https:/, uri)
  for (const [uri] of BAD) t.type(checkWebUri(uri), 'string', uri)
})

t.test('makes form-action sources that cannot add another directive', async (t) => {
  const sources: Array<[string, string]> = [
    ['https://app.example/cb?a=b', 'https://app.example'],
    ['https://app.example:8443/cb', 'https://app.example:8443'],
    ['https://app.example/cb;script-src', 'https://app.example'],
    ['http://localhost:3000/cb', 'http://localhost:3000'],
    ['http://127.0.0.1:49152/cb', 'http://127.0.0.1:49152'],
    // CSP has no syntax for these hosts, and a browser drops a source that it can't read.
    ['http://[::1]:3000/cb', 'http:'],
    ['https://[2001:db8::1]/cb', 'https:'],
    ['com.example.app:/cb', 'com.example.app:'],
    ['com.example.app://x;y/cb', 'com.example.app:'],
    ['Com.Example:/cb', 'com.example:']
  ]
  for (const [uri, source] of sources) t.equal(formActionOf(uri), source, uri)
  for (const [uri] of BAD) t.equal(formActionOf(uri), "'self'", uri)
  for (const uri of [...GOOD_WEB, ...GOOD_PRIVATE, ...NOT_REGISTERED])
    t.match(formActionOf(uri), /^(?:'self'|[a-z][a-z0-9+.-]*:(?:\/\/[a-z0-9._-]+(?::\d+)?)?)$/, uri)
})

// covers R8252-8.6
t.test('recognizes URIs that any app on the device could claim', async (t) => {
  for (const uri of [...GOOD_WEB, ...GOOD_PRIVATE]) t.equal(isPublicNativeRedirect(uri), !uri.startsWith('https:'), uri)
})

// covers R8252-8.4
t.test('allows a private-use scheme only for native apps', async (t) => {
  for (const uri of ['https://app.example/cb', 'http://localhost:3000/cb'])
    for (const type of ['web', 'native'] as const) t.equal(checkClientRedirectUri(uri, type), null, `${uri} ${type}`)
  t.equal(checkClientRedirectUri('com.example.app:/cb', 'native'), null)
  t.match(
    checkClientRedirectUri('com.example.app:/cb', 'web'),
    /private-use scheme only where applicationType is "native"$/
  )
  for (const uri of ['javascript:alert(1)', 'http://app.example/cb'])
    for (const type of ['web', 'native'] as const)
      t.equal(checkClientRedirectUri(uri, type), checkRegistrableRedirectUri(uri), `${uri} ${type}`)
})

t.test('allows a user name in path and query, and compares a port there exactly', async (t) => {
  t.equal(
    checkRegistrableRedirectUri('https://app.example/cb?next=https://user@app.example/'),
    null,
    'a user name in the query is none'
  )
  t.equal(
    checkRegistrableRedirectUri('https://app.example/cb/https://user@app.example'),
    null,
    'nor is one in the path'
  )
  t.notOk(
    matchesRedirectUri(
      ['http://localhost:1/cb?x=http://localhost:2/cb'],
      'http://localhost:1/cb?x=http://localhost:3/cb',
      'native'
    )
  )
  t.notOk(
    matchesRedirectUri(
      ['https://app.example/http://localhost:2/cb'],
      'https://app.example/http://localhost:3/cb',
      'native'
    )
  )
  for (const uri of [
    'https://a%62.example/cb',
    'https:app.example',
    'https:///app.example',
    'http://127.1/cb',
    'https://app.example:99999/cb',
    'https://[::zz]/cb',
    'https:////https://app.example/cb'
  ])
    t.match(checkWebUri(uri), /spelled as browsers do/, uri)
})
