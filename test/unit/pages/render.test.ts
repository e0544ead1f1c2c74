import t from '../../support/tap.ts'
import { holdsInTable } from '../../support/table.ts'
import { renderPage } from '../../support/render-page.ts'
import { directionOf, LOCALES, messagesOf } from '../../../lib/pages/texts.ts'
import type { PageError } from '../../../lib/pages/common-model.ts'
import type { PageModels, PageName } from '../../../lib/pages/model.ts'
import { MODELS, PAGES } from './models.ts'
import { type Element, all, one, parse, textOf } from './strict-html.ts'

function page<Name extends PageName>(name: Name, model: Partial<PageModels[Name]> = {}): Element {
  return parse(renderPage(name, { ...MODELS[name], ...model }))
}

const inputsOf = (root: Element): Element[] =>
  all(root, 'input').filter(({ attributes }) => attributes.type !== 'hidden' && attributes.hidden === undefined)
const input = (root: Element, name: string): Record<string, string> =>
  all(root, 'input').find(({ attributes }) => attributes.name === name)?.attributes ?? {}
const byId = (root: Element, id: string): Element | undefined =>
  all(root).find(({ attributes }) => attributes.id === id)

/** Attacks on text, quoted attributes, URLs, neighbouring fields, and lenient parsers. */
const CORPUS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '" autofocus onfocus="alert(1)',
  '</title><svg onload=alert(1)>',
  '--><b>',
  '<!--',
  ']]>',
  '&lt;b&gt;',
  '&#x3c;b&#x3e;',
  '&',
  '<',
  '>',
  '"',
  "'",
  '`',
  '\\"',
  '{client}',
  '{0}',
  '${7*7}',
  '$&',
  "$'",
  '\u2028',
  '\u0000<b>',
  '\ufeff<',
  '+ADw-script+AD4-',
  '<\nscript>',
  '\ud800',
  'javascript:alert(1)'
]
const URLS = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  '\u0001javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'blob:https://x/y',
  'file:///etc/passwd',
  'http://['
]

/** Replaces the texts of a model at any depth, except types, descriptions and languages. */
function poisoned(value: unknown, evil: string, key = ''): unknown {
  if (typeof value === 'string') return ['type', 'description', 'lang', 'dir'].includes(key) ? value : evil
  if (Array.isArray(value)) return value.map((item) => poisoned(item, evil))
  if (typeof value !== 'object' || value === null || key === 'messages') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poisoned(item, evil, name)]))
}

/** Pages that load the passkey script with the models of these tests. */
const ASKING: PageName[] = [
  'reauthenticate',
  'passkey_prompt',
  'set_up_second_factor',
  'account_security',
  'account_passkey'
]

const WRONG: PageError = { error: 'invalid_request', text: 'Wrong.', field: null }

// covers ASVS-1.2.1 R6749-10.14
t.test('keeps hostile texts of the model inside their elements on every page', async (t) => {
  for (const name of PAGES) {
    const structure = (model: object): string[] =>
      all(parse(renderPage(name, model as PageModels[typeof name]))).map(
        ({ tag, attributes }) => `${tag} ${Object.keys(attributes).sort().join(' ')}`
      )
    const states: object[] = [
      MODELS[name],
      { ...MODELS[name], logo: { url: '/logo.svg', dark: '/dark.svg', height: 40, alt: 'Acme' } },
      ...('sent' in MODELS[name] ? [{ ...MODELS[name], sent: true }] : []),
      ...('done' in MODELS[name] ? [{ ...MODELS[name], done: true }] : []),
      ...('error' in MODELS[name]
        ? [
            { ...MODELS[name], error: WRONG },
            { ...MODELS[name], error: { ...WRONG, field: 'username' } }
          ]
        : [])
    ]
    for (const state of states) {
      const harmless = structure(poisoned(state, 'harmless') as object).join('\n')
      const out = [...CORPUS, ...URLS].filter(
        (evil) => structure(poisoned(state, evil) as object).join('\n') !== harmless
      )
      t.same(out, [], name)
    }
  }
})

