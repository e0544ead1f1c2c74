import { Script } from 'node:vm'
import { gzipSync } from 'node:zlib'
import t from '../../support/tap.ts'
import { renderPage } from '../../support/render-page.ts'
import { PASSKEY_SCRIPT } from '../../../lib/pages/script.ts'
import { contentSecurityPolicy } from '../../../lib/http/pages/security.ts'
import type { PageModels, PageName } from '../../../lib/pages/model.ts'
import type { PasskeyForm } from '../../../lib/pages/common-model.ts'
import { MODELS } from './models.ts'
import { type Element, all, one, parse, textOf } from './strict-html.ts'

const page = <Name extends PageName>(name: Name, model: Partial<PageModels[Name]> = {}): Element =>
  parse(renderPage(name, { ...MODELS[name], ...model }))
const asking = (root: Element): Element[] => all(root, 'form').filter(({ attributes }) => 'data-passkey' in attributes)
const PASSKEY: PasskeyForm = {
  scriptUrl: '/auth/passkeys.js?v=1',
  options: { rpId: 'auth.example', challenge: 'AAAA', allowCredentials: [] },
  renewUrl: '/auth/passkey-challenge',
  signals: {}
}
const BY_PASSKEY = { way: 'passkey', passkey: PASSKEY, rememberSeconds: null } as const
const WRONG = { error: 'invalid_grant', text: 'The passkey was not accepted.', field: 'credential' }

// covers PK-28
t.test(
  'keeps the passkey script within 1 KiB compressed, and does not load it on a page without passkeys',
  async (t) => {
    t.ok(gzipSync(PASSKEY_SCRIPT).length <= 1024, `${gzipSync(PASSKEY_SCRIPT).length} bytes`)
    t.doesNotThrow(() => new Script(PASSKEY_SCRIPT))
    t.same(all(page('login'), 'script').length, 1)
    t.same(asking(page('login')), [])
  }
)

t.test('renders the passkey form hidden until the script runs, with one field and one button', async (t) => {
  for (const root of [
    page('login', { passkey: PASSKEY }),
    page('second_factor', BY_PASSKEY),
    page('passkey_prompt'),
    page('account_passkey')
  ]) {
    const [form, ...more] = asking(root)
    if (form === undefined) throw new Error('no form')
    t.same(more, [])
    t.match(form.attributes, {
      hidden: '',
      method: 'post',
      action: '/auth/post?client_id=acme',
      'data-failed': /./,
      'data-exists': /./
    })
    t.same(
      all(form, 'input')
        .filter(({ attributes }) => attributes.type === 'hidden')
        .map(({ attributes }) => [attributes.name, attributes.value]),
      [['credential', undefined]]
    )
    t.equal(all(form, 'button').length, 1)
    t.same(
      all(form, 'p')
        .filter(({ attributes }) => 'aria-live' in attributes)
        .map(textOf),
      [''],
      'room for what went wrong, before it does'
    )
    t.same(JSON.parse(form.attributes['data-options'] ?? '').challenge, 'AAAA')
  }
})

t.test('adds webauthn last to the autocomplete of the username on the sign-in page', async (t) => {
  const username = (root: Element): string | undefined =>
    all(root, 'input').find(({ attributes }) => attributes.name === 'username')?.attributes.autocomplete
  t.equal(username(page('login')), 'username')
  t.equal(username(page('login', { passkey: PASSKEY })), 'username webauthn')
  const [form] = asking(page('login', { passkey: PASSKEY }))
  t.match(form?.attributes, { 'data-passkey': 'get', 'data-again': '/auth/passkey-challenge' })
  t.same(form === undefined ? '' : textOf(form).trim(), 'Sign in with a passkey')
  const tells = (tellsPasskeys: boolean): number =>
    all(page('login', { tellsPasskeys }), 'input').filter(({ attributes }) => attributes.name === 'passkeys').length
  t.same([tells(false), tells(true)], [0, 1])
})

