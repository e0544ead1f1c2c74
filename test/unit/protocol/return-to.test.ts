import t from '../../support/tap.ts'
import { localPath } from '../../../lib/protocol/same-origin.ts'

const ISSUERS = [
  'https://auth.example.com',
  'https://auth.example.com:8443',
  'https://auth.example.com/tenant/a',
  'http://localhost:3000'
]

t.test('accepts paths on the origin of the issuer', async (t) => {
  const rows: Array<[string, string]> = [
    ['/', '/'],
    ['/cart', '/cart'],
    ['/cart?a=b&c=%20d#e', '/cart?a=b&c=%20d#e'],
    ['/a//b', '/a//b'],
    ['/a/../b', '/b'],
    ['/a/./b', '/a/b'],
    ['/?next=//evil.example', '/?next=//evil.example'],
    ['/#//evil.example', '/#//evil.example'],
    ['/é', '/%C3%A9'],
    ['/?q=é', '/?q=%C3%A9'],
    ['/a:b@c', '/a:b@c'],
    ['/https://evil.example', '/https://evil.example'],
    ['/a%2fb', '/a%2fb'],
    ['/a%5cb', '/a%5cb'],
    ['/..', '/'],
    ['/@evil.example', '/@evil.example'],
    [`/${'x'.repeat(2047)}`, `/${'x'.repeat(2047)}`]
  ]
  for (const issuer of ISSUERS) {
    for (const [target, path] of rows) t.equal(localPath(target, issuer), path, target.slice(0, 40))
  }
})

// covers ASVS-3.7.2 ADV-CVE-2024-56734 ADV-CVE-2024-39694
t.test('refuses addresses that leave the origin, in any spelling', async (t) => {
  const refused = [
    undefined,
    '',
    ' ',
    'cart',
    './cart',
    '../cart',
    '?a=b',
    '#a',
    ' /cart',
    '\t/cart',
    '\0/cart',
    '*',
    '//evil.example',
    '///evil.example',
    '////evil.example',
    '//evil.example/%2f..',
    '//auth.example.com',
    '//',
    '/\\evil.example',
    '\\/evil.example',
    '\\\\evil.example',
    '/\\/evil.example',
    '/a\\b',
    '/\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r\n/evil.example',
    '/\r/evil.example',
    '/ /evil.example',
    '/a\r\nSet-Cookie: a=b',
    '/a b',
    '/a\0b',
    '/a\x7fb',
    '\t//evil.example',
    '/\t\\evil.example',
    '/..//evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/%2E%2E//evil.example',
    '/a/%2e%2e//evil.example',
    '/../..///evil.example',
    '/%2fevil.example',
    '/%2Fevil.example',
    '/%5cevil.example',
    '/%5C%5Cevil.example',
    '/%09/evil.example',
    '/%0a/evil.example',
    '/%0D%0a/evil.example',
    '/./%2fevil.example',
    '%2f%2fevil.example',
    '%2fcart',
    'https://evil.example',
    'HTTPS://evil.example',
    'https:evil.example',
    'https:/evil.example',
    'https:///evil.example',
    'http://localhost:3000/cart',
    'https://auth.example.com/cart',
    'https://auth.example.com@evil.example',
    'https://auth.example.com.evil.example',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:https://auth.example.com/x',
    'mailto:a@b',
    `/${'x'.repeat(2048)}`
  ]
  for (const issuer of ISSUERS) {
    for (const target of refused) t.equal(localPath(target, issuer), null, JSON.stringify(target)?.slice(0, 40))
  }
})

t.test('returns a path that browsers and a second parse keep on the origin', async (t) => {
  const pieces = [
    '/',
    '//',
    '.',
    '..',
    '%2e',
    '%2f',
    '%5c',
    '%09',
    '\\',
    '\t',
    'evil.example',
    '@',
    ':',
    '?',
    '#',
    'é',
    ';'
  ]
  const targets = pieces.flatMap((first) =>
    pieces.flatMap((second) => pieces.map((third) => `/${first}${second}${third}evil.example`))
  )
  const paths = targets.map((target) => localPath(target, ISSUERS[0] ?? '')).filter((path) => path !== null)
  t.ok(paths.length > 1000)
  const sound = (path: string): boolean =>
    /^\/(?!\/|\\)[\x21-\x7e]*$/.test(path) &&
    new URL(path, `${ISSUERS[0]}/auth/login`).origin === ISSUERS[0] &&
    localPath(path, ISSUERS[0] ?? '') === path
  t.same(
    paths.filter((path) => !sound(path)),
    []
  )
})