// covers ASVS-1.2.1
t.test('shows hostile texts unchanged as plain text', async (t) => {
  for (const evil of CORPUS) {
    t.equal(input(page('login', { username: evil }), 'username').value, evil)
    t.match(textOf(one(page('consent', { client: { ...MODELS.consent.client, name: evil } }), 'main')), evil)
    const params = all(page('form_post', { params: { state: evil, [evil]: 'x' } }), 'input').map(({ attributes }) => [
      attributes.name,
      attributes.value
    ])
    t.same(params, [
      ['state', evil],
      [evil, 'x']
    ])
  }
})

// covers ASVS-1.2.2
t.test('replaces link and form targets whose scheme runs or loads something', async (t) => {
  await holdsInTable(t, 'every link and form leads nowhere', ({ row }) => {
    for (const url of URLS) {
      for (const name of PAGES) {
        const root = parse(renderPage(name, poisoned(MODELS[name], url) as PageModels[typeof name]))
        for (const { attributes } of [...all(root, 'a'), ...all(root, 'form')])
          row(`${name} ${JSON.stringify(url)}`, attributes.href ?? attributes.action, '#')
      }
    }
  })
  t.equal(
    one(page('form_post', { action: 'com.example.app:/cb' }), 'form').attributes.action,
    'com.example.app:/cb',
    'a scheme of an app'
  )
})

t.test('renders every page without inline code, with labelled fields and unique ids', async (t) => {
  for (const name of PAGES) {
    await t.test(`renders the page ${name} without inline code`, async (t) => {
      const root = page(name)
      t.same(one(root, 'html').attributes, { lang: 'en', dir: 'ltr' })
      t.ok(textOf(one(root, 'h1')))
      t.equal(textOf(one(root, 'title')).includes('Example Service'), true)
      one(root, 'main')
      t.same(all(root, 'style'), [])
      t.same(
        all(root, 'script').map(({ attributes, children }) => [attributes, children]),
        [
          [{ src: '/auth/pages.js?v=1', defer: '' }, []],
          ...(ASKING.includes(name) ? [[{ src: '/auth/passkeys.js?v=1', defer: '' }, []]] : [])
        ],
        'no inline code'
      )
      const loaded = all(root)
        .flatMap(({ tag, attributes }) => [attributes.src, tag === 'link' ? attributes.href : undefined])
        .filter((url) => url !== undefined)
      t.same(
        loaded,
        ['/auth/pages.css?v=1', '/auth/pages.js?v=1', ...(ASKING.includes(name) ? ['/auth/passkeys.js?v=1'] : [])],
        'R9700-4.2.4 nothing of third parties'
      )
      t.same(
        all(root)
          .flatMap(({ attributes }) => Object.keys(attributes))
          .filter((attribute) => attribute.startsWith('on') || attribute === 'style'),
        []
      )
      for (const form of all(root, 'form')) t.match(form.attributes, { method: 'post', action: String })
      for (const { attributes } of inputsOf(root)) {
        t.equal(
          all(root, 'label').filter((label) => label.attributes.for === attributes.id).length,
          1,
          `a label for ${attributes.name}`
        )
        if (attributes.type === 'password') t.equal(attributes.value, undefined, 'never a password')
      }
      const ids = all(root).flatMap(({ attributes }) => attributes.id ?? [])
      t.equal(new Set(ids).size, ids.length, 'ids are unique')
      t.ok(all(root).filter(({ attributes }) => attributes.autofocus !== undefined).length <= 1)
    })
  }
})

t.test('shows the logo instead of the title', async (t) => {
  const logo = { url: 'https://cdn.example/logo.svg', dark: null, height: 32, alt: 'Acme' }
  t.same(one(page('login', { logo }), 'img').attributes, { src: logo.url, alt: 'Acme', height: '32' })
  t.match(
    textOf(one(page('login'), 'header')),
    /^\s*EExample Service\s*$/,
    'and a letter beside the title, where there is none'
  )
  const dark = { logo: { ...logo, url: '/logo.svg', dark: '/dark,1.svg' } }
  t.same(one(page('login', dark), 'source').attributes, {
    srcset: '/dark%2C1.svg',
    media: '(prefers-color-scheme:dark)'
  })
  t.equal(one(page('login', { ...dark, colorScheme: 'dark' }), 'img').attributes.src, '/dark,1.svg')
  t.equal(one(page('login', { ...dark, colorScheme: 'light' }), 'img').attributes.src, '/logo.svg')
})

