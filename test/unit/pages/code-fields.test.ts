/** The form fields for codes of an app, of a list of recovery codes, and of an email. */
import t from '../../support/tap.ts'
import type { PageModels, PageName } from '../../../lib/pages/model.ts'
import { renderPage } from '../../support/render-page.ts'
import { MODELS } from './models.ts'
import { type Element, all, parse, textOf } from './strict-html.ts'

const page = <Name extends PageName>(name: Name, model: Partial<PageModels[Name]> = {}): Element =>
  parse(renderPage(name, { ...MODELS[name], ...model }))
const typed = (root: Element): string[][] =>
  all(root, 'form')
    .map((form) =>
      all(form, 'input')
        .filter(({ attributes }) => !('hidden' in form.attributes) && attributes.type !== 'hidden')
        .map(({ attributes: { name = '', required } }) => `${name}${required === undefined ? '' : ' required'}`)
    )
    .filter((names) => names.length > 0)
const field = (root: Element, name: string): Record<string, string | undefined> =>
  all(root, 'input').find(({ attributes }) => attributes.name === name)?.attributes ?? {}
/** The descriptions that a screen reader reads with the field. */
const described = (root: Element, name: string): string[] =>
  (field(root, name)['aria-describedby'] ?? '')
    .split(' ')
    .map((id) => textOf(all(root, 'p').find(({ attributes }) => attributes.id === id) ?? root).trim())

t.test('asks for one code and for no other required value on each page', async (t) => {
  t.same(typed(page('second_factor')), [['code required', 'remember']])
  t.same(typed(page('second_factor', { way: 'recovery_code' })), [['recovery_code required', 'remember']])
  t.same(typed(page('set_up_second_factor', { passkey: null })), [['code required']])
  t.same(typed(page('account_totp')), [['code required']])
  t.same(typed(page('email_code')), [['code required']])
})

t.test('lets phones suggest the code, names its length, and shows an error at its field', async (t) => {
  for (const [name, label] of [
    ['second_factor', '6-digit code'],
    ['account_totp', '6-digit code'],
    ['set_up_second_factor', '6-digit code'],
    ['email_code', '8-digit code']
  ] as const) {
    const root = page(name)
    t.match(
      field(root, 'code'),
      { autocomplete: 'one-time-code', inputmode: 'numeric', type: 'text', maxlength: undefined },
      name
    )
    t.ok(all(root, 'label').map(textOf).includes(label), name)
    const wrong = page(name, { error: { error: 'invalid_grant', text: 'It is wrong.', field: 'code' } })
    t.same(described(wrong, 'code'), ['It is wrong.'], name)
    t.match(field(wrong, 'code'), { 'aria-invalid': 'true', autofocus: '' }, name)
  }
})

t.test('shows the error of a wrong recovery code at its field', async (t) => {
  const root = page('second_factor', {
    way: 'recovery_code',
    error: { error: 'invalid_grant', text: 'It is wrong.', field: 'recovery_code' }
  })
  t.same(described(root, 'recovery_code'), [
    'One of the codes you saved when you set this up. Each works once.',
    'It is wrong.'
  ])
  t.match(field(root, 'recovery_code'), { 'aria-invalid': 'true', autofocus: '', autocomplete: 'off' })
})

t.test('names the object of each rename and remove button of the security page for screen readers', async (t) => {
  const root = page('account_security')
  const buttons = all(root, 'button').filter(({ attributes }) => ['rename', 'remove'].includes(attributes.value ?? ''))
  t.equal(buttons.length, 4)
  for (const { attributes } of buttons)
    t.match(
      textOf(all(root, 'p').find(({ attributes: { id } }) => id === attributes['aria-describedby']) ?? root),
      /^(My phone|Authenticator app|Unnamed passkey|Cloud)/
    )
})
