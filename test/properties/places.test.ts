import { equal, match, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { redactUrl } from '../../lib/http/edge/log-redaction.ts'
import { safeUrl } from '../../lib/pages/html.ts'
import { localPath } from '../../lib/protocol/same-origin.ts'
import { almost, property, wordsOf } from './support/property.ts'

const ISSUERS = [
  'https://auth.example.com',
  'https://auth.example.com/tenant',
  'http://localhost:3000/',
  'https://[2001:db8::1]:8443'
]
const WORDS = [
  '/',
  '/',
  '//',
  '\\',
  '\\\\',
  '..',
  '/..',
  '/.',
  '?',
  '#',
  '@',
  ':',
  ';',
  '%2f',
  '%5c',
  '%0d%0a',
  '%09',
  '%00',
  '%2e%2e',
  '\t',
  '\n',
  '\r',
  ' ',
  'evil.example',
  'https:',
  'https://evil.example',
  'javascript:',
  'account',
  'a=b',
  'é',
  '\u3002',
  '\uff0f'
]
const plain = fc
  .array(fc.constantFrom('account', 'a-b', 'x.y', '~', '%20', 'c'), { minLength: 1, maxLength: 4 })
  .map((parts) => `/${parts.join('/')}?next=1#top`)

property(
  'P9 returns after a sign-in only to a path on the origin of the issuer',
  [fc.oneof(plain, almost(plain, WORDS), wordsOf(WORDS)), fc.constantFrom(...ISSUERS)],
  {
    examples: [
      ['//evil.example', ISSUERS[0]],
      ['/\\evil.example', ISSUERS[0]],
      ['/\t/evil.example', ISSUERS[0]],
      ['/..//evil.example', ISSUERS[0]],
      ['/%2fevil.example', ISSUERS[0]],
      ['/x/..//evil.example', ISSUERS[0]],
      ['https://auth.example.com/', ISSUERS[0]]
    ] as Array<[string, string]>,
    cases: ['taken', 'refused']
  },
  (target, issuer) => {
    const path = localPath(target, issuer)
    const { origin } = new URL(issuer)
    if (path === null) {
      // A plain path is never refused.
      ok(!/^\/[a-z][a-z/.?=#~-]*$/.test(target) || /\/\/|\.\./.test(target) || target.length > 2048, target)
      return 'refused'
    }
    match(path, /^\/[\x21-\x7e]*$/)
    for (const base of [origin, issuer, `${origin}/auth/login?x=/y`, `${origin}//x//`])
      equal(new URL(path, base).origin, origin)
    equal(localPath(path, issuer), path, 'once more changes nothing')
    // Not even if a proxy decodes it once, or reads backslashes as slashes.
    ok(!/^\/[/\\]/.test(path.replace(/%(2f|5c)/gi, '/').replace(/%0[9ad]/gi, '')))
    return 'taken'
  }
)

const SCHEMES = [
  'javascript:',
  'JavaScript:',
  'java\tscript:',
  '\u0001javascript:',
  ' javascript:',
  'data:text/html,',
  'vbscript:',
  'blob:',
  'file:///',
  'filesystem:',
  'about:blank',
  'https://app.example/',
  'mailto:a@b.example',
  'com.example.app:/cb',
  '/path',
  '//app.example',
  '?a',
  '#b',
  '',
  'java%0ascript:',
  'javascript&colon;'
]
const address = fc.tuple(fc.constantFrom(...SCHEMES), wordsOf([...WORDS, ...SCHEMES], 4)).map((parts) => parts.join(''))

property(
  'P9 shows no URL on a page with a scheme such as javascript, data or file',
  [fc.oneof(address, almost(address, WORDS))],
  {
    cases: ['kept', 'taken out']
  },
  (url) => {
    const shown = safeUrl(url)
    if (shown === '#' && url !== '#') {
      return 'taken out'
    }
    equal(shown, url)
    // As a browser reads it: without the controls and spaces around, and without tabs and line breaks.
    // oxlint-disable-next-line eslint/no-control-regex -- they are what this is about
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url.replace(/^[\u0000-\u0020]+|[\t\n\r]/g, ''))?.[1]?.toLowerCase()
    ok(!['javascript', 'data', 'vbscript', 'blob', 'file', 'filesystem', 'about'].includes(scheme ?? ''), scheme)
    return 'kept'
  }
)

const SECRET = 'Zq9-Secret_77'
const shownName = fc.constantFrom(
  'client_id',
  'response_type',
  'scope',
  'prompt',
  'ui_locales',
  'response_mode',
  'error'
)
const secretName = fc.constantFrom(
  'code',
  'token',
  'state',
  'nonce',
  'id_token_hint',
  'login_hint',
  'password',
  'code_challenge',
  'Client_Id',
  'client%5fid',
  'client_id[]',
  ' scope',
  'scope ',
  'x',
  ''
)
const delimiter = fc.constantFrom('&', '&', '&', '?', '#', ';', '%26', '&amp;', '%3F', '%23', '\n', '/', '&&')
const shown = fc
  .tuple(shownName, fc.constantFrom('web', 'openid+email', 'openid%20email', 'a:b', '', 'ä', '%41', 'x'.repeat(300)))
  .map((pair) => pair.join('='))
const planted = fc
  .tuple(secretName, fc.constantFrom('=', '=', '%3D', '=='), fc.constantFrom('', 'a', 'a b '), fc.constantFrom('', 'z'))
  .map(([name, equals, before, after]) => `${name}${equals}${before}${SECRET}${after}`)
const logged = fc
  .tuple(
    fc.constantFrom('/auth/authorize', '/auth/login', '/', 'https://auth.example.com/auth/logout', ''),
    fc.constantFrom('?', '?', '?', '#', ';', '??'),
    fc.array(
      fc.tuple(
        fc.oneof(
          shown,
          planted,
          wordsOf(
            WORDS.filter((word) => word !== '='),
            2
          )
        ),
        delimiter
      ),
      { maxLength: 5 }
    )
  )
  .map(([path, begin, parts]) => path + begin + parts.map((part) => part.join('')).join(''))

property(
  'P10 logs no parameter values except those of known harmless parameters',
  [logged],
  {
    examples: [
      [`/a?scope=openid%26code=${SECRET}`],
      [`/a?scope=openid%26code%3D${SECRET}`],
      [`/a;code=${SECRET}`],
      [`/a#access_token=${SECRET}`],
      [`/a?client_id=web#code=${SECRET}`],
      [`/a?${SECRET}`],
      [`/a?client_id=web&${SECRET}`]
    ],
    cases: ['hidden', 'nothing to hide']
  },
  (url) => {
    const shown = redactUrl(url)
    const end = url.search(/[?;#]/)
    ok(shown.startsWith(url.slice(0, end)), 'the path stays')
    equal(redactUrl(shown), shown, 'once more changes nothing')
    for (const pair of shown.slice(end + 1).split(/[&#]/))
      match(
        pair,
        /^(?:|\*\*\*|[a-z_]{1,32}(?:=(?:\*\*\*)?)?|(?:client_id|response_type|scope|prompt|ui_locales|response_mode|error)=[\w.~+:/, %-]*)$/
      )
    if (!url.includes(SECRET)) return 'nothing to hide'
    ok(!shown.includes(SECRET), shown)
    return 'hidden'
  }
)