t.test('links the account pages that are available, and marks the open page', async (t) => {
  const waysOf = (name: PageName, given: object = {}): Array<[string, string | null | undefined]> =>
    all(one(page(name, given), 'nav'), 'a').map(({ attributes: { href = '', 'aria-current': current } }) => [
      href,
      current
    ])
  const there = Object.values(MODELS.account_profile.accountLinks).filter((url) => url !== null)
  const marked = (name: PageName, action: string): unknown =>
    waysOf(name, { action }).filter(([, current]) => current !== undefined)
  t.same(new Set(waysOf('account_profile').map(([url]) => url)), new Set(['/auth/account', ...there]))
  t.same(marked('account_profile', '/auth/account/profile?session=a'), [['/auth/account/profile', 'page']])
  t.same(marked('account_passkey', '/auth/security/passkey?session=a'), [['/auth/security', 'true']], 'a page below it')
  t.same(
    waysOf('account').filter(([, current]) => current !== undefined),
    [['/auth/account', 'page']]
  )
  for (const name of ['account', 'account_profile'] as const) {
    const menu = one(one(page(name), 'header'), 'details')
    t.match(one(menu, 'button').attributes, { form: 'sign-out', name: 'decision', value: 'sign_out' })
    t.match(all(page(name), 'form').at(-1)?.attributes, { id: 'sign-out', method: 'post', action: '/auth/logout' })
  }
})

t.test('puts the providers above the form only with the order providers-first', async (t) => {
  const [connection] = MODELS.login.connections
  const connections = connection === undefined ? [] : [connection]
  for (const name of ['login', 'signup'] as const) {
    const placesOf = (given: Partial<PageModels['login']>): number[] => {
      const body = renderPage(name, { ...MODELS[name], connections, ...given } as PageModels['login'])
      const places = ['/auth/connect/google', 'name="password"', 'class="or"'].map((part) => body.indexOf(part))
      return [...places, body.split('class="or"').length - 1]
    }
    const [provider = 0, password = 0] = placesOf({})
    t.ok(password < provider, name)
    const [above = 0, below = 0, or = 0, ors] = placesOf({ order: 'providers-first' })
    t.ok(above < or && or < below, name)
    t.equal(ors, 1, 'one line between the ways')
    t.equal(placesOf({ order: 'providers-first', connections: [] })[0], -1)
  }
  const [submit] = all(page('login', { order: 'providers-first' }), 'button')
  t.equal(submit?.attributes.formaction, undefined, 'Enter presses the button of the form')
})

t.test('puts the icon, the stylesheet of the host and the color scheme into the head', async (t) => {
  const links = (given: Partial<PageModels['login']> = {}) =>
    all(page('login', given), 'link').map(({ attributes: { rel, href } }) => [rel, href])
  t.same(links(), [['stylesheet', '/auth/pages.css?v=1']])
  t.same(links({ faviconUrl: '/icon.png', stylesheetUrl: 'https://cdn.example/a.css?b&c' }), [
    ['icon', '/icon.png'],
    ['stylesheet', '/auth/pages.css?v=1'],
    ['stylesheet', 'https://cdn.example/a.css?b&c']
  ])
  const scheme = (colorScheme: 'light' | 'dark' | 'auto') =>
    all(page('login', { colorScheme }), 'meta').find(({ attributes }) => attributes.name === 'color-scheme')?.attributes
      .content
  t.same([scheme('auto'), scheme('light'), scheme('dark')], ['light dark', 'light', 'dark'])
})

