/**
 * The script of the pages that ask for a passkey or make one. It shows the form that the page keeps hidden, and posts
 * what the browser answers in the form's field `credential`.
 *
 * - A document has one request at a time: the one that is under way has ended before the next begins, which WebKit asks
 *   for too.
 * - The answer is put together by hand, of what can be read: where a password manager stands in for the browser,
 *   `toJSON()` and `getPublicKey()` throw, and so does whatever it has left to the browser's own prototypes. It may
 *   fail with anything, or with nothing.
 * - In the options every `id` is of bytes but that of the Relying Party, which has a `name` and no `displayName`.
 * - What can't be told apart (cancelled, too late, no passkey) has one text. A passkey of the username field fails
 *   without a word.
 * - With `data-again`, a challenge of eight minutes is changed for a new one, for one of ten is refused; not while
 *   nobody sees the page.
 * - `data-signals` tells the browser which passkeys still work. Not every browser wants to know.
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

/** As it is served: without indentation and without spaces around punctuation, at most 1 kB by gzip. */
export const PASSKEY_SCRIPT = SOURCE.replace(/\n +/g, '\n').replace(/ ?([=?:{}(),&|>+]) ?/g, '$1')
