/**
 * The script of all pages, as served. Every page works without it. It shows a password, copies and prints, and shows
 * times in the reader's time zone. It submits a complete code and the `form_post` answer, and prevents double submits.
 * It also disables buttons that allow or remove something until a person can have seen them. It uses no spread syntax,
 * because the browser of the OpenID Foundation's conformance suite does not support spread syntax and would stay on the
 * `form_post` page.
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
for (const press of all('[data-saves], [data-prints]')) {
  press.hidden = false
  press.addEventListener('click', () => {
    const { saves } = press.dataset
    if (!saves) return print()
    const href = 'data:text/plain,' + encodeURIComponent(document.getElementById(saves).innerText)
    make('a', { href, download: document.title + '.txt' }).click()
  })
}
const kept = document.querySelector('#kept')
if (kept) {
  for (const press of all('.keeps button')) press.addEventListener('click', () => { kept.checked = true })
  document.querySelector('.actions a').addEventListener('click', (event) => {
    if (kept.checked) return
    event.preventDefault()
    kept.focus()
  })
}
const said = make('p', { className: 'unseen' })
said.setAttribute('aria-live', 'polite')
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
for (const time of all('time:not([data-utc])')) {
  const { lang } = document.documentElement
  const { wait } = time.dataset
  const at = wait ? new Date(Date.now() + wait * 1000) : new Date(time.dateTime)
  const seconds = (at - Date.now()) / 1000
  const [unit, size] = [['day', 86400], ['hour', 3600]].find((unit) => Math.abs(seconds) >= unit[1]) || ['minute', 60]
  const whole = at.toLocaleString(lang, { dateStyle: 'long', timeStyle: 'short' })
  time.title = whole
  time.textContent = wait ? ' (' + at.toLocaleTimeString(lang, { timeStyle: 'short' }) + ')'
    : !('whole' in time.dataset) && Math.abs(seconds) < 604800 ? new Intl.RelativeTimeFormat(lang, { numeric: 'auto' })
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

/**
 * The script of pages that ask for a passkey or make one. It shows the hidden form and posts the browser's answer in
 * the field `credential`.
 *
 * - A document can run one passkey request at a time. WebKit requires one request to end before the next begins.
 * - The script copies the answer field by field. In some password managers, `toJSON()`, `getPublicKey()` and other
 * methods throw, because their objects are not the browser's own. A request may reject with any error, or with none.
 * - In the options every `id` is binary except that of the Relying Party, which has a `name` and no `displayName`.
 * - Causes that can't be distinguished (canceled, timeout, no passkey) share one text. A request that the username
 * field started fails silently.
 * - With `data-again`, the script replaces a challenge after eight minutes, because a challenge expires after ten. It
 * waits while the page is hidden.
 * - `data-signals` tells the browser which passkeys still work, if the browser supports it.
 *
 * @see W3C WebAuthn Level 3 §5.1
 */
const SOURCE = `const api = window.PublicKeyCredential
const [form, signals] = ['passkey', 'signals'].map((name) => api && document.querySelector('[data-' + name + ']'))
if (signals) for (const [name, about] of Object.entries(JSON.parse(signals.dataset.signals)))
  api[name]?.(about).catch(() => {})
if (form) {
  const { passkey, options, again, failed, exists } = form.dataset
  const said = form.querySelector('[aria-live]')
  const read = (json) => JSON.parse(json, function (name, value) {
    return /^(challenge|id)$/.test(name) && ('displayName' in this || !this.name) ?
      Uint8Array.from(atob(value.replace(/-/g, '+').replace(/_/g, '/')), (sign) => sign.charCodeAt()) : value
  })
  const write = (value) => btoa(String.fromCharCode(...new Uint8Array(value)))
    .replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=/g, '')
  let publicKey = read(options), made = Date.now(), last, current, modal
  const isOld = () => again && Date.now() - made > 48e4
  const ask = async (mediation, signal) => {
    await last
    if (isOld()) {
      publicKey = read(await (await fetch(again)).text()).options || publicKey
      made = Date.now()
    }
    const { rawId, type, response } = await navigator.credentials[passkey]({ publicKey, mediation, signal })
    const json = {}
    for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'])
      try { if (response[name]) json[name] = write(response[name]) } catch {}
    try { json.transports = response.getTransports() } catch {}
    form.credential.value = JSON.stringify({ id: write(rawId), type, response: json })
    HTMLFormElement.prototype.submit.call(form)
  }
  const begin = (mediation) => {
    current?.abort()
    modal = !mediation
    const { signal } = current = new AbortController()
    last = ask(mediation, signal).catch((error) => {
      if (mediation || signal.aborted) return
      said.textContent = error?.name === 'InvalidStateError' ? exists : failed
      offer(modal = false)
    })
    return false
  }
  const offer = async () => again && await api.isConditionalMediationAvailable?.() && !modal && begin('conditional')
  form.onsubmit = () => {
    said.textContent = ''
    return begin()
  }
  setInterval(document.onvisibilitychange = () => isOld() && !modal && !document.hidden && offer(), 6e4)
  form.hidden = false
  offer()
}
`

/** The script as served: without indentation and spaces around punctuation, at most 1 kB with gzip. */
export const PASSKEY_SCRIPT = SOURCE.replace(/\n +/g, '\n').replace(/ ?([=?:{}(),&|>+]) ?/g, '$1')