t.test("shows the host's links and all languages in the footer", async (t) => {
  for (const name of PAGES)
    t.same(
      [...all(one(page(name), 'footer'), 'a'), ...all(one(page(name), 'footer'), 'button')].map(
        ({ attributes: { href, formaction, lang } }) => [href ?? formaction, lang]
      ),
      [
        ['/terms', undefined],
        ['https://example.com/privacy', undefined],
        ['mailto:help@example.com', undefined],
        ['?ui_locales=en', 'en'],
        ['?ui_locales=de', 'de']
      ],
      name
    )
  t.same(
    all(one(page('consent'), 'details'), 'a').map(({ attributes }) => attributes['aria-current']),
    ['true', undefined]
  )
  for (const name of ['login', 'signup', 'forgot_password', 'email_code'] as const)
    for (const { attributes } of all(one(page(name), 'footer'), 'button'))
      t.match(
        attributes,
        { form: 'named', formnovalidate: '', value: 'carry', class: 'plain' },
        'the typed name comes along'
      )
  t.same(
    all(page('login', { languages: [], footer: { terms: null, privacy: null, support: null } }), 'footer'),
    [],
    'none that is empty'
  )
})

t.test('shows the address of a sent message, and resends the message by a form without the address', async (t) => {
  for (const awaits of ['signup', 'forgot', 'unconfirmed'] as const) {
    const root = page('check_email', { awaits, hasCode: false })
    t.match(textOf(one(root, 'main')), 'ann@mail.example')
    t.equal(one(root, 'form').attributes.action, '/auth/post?client_id=acme')
    t.same(all(root, 'input'), [])
    t.match(one(root, 'button').attributes, { name: 'decision', value: 'resend' })
  }
})

t.test('gives the code of a message its own form, and the page one primary button', async (t) => {
  for (const root of [page('check_email', { hasCode: true }), page('account_email', { awaited: 'new@mail.example' })]) {
    t.same(
      all(root, 'input').map(({ attributes: { name, class: look } }) => [name, look]),
      [['code', 'digits']]
    )
    t.equal(all(one(root, 'main'), 'button').filter(({ attributes }) => attributes.class === undefined).length, 1)
    t.equal(all(one(root, 'main'), 'form').length, 2)
  }
})

t.test('offers a new link on the error page of an expired link', async (t) => {
  t.match(
    textOf(one(page('error', { newLink: { url: '/auth/forgot-password', by: 'request' } }), 'main')),
    /This link no longer works[^]*Send a new link/
  )
  t.match(
    textOf(one(page('error', { newLink: { url: '/auth/login', by: 'sign_in' } }), 'main')),
    /we’ll send you a new link[^]*Sign in/
  )
})

t.test('shows an error code and the request id for a server error, but not for invalid_grant', async (t) => {
  const codes = (error: string) => all(page('login', { error: { error, text: 'x', field: null } }), 'code').map(textOf)
  t.same(codes('server_error'), ['server_error · req-1'])
  t.same(codes('temporarily_unavailable'), ['temporarily_unavailable · req-1'])
  t.same(codes('invalid_grant'), [])
  // Each form can fail because a store is down.
  const fault: PageError = { error: 'temporarily_unavailable', text: 'x', field: null }
  for (const name of PAGES.filter((name) => all(one(page(name), 'main'), 'form').length > 0 && name !== 'form_post'))
    t.same(
      all(page(name, { error: fault }), 'code')
        .filter(({ attributes }) => attributes.id === 'request-id')
        .map(textOf),
      ['temporarily_unavailable · req-1'],
      name
    )
  t.same(all(page('error', { requestId: `<b>${'x'.repeat(500)}` }), 'code').map(textOf), [
    `invalid_request · <b>${'x'.repeat(500)}`
  ])
})

t.test('shows the scope description of the host, marked with its language', async (t) => {
  const said = (own: { text: string; lang: string }) =>
    all(
      one(one(page('consent', { scopes: [{ name: 'openid', description: 'scopeOpenid', own }] }), 'main'), 'ul'),
      'span'
    ).map((span) => [textOf(span), span.attributes.lang])
  t.same(said({ text: 'see <your> orders', lang: 'en' }), [['see <your> orders', undefined]])
  t.same(said({ text: 'Ihre Bestellungen sehen', lang: 'de' }), [['Ihre Bestellungen sehen', 'de']])
})

