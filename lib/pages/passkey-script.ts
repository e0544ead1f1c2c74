/**
 * The script of pages that ask for a passkey or make one. It shows the hidden form and posts the browser's answer in
 * the field `credential`.
 *
 * - A document runs one request at a time. WebKit requires the former one to end before the next begins.
 * - The script builds the answer from readable fields, because `toJSON()` and `getPublicKey()` throw in some password
 * managers, and so does any prototype that they left to the browser. It may fail with any error, or with none.
 * - In the options every `id` is binary except that of the Relying Party, which has a `name` and no `displayName`.
 * - Causes that cannot be distinguished (cancelled, timeout, no passkey) share one text. A passkey of the username
 * field fails silently.
 * - With `data-again`, a challenge is replaced after eight minutes, because it expires after ten. Not while the page is
 * hidden.
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
