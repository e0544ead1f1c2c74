/**
 * The pages' one script, as served. Every page works without it. It shows a password, copies and prints, sends a code
 * that is complete, tells times in the reader's zone, prevents double submits, and submits the `form_post` answer. It
 * also delays buttons that allow or remove something, until a person can have seen them. It uses no spread syntax,
 * because the browser of the OpenID Foundation's conformance suite does not know it and would stay on the `form_post`
 * page.
 */
export const PAGE_SCRIPT = `'use strict'
const all = (selector) => document.querySelectorAll(selector)
const { body } = document
const make = (tag, fields) => Object.assign(document.createElement(tag), fields)
for (const input of all('input[data-reveal]')) {
  const label = input.dataset.reveal
  const reveal = make('button', { type: 'button', className: 'reveal', title: label })
  const show = (shown) => {
    input.type = shown ? 'text' : 'password'
    reveal.setAttribute('aria-pressed', String(shown))
  }
  reveal.setAttribute('aria-label', label)
  reveal.setAttribute('aria-controls', input.id)
  reveal.addEventListener('click', () => { show(input.type === 'password') })
  // Browsers remember the text of a text field for suggestions.
  input.form.addEventListener('submit', () => { show(false) })
  show(false)
  input.after(reveal)
}
// The clipboard does not exist on plain http.
for (const press of all(navigator.clipboard ? '[data-copies]' : '[data-none]')) {
  const { copies, copied } = press.dataset
  press.hidden = false
  press.addEventListener('click', () => {
    navigator.clipboard.writeText(document.getElementById(copies).innerText.trim())
      .then(() => { press.textContent = copied }, () => {})
  })
}
for (const press of all('[data-prints]')) {
  press.hidden = false
  press.addEventListener('click', () => { print() })
}
const said = make('p', { className: 'unseen' })
said.setAttribute('role', 'status')
body.append(said)
for (const form of all('form:not([data-passkey])')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.busy) event.preventDefault()
    form.dataset.busy = 1
    event.submitter?.setAttribute('aria-busy', 'true')
    setTimeout(() => { said.textContent = body.dataset.working }, 150)
  })
  // The browser can restore the page with its former state.
  addEventListener('pageshow', () => {
    delete form.dataset.busy
    said.textContent = ''
    for (const busy of form.querySelectorAll('[aria-busy]')) busy.removeAttribute('aria-busy')
  })
}
for (const input of all('[data-digits]:not([aria-invalid])')) {
  const { form } = input
  // A form with another choice waits for its button.
  const isAlone = form.querySelectorAll('input:not([type=hidden])').length < 2
  const digitsOf = (text) => text.replace(/\\s/g, '')
  const isWhole = (text) => /^\\d+$/.test(digitsOf(text)) && digitsOf(text).length === Number(input.dataset.digits)
  const typed = () => { if (isAlone && isWhole(input.value)) form.requestSubmit(form.querySelector('[type=submit]')) }
  input.addEventListener('input', typed)
  document.addEventListener('paste', (event) => {
    const text = event.clipboardData.getData('text')
    if (event.target.localName === 'input' || !isWhole(text)) return
    input.value = digitsOf(text)
    typed()
  })
}
for (const time of all('time')) {
  const { lang } = document.documentElement
  const at = new Date(time.dateTime)
  const seconds = (at - Date.now()) / 1000
  const [unit, size] = [['day', 86400], ['hour', 3600]].find((unit) => Math.abs(seconds) >= unit[1]) || ['minute', 60]
  const whole = at.toLocaleString(lang, { dateStyle: 'long', timeStyle: 'short' })
  time.title = whole
  time.textContent = time.dataset.clock !== undefined ? at.toLocaleTimeString(lang, { timeStyle: 'short' })
    : Math.abs(seconds) < 604800 ? new Intl.RelativeTimeFormat(lang, { numeric: 'auto' })
      .format(Math.round(seconds / size), unit) : whole
}
const hasPasskeys = Boolean(globalThis.PublicKeyCredential)
// Takes the room of the passkey form away, and shows the text instead.
body.className = hasPasskeys ? '' : 'without'
for (const field of all('input[name=passkeys]')) field.value = hasPasskeys ? 'yes' : ''
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