// covers ASVS-6.2.7
t.test('names fields so that browsers and password managers fill them, with one primary submit button', async (t) => {
  const table: Array<[PageName, Record<string, string>]> = [
    ['login', { username: 'username', password: 'current-password' }],
    ['signup', { username: 'username', password: 'new-password', email: 'email' }],
    ['forgot_password', { username: 'username' }],
    ['reset_password', { password: 'new-password' }],
    ['verify_email', {}]
  ]
  for (const [name, fields] of table) {
    const root = page(name)
    // The button that disowns the account comes second, because Enter presses the first button.
    t.same(
      all(one(root, 'form'), 'button').map(({ attributes }) => attributes),
      [
        { type: 'submit' },
        ...(name === 'verify_email' ? [{ type: 'submit', class: 'quiet', name: 'decision', value: 'not_me' }] : [])
      ],
      name
    )
    for (const [field, autocomplete] of Object.entries(fields))
      t.match(
        input(root, field),
        { autocomplete, autocapitalize: 'none', spellcheck: 'false', required: '' },
        `${name} ${field}`
      )
  }
  t.equal(input(page('signup'), 'password').passwordrules, 'minlength: 8;')
  t.equal(input(page('signup'), 'password').maxlength, undefined, 'a pasted password is not cut')
  t.same(input(page('signup'), 'terms'), { id: 'terms', name: 'terms', type: 'checkbox', value: 'true', required: '' })
  t.equal(
    input(
      page('signup', {
        fields: [{ name: 'terms', label: 'x', type: 'checkbox', required: true, value: 'true', choices: [] }]
      }),
      'terms'
    ).checked,
    ''
  )
  t.same(
    inputsOf(page('signup')).map(({ attributes }) => attributes.name),
    ['username', 'email', 'age', 'password', 'terms']
  )
  t.equal(input(page('reset_password'), 'token').value, 'reset-token')
  t.equal(input(page('verify_email'), 'token').value, 'verify-token')
})

t.test('names the account in every form with a password, for password managers', async (t) => {
  const forms = (Object.keys(MODELS) as PageName[])
    .flatMap((name) => all(page(name, { askPassword: true, asksPassword: true, signInUrl: null } as object), 'form'))
    .filter((form) => all(form, 'input').some(({ attributes }) => attributes.type === 'password'))
  t.ok(forms.length >= 8, 'sign-in, sign-up, reset, and five pages for a person who is signed in')
  for (const form of forms)
    t.match(
      all(form, 'input').filter(({ attributes }) => attributes.autocomplete?.startsWith('username') === true),
      [{ attributes: { name: 'username' } }],
      form.attributes.action ?? ''
    )
})

t.test('focuses the field that the user has to type into next', async (t) => {
  const focus = (root: Element): string | undefined =>
    all(root).find(({ attributes }) => attributes.autofocus !== undefined)?.attributes.name
  t.equal(focus(page('login')), 'username')
  t.equal(focus(page('login', { username: 'ann' })), 'password')
  t.equal(focus(page('login', { username: 'ann', error: { ...WRONG, field: 'username' } })), 'username')
  t.equal(focus(page('signup', { username: 'ann', error: { ...WRONG, field: 'email' } })), 'email')
  t.equal(focus(page('forgot_password')), 'username')
  t.equal(focus(page('reset_password')), 'password')
  for (const name of ['consent', 'logout', 'verify_email'] as const)
    t.equal(focus(page(name)), undefined, `${name}: no decision by Enter`)
})

