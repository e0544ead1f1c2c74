/** The host's own fields on the pages: labels, help, choices and error texts. */
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { testApp } from '../support/app.ts'

const FIELDS = {
  type: 'object',
  properties: {
    given_name: { type: 'string', minLength: 2 },
    phone_number: { type: 'string', maxLength: 20 },
    team: {
      type: 'string',
      pattern: '^[A-Z]{3}$',
      title: { en: 'Team code', de: 'Teamkürzel' },
      description: { en: 'Three capital letters.', de: 'Drei Großbuchstaben.' }
    },
    shirt: { title: 'Shirt', oneOf: [{ const: 's', title: { en: 'Small', de: 'Klein' } }, { const: 'm' }] },
    age: { type: 'integer', exclusiveMinimum: 17, maximum: 120 },
    terms: {
      const: true,
      title: { en: 'I accept the {terms} and {privacy}', de: 'Ich akzeptiere: {terms}, {privacy}' },
      'x-sign-up-only': true
    }
  },
  required: ['given_name', 'team', 'shirt', 'terms']
} as const

async function appOf(t: Test) {
  const made = await testApp({
    users: memoryUserStore(),
    registration: { fields: FIELDS },
    pages: { links: { terms: 'https://shop.example/terms' } }
  })
  t.teardown(made.close)
  const page = async (language: string, payload?: Record<string, string>): Promise<string> => {
    const headers = {
      'accept-language': language,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin'
    }
    const reply = await made.app.inject(
      payload === undefined
        ? { url: '/auth/signup', headers }
        : { method: 'POST', url: '/auth/signup', headers, payload: String(new URLSearchParams(payload)) }
    )
    return reply.body
  }
  return { ...made, page }
}
type Test = typeof t

t.test('shows labels, hints and choices in the language of the page', async (t) => {
  const { page } = await appOf(t)
  const german = await page('de')
  for (const part of [
    '<label for="given_name">Vorname</label>',
    '<label for="team">Teamkürzel</label>',
    '<p class="hint" id="team-hint">Drei Großbuchstaben.</p>',
    '<label for="shirt">Klein</label>',
    '<label for="shirt-1">m</label>',
    'Ich akzeptiere: <a href="https://shop.example/terms">Nutzungsbedingungen</a>, Datenschutz'
  ])
    t.ok(german.includes(part), part)
  const french = await page('fr')
  t.match(french, '<label for="team" lang="en">Team code</label>', 'a text in another language says so')
  t.match(french, '<label for="given_name">Prénom</label>')
})

t.test('sets the input type, the keyboard and the limits of a field from its schema', async (t) => {
  const { page } = await appOf(t)
  const english = await page('en')
  t.match(
    english,
    /id="phone_number" name="phone_number" type="tel"[^>]* autocomplete="tel" inputmode="tel"[^>]* maxlength="20"/
  )
  t.match(english, /id="given_name" name="given_name" type="text"[^>]* minlength="2"/)
  t.match(english, /id="age" name="age" type="number"[^>]* min="18" max="120" step="1"/)
  t.match(english, 'Phone number <i>(optional)</i>')
  t.notMatch(english, /given_name">First name <i>/)
})

t.test('tells the user which values a rejected field accepts', async (t) => {
  const { page } = await appOf(t)
  const right = {
    username: 'ann@example.com',
    password: 'seven green boats at dawn',
    given_name: 'Ann',
    team: 'ABC',
    shirt: 's',
    age: '30',
    terms: 'true'
  }
  for (const [field, value, text] of [
    ['given_name', 'A', 'Use 2 characters or more.'],
    ['phone_number', '1'.repeat(21), 'Use at most 20 characters.'],
    ['team', 'abc', 'Three capital letters.'],
    ['shirt', 'xl', 'Choose one of these.'],
    ['age', '17', 'Enter more than 17.'],
    ['age', '121', 'Enter 120 or less.'],
    ['age', '1.5', 'Enter a whole number.'],
    ['terms', '', 'Please fill in this field.']
  ] as const) {
    const shown = await page('en', { ...right, [field]: value })
    t.match(shown, new RegExp(`id="${field}-error">`), field)
    t.ok(shown.includes(text), `${field}: ${text}`)
  }
})

t.test('rejects a change of an x-sign-up-only field, and keeps its value in the profile', async (t) => {
  const { app } = await appOf(t)
  const made = await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: {
      username: 'ann@example.com',
      password: 'seven green boats at dawn',
      given_name: 'Ann',
      team: 'ABC',
      shirt: 's',
      terms: true
    }
  })
  t.equal(made.statusCode, 201)
  const grant = { grant_type: 'password', username: 'ann@example.com', password: 'seven green boats at dawn' }
  const { access_token: token } = (await app.inject({ method: 'POST', url: '/auth/token', payload: grant })).json<{
    access_token: string
  }>()
  const change = async (payload: object): Promise<number> =>
    (
      await app.inject({
        method: 'PATCH',
        url: '/auth/profile',
        headers: { authorization: `Bearer ${token}` },
        payload
      })
    ).statusCode
  t.equal(await change({ team: 'XYZ' }), 200)
  t.equal(await change({ terms: true }), 400)
  const profile = await app.inject({ url: '/auth/profile', headers: { authorization: `Bearer ${token}` } })
  t.match(profile.json(), { team: 'XYZ', terms: true }, 'it is still in the profile')
})

t.test('stops the start for a label that is no text or has an unknown language', async (t) => {
  for (const [title, problem] of [
    [{ xx: 'Team' }, /the pages have no language "xx"/],
    [{}, /it takes a text, or texts by language/],
    [5, /it takes a text, or texts by language/]
  ] as Array<[unknown, RegExp]>)
    await t.rejects(
      testApp({
        users: memoryUserStore(),
        registration: { fields: { type: 'object', properties: { team: { type: 'string', title } } } }
      }),
      {
        code: 'FST_AUTHORITY_INVALID_OPTIONS',
        message: new RegExp(`registration\\.fields\\.team\\.title": .*${problem.source}`)
      }
    )
})
