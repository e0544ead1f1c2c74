import t from '../../support/tap.ts'
import { isFromOtherOrigin, isFromOwnPage, isSameOrigin } from '../../../lib/protocol/same-origin.ts'

const OWN = 'https://auth.example.com'

// covers ASVS-3.5.1 R6749-10.12
t.test('accepts only a form from the own origin', async (t) => {
  const foreign = [
    'https://evil.example',
    'http://auth.example.com',
    'https://auth.example.com:8443',
    'https://auth.example.com.evil.example',
    'https://evil.auth.example.com',
    'https://auth.example.com/',
    'HTTPS://AUTH.EXAMPLE.COM',
    'https://auth.example.com, https://evil.example',
    'null',
    '',
    undefined
  ]
  for (const issuer of [OWN, `${OWN}/tenant`]) {
    for (const origin of [OWN, 'null', undefined])
      t.ok(isSameOrigin({ 'sec-fetch-site': 'same-origin', origin }, issuer), `same-origin ${origin}`)
    for (const site of [undefined, 'none']) {
      t.ok(isSameOrigin({ 'sec-fetch-site': site, origin: OWN }, issuer), `${site}`)
      for (const origin of foreign)
        t.notOk(isSameOrigin({ 'sec-fetch-site': site, origin }, issuer), `${site} ${origin}`)
    }
    for (const site of [
      'cross-site',
      'same-site',
      'Same-Origin',
      'same-origin ',
      '',
      'same-origin, cross-site',
      ['same-origin'],
      ['same-origin', 'cross-site'],
      []
    ]) {
      for (const origin of [OWN, 'null', undefined, 'https://evil.example'])
        t.notOk(isSameOrigin({ 'sec-fetch-site': site, origin }, issuer), `${String(site)} ${origin}`)
    }
  }
  t.notOk(isSameOrigin({}, OWN), 'a request that says nothing')
  t.ok(isSameOrigin({ origin: 'http://localhost:3000' }, 'http://localhost:3000/auth'))
  t.notOk(isSameOrigin({ origin: 'http://localhost' }, 'http://localhost:3000'))
})

t.test('recognizes requests that a page of another origin caused', async (t) => {
  const cases: Array<[site: string | undefined, origin: string | undefined, isFromOther: boolean]> = [
    [undefined, undefined, false],
    [undefined, OWN, false],
    [undefined, 'https://evil.example', true],
    [undefined, 'null', true],
    ['same-origin', undefined, false],
    ['same-origin', 'null', false],
    ['none', undefined, false],
    ['none', 'https://evil.example', false],
    ['same-site', undefined, true],
    ['same-site', 'https://evil.auth.example.com', true],
    ['cross-site', undefined, true],
    ['cross-site', 'https://evil.example', true],
    ['cross-site', OWN, false],
    ['', undefined, true]
  ]
  for (const [site, origin, isFromOther] of cases)
    t.equal(isFromOtherOrigin({ 'sec-fetch-site': site, origin }, OWN), isFromOther, `${site} ${origin}`)
})

t.test('accepts a read without origin headers, but requires one for a form', async (t) => {
  for (const method of ['GET', 'HEAD']) {
    t.ok(isFromOwnPage({ method, headers: {} }, `${OWN}/tenant`), method)
    t.notOk(isFromOwnPage({ method, headers: { 'sec-fetch-site': 'cross-site' } }, OWN), method)
    t.notOk(isFromOwnPage({ method, headers: { 'sec-fetch-site': 'cross-site', origin: OWN } }, OWN), method)
    t.notOk(isFromOwnPage({ method, headers: { origin: 'null' } }, OWN), method)
  }
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    t.notOk(isFromOwnPage({ method, headers: {} }, OWN), method)
    t.ok(isFromOwnPage({ method, headers: { origin: OWN } }, `${OWN}/tenant`), method)
  }
})