t.test('does not mark username and password as wrong after a rejected passkey', async (t) => {
  const root = page('login', { passkey: PASSKEY, error: WRONG })
  t.match(textOf(one(root, 'main')), 'The passkey was not accepted.')
  t.equal(all(root, 'p').filter(({ attributes }) => attributes.role === 'alert').length, 1)
  for (const { attributes } of all(root, 'input'))
    t.notOk('aria-invalid' in attributes || 'aria-describedby' in attributes)
})

t.test('says why no passkey can be used on a page that waits for a passkey', async (t) => {
  const instead = (root: Element): string[] =>
    all(root, 'p')
      .filter(({ attributes }) => attributes.class === 'hint instead')
      .map(textOf)
  t.same(instead(page('second_factor')), [])
  t.equal(instead(page('second_factor', BY_PASSKEY)).length, 1)
  t.match(textOf(one(page('second_factor', BY_PASSKEY), 'main')), /Use your passkey[^]*Recovery code/)
  const left = { way: 'recovery_code' as const, otherWays: [] }
  t.match(textOf(one(page('second_factor', left), 'main')), /After too many wrong codes/)
  for (const name of ['passkey_prompt', 'account_passkey'] as const) t.equal(instead(page(name)).length, 1, name)
  t.match(all(one(page('passkey_prompt'), 'main'), 'a').map(({ attributes }) => attributes.href)[0], '/')
})

t.test('lists the passkeys on the security page, and advises adding a second to a device-bound one', async (t) => {
  const text = (model: Partial<PageModels['account_security']> = {}): string =>
    textOf(one(page('account_security', model), 'main'))
  const {
    passkeys: [alone, synced]
  } = MODELS.account_security
  if (alone === undefined || synced === undefined) throw new Error('no passkeys')
  t.match(text(), /Unnamed passkey On one device only[^]*Cloud Synced/)
  t.notMatch(text(), 'Add another one')
  t.match(text({ factors: [], passkeys: [alone] }), 'Add another one')
  t.match(
    text({ factors: [], passkeys: [alone], removing: { id: 'key', name: null, isPasskey: true, backUrl: '/' } }),
    /Remove Unnamed passkey\?[^]*If you remove the last passkey/
  )
  t.notMatch(text({ factors: [], passkeys: [synced] }), 'Add another one')
  t.match(text({ factors: [], passkeys: [], recoveryCodesLeft: null }), 'Add passkey')
  t.equal(
    all(page('account_security', { passkeys: [], addPasskeyUrl: null, passkeySignals: null }), 'h2').length,
    2,
    'two-step sign-in and devices'
  )
  t.match(text({ signInUrl: '/auth/login' }), 'Sign in again')
  const removable = (model: Partial<PageModels['account_security']>): number =>
    all(page('account_security', model), 'a').filter(({ attributes }) => attributes.href?.startsWith('?remove=')).length
  t.same([removable({}), removable({ signInUrl: '/auth/login' })], [4, 0])
})

// covers PK-29
t.test('allows the passkey script and its challenge endpoint in the policy only if a page needs them', async (t) => {
  const policy = (passkeys?: { renewUrl: string | null }, own = false): string =>
    contentSecurityPolicy(
      {
        style: 'https://a.example/pages.css',
        script: 'https://a.example/pages.js',
        images: [],
        stylesheet: null,
        passkeys: 'https://a.example/passkeys.js'
      },
      { own, formActions: [], passkeys }
    )
  t.equal(
    policy(),
    "default-src 'none'; style-src https://a.example/pages.css; script-src " +
      "https://a.example/pages.js; img-src 'self' data:; form-action 'self'; frame-ancestors " +
      "'none'; base-uri 'none'"
  )
  t.equal(policy({ renewUrl: null }), policy().replace('pages.js', 'pages.js https://a.example/passkeys.js'))
  t.equal(
    policy({ renewUrl: 'https://a.example/challenge' }),
    policy({ renewUrl: null }).replace('; img-src', '; connect-src https://a.example/challenge; img-src')
  )
  t.equal(
    policy({ renewUrl: null }, true),
    policy(undefined, true),
    'of the host\u2019s own HTML nothing more is asked'
  )
})
