/**
 * The pages' one script, as served. Every page works without it. It shows a password, copies an error's id, estimates a
 * new password, prevents double submits, and submits the `form_post` answer. It also delays buttons that allow or
 * remove something, until a person can have seen them. It uses no spread syntax, because the browser of the OpenID
 * Foundation's conformance suite does not know it and would stay on the `form_post` page.
 */
export const PAGE_SCRIPT = `'use strict'
const all = (selector) => document.querySelectorAll(selector)
const button = (className, label) =>
  Object.assign(document.createElement('button'), { type: 'button', className, title: label })
for (const input of all('input[data-reveal]')) {
  const reveal = button('reveal', input.dataset.reveal)
  const show = (shown) => {
    input.type = shown ? 'text' : 'password'
    reveal.setAttribute('aria-pressed', String(shown))
  }
  reveal.setAttribute('aria-label', input.dataset.reveal)
  reveal.setAttribute('aria-controls', input.id)
  reveal.addEventListener('click', () => { show(input.type === 'password') })
  // Browsers remember the text of a text field for suggestions.
  input.form.addEventListener('submit', () => { show(false) })
  show(false)
  input.after(reveal)
}
for (const note of all('.strength')) {
  const field = note.parentElement
  const input = field.querySelector('input')
  const rule = field.querySelector('[data-min]')
  const least = Number(rule.dataset.min)
  input.addEventListener('input', () => {
    const typed = Array.from(input.value)
    const { username } = input.form.elements
    const name = username ? username.value.split('@')[0].toLowerCase() : ''
    const rest = Array.from(name.length > 2 ? input.value.toLowerCase().replaceAll(name, '') : input.value)
    // A character that repeats or follows the one before counts as none.
    const isNew = (character, index) => Math.abs(character.codePointAt() - (rest[index - 1] || '~~').codePointAt()) > 1
    const count = rest.filter(isNew).length
    const kinds = [[/[a-z]/, 26], [/[A-Z]/, 26], [/\\d/, 10], [/[^a-zA-Z\\d]/, 33]]
      .reduce((sum, [kind, size]) => sum + kind.test(input.value) * size, 0)
    const bits = count * Math.log2(kinds || 1)
    const level = typed.length < least || bits < 45 ? 'weak' : bits < 65 ? 'fair' : bits < 85 ? 'good' : 'strong'
    rule.classList.toggle('met', typed.length >= least)
    note.hidden = typed.length === 0
    note.dataset.level = level
    const said = note.lastElementChild
    if (said.textContent !== note.dataset[level]) said.textContent = note.dataset[level]
  })
}
for (const code of all('[data-copy]')) {
  const { copy, copied } = code.dataset
  const press = button('copy', copy)
  press.textContent = copy
  press.setAttribute('aria-live', 'polite')
  press.addEventListener('click', () => {
    navigator.clipboard.writeText(code.textContent).then(() => { press.textContent = copied }, () => {})
  })
  // The clipboard does not exist on plain http.
  if (navigator.clipboard) code.parentElement.after(press)
}
for (const form of all('form:not([data-passkey])')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.busy) event.preventDefault()
    form.dataset.busy = 1
    event.submitter?.setAttribute('aria-busy', 'true')
  })
  // The browser can restore the page with its former state.
  addEventListener('pageshow', () => {
    delete form.dataset.busy
    for (const busy of form.querySelectorAll('[aria-busy]')) busy.removeAttribute('aria-busy')
  })
}
for (const field of all('input[name=passkeys]')) field.value = globalThis.PublicKeyCredential ? 'yes' : ''
for (const deliberate of all('[data-deliberate]')) {
  let timer
  // Another window can make a person double-click, bring this page to the front with the first click, and vanish before
  // the second.
  const hold = () => {
    const hadFocus = document.activeElement === deliberate
    deliberate.disabled = true
    clearTimeout(timer)
    timer = setTimeout(() => {
      deliberate.disabled = false
      if (hadFocus) deliberate.focus()
    }, 500)
  }
  addEventListener('focus', hold)
  addEventListener('pageshow', hold)
  document.addEventListener('visibilitychange', hold)
  hold()
}
const answer = document.querySelector('[data-submit] form')
if (answer) {
  // The answer contains a single-use code.
  answer.querySelector('button').disabled = true
  // A parameter may be named submit.
  HTMLFormElement.prototype.submit.call(answer)
}
`
