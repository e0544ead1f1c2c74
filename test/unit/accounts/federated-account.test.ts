import t from '../../support/tap.ts'
import { newAccount, personOf } from '../../../lib/features/connections/person.ts'
import { completeProfile } from '../../../lib/accounts/register.ts'

const CONNECTION = {
  profile: (claims: Readonly<Record<string, unknown>>) => ({ ...claims }),
  assurance: () => ({}),
  keep: () => undefined,
  provesFreshness: true
}
const profileOf = (claims: Record<string, unknown>): Record<string, unknown> =>
  personOf(
    { assertion: { issuer: 'https://sso.example', subject: '1', emailAuthoritative: false, profile: {} }, claims },
    CONNECTION,
    { now: 0, askedFresh: false }
  ).profile

t.test('drops a link in the profile with a scheme other than http and https', async (t) => {
  const odd = [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://sso.example/1'
  ]
  for (const name of ['picture', 'profile', 'website']) {
    for (const value of odd) t.same(profileOf({ name: 'Ann', [name]: value }), { name: 'Ann' }, `${name}: ${value}`)
    for (const value of ['https://sso.example/ann.png', 'http://ann.example', 'free'])
      t.same(profileOf({ [name]: value }), { [name]: value }, `${name}: ${value}`)
  }
  t.same(profileOf({ nickname: 'data:ann' }), { nickname: 'data:ann' }, 'what is no link stays as it is')
})

t.test('drops profile values that are too long or that no database can store', async (t) => {
  for (const value of ['An\0n', '\ud800', 'x'.repeat(2049), ['a\0'], { 'a\0': 1 }, { a: { b: '\udfff' } }])
    t.same(profileOf({ name: value, nickname: 'Ann' }), { nickname: 'Ann' }, JSON.stringify(value).slice(0, 40))
  t.same(profileOf({ name: 'x'.repeat(2048), nickname: '\u{1f600}' }), {
    name: 'x'.repeat(2048),
    nickname: '\u{1f600}'
  })
})

t.test('generates a username for a user without an address, and a longer one after a collision', async (t) => {
  const names = Array.from({ length: 300 }, (_, subject) =>
    [0, 1].map(
      (attempt) =>
        newAccount(
          { issuer: 'https://sso.example', subject: `${subject}` },
          { connection: 'acme', fields: {}, attempt, provedAt: 0 }
        ).username
    )
  )
  t.ok(
    names.every(
      ([first = '', second = '']) =>
        /^acme-[a-z0-9]{8}$/.test(first) && /^acme-[a-z0-9]{16}$/.test(second) && second.startsWith(first)
    )
  )
  t.equal(new Set(names.map(([first]) => first)).size, 300)
})

t.test('reports a missing required field, even one with the name of an inherited property', async (t) => {
  for (const name of ['constructor', 'toString', 'given_name']) {
    t.equal(completeProfile({}, [name]), null, name)
    t.strictSame(completeProfile({ [name]: 'Ann' }, [name]), { [name]: 'Ann' }, name)
  }
})