t.test('announces an error at its field to screen readers', async (t) => {
  const whole = page('login', { username: 'ann', error: { error: 'invalid_grant', text: 'Wrong.', field: null } })
  t.match(byId(whole, 'form-error')?.attributes, { role: 'alert' })
  for (const name of ['username', 'password'])
    t.match(input(whole, name), { 'aria-describedby': 'form-error', 'aria-invalid': 'true' })
  t.equal(input(whole, 'username').value, 'ann', 'what was typed stays')
  t.equal(textOf(one(whole, 'title')), 'Error: Sign in to Example Service')

  const field = page('signup', {
    username: 'ann',
    error: { error: 'invalid_password', text: 'Too short.', field: 'password' }
  })
  t.match(input(field, 'password'), { 'aria-describedby': 'password-hint password-error', 'aria-invalid': 'true' })
  t.equal(input(field, 'username')['aria-invalid'], undefined)
  const said = byId(field, 'password-error')
  t.equal(said?.attributes.role, 'alert')
  t.equal(said === undefined ? '' : textOf(said), 'Too short.')

  for (const [name, error] of [
    ['forgot_password', { ...WRONG, field: 'password' }],
    ['reset_password', { ...WRONG, field: 'username' }],
    ['verify_email', { ...WRONG, field: 'token' }],
    ['consent', WRONG],
    ['logout', WRONG]
  ] as const) {
    t.ok(byId(page(name, { error }), 'form-error'), `${name}: a field that is not there`)
  }
  for (const name of PAGES.filter((name) => name !== 'error' && name !== 'connect_failed'))
    t.same(
      all(page(name)).filter(({ attributes }) => attributes.role === 'alert'),
      [],
      `${name}: none without an error`
    )
  t.match(textOf(one(page('error'), 'main')), /No\.\s+Details for support\s*Error code: invalid_request/)
})

t.test('names client, user, scopes and duration on the consent page', async (t) => {
  const root = page('consent')
  const text = textOf(one(root, 'main'))
  for (const part of [
    'Acme Photos',
    'photos.acme.example',
    'ann@mail.example',
    'know who you are',
    'photos:write',
    '30 days'
  ])
    t.match(text, part)
  t.same(
    all(root, 'button').map(({ attributes }) => [attributes.name, attributes.value]),
    [
      ['decision', 'allow'],
      ['decision', 'deny']
    ]
  )
  t.same(all(one(page('consent', { scopes: [] }), 'main'), 'ul'), [])
})

t.test('renders the sign-out button, and the form_post fields with an unnamed button', async (t) => {
  t.match(one(page('logout'), 'button').attributes, { name: 'decision', value: 'sign_out' })
  const root = page('form_post')
  t.same(one(root, 'button').attributes, { type: 'submit' }, 'works without scripts, and adds nothing to the answer')
  t.same(
    all(root, 'input').map(({ attributes }) => [attributes.type, attributes.name, attributes.value]),
    [
      ['hidden', 'code', 'the-code'],
      ['hidden', 'state', 'the-state'],
      ['hidden', 'iss', 'https://auth.example']
    ]
  )
})

t.test('shows no form once an action is done', async (t) => {
  for (const root of [page('reset_password', { done: true }), page('verify_email', { done: true })]) {
    t.same(all(root, 'form'), [])
    t.notMatch(JSON.stringify(root), /(?:reset|verify)-token/)
    t.ok(all(root, 'a').some(({ attributes }) => attributes.href === '/auth/login?client_id=acme'))
  }
  t.same(
    all(one(page('login', { signupUrl: null, forgotUrl: null, emailCodeUrl: null, connections: [] }), 'main'), 'a'),
    []
  )
  t.equal(all(one(page('signed_out', { loginUrl: null }), 'main'), 'a').length, 1)
  t.match(renderPage('signed_out', { ...MODELS.signed_out, ended: false }), 'Nobody was signed in here', 'L4')
})

t.test('leaves no placeholder open on any page in any language', async (t) => {
  await holdsInTable(t, 'each page in each language', ({ row }) => {
    for (const lang of LOCALES) {
      for (const name of PAGES) {
        const html = renderPage(name, { ...MODELS[name], lang, dir: directionOf(lang), messages: messagesOf(lang) })
        row(
          `${lang} ${name}`,
          {
            leftOpen: html.replace(/ data-(?:options|signals)="[^"]*"/g, '').match(/[{}]|undefined|\[object/g),
            root: one(parse(html), 'html').attributes,
            // Chinese and Japanese put no space between sentences.
            spaces: html.match(/\u3002 \S/g),
            twoColons: html.match(/[\uff1a:]\s*[\uff1a:]/g)
          },
          { leftOpen: null, root: { lang, dir: directionOf(lang) }, spaces: null, twoColons: null }
        )
      }
    }
  })
})
