/**
 * The script of the pages that ask for a passkey or make one. It shows the form that the page keeps hidden, and posts what the browser
 * answers in the form's field `credential`.
 *
 * - A document has one request at a time: the one that is under way has ended before the next begins, which WebKit asks for too.
 * - The answer is put together by hand: `toJSON()` and `getPublicKey()` throw where a password manager stands in for the browser.
 * - In the options every `id` is of bytes but that of the Relying Party, which has a `name` and no `displayName`.
 * - What can't be told apart (cancelled, too late, no passkey) has one text. A passkey of the username field fails without a word.
 * - With `data-again`, a challenge of eight minutes is changed for a new one, for one of ten is refused; not while nobody sees the page.
 * - `data-signals` tells the browser which passkeys still work. Not every browser wants to know.
 *
 * @see W3C WebAuthn Level 3 §5.1
 */
const SOURCE = `const api = window.PublicKeyCredential
const [form, signals] = ['passkey', 'signals'].map((name) => api && document.querySelector('[data-' + name + ']'))
if (signals) for (const [name, about] of Object.entries(JSON.parse(signals.dataset.signals))) api[name]?.(about).catch(() => {})
if (form) {
  const { passkey, options, again, failed, exists } = form.dataset
  const said = form.querySelector('[aria-live]')
  const read = (json) => JSON.parse(json, function (name, value) {
    return /^(challenge|id)$/.test(name) && ('displayName' in this || !this.name) ? Uint8Array.from(atob(value.replace(/-/g, '+').replace(/_/g, '/')), (sign) => sign.charCodeAt()) : value
  })
  const write = (value) => btoa(String.fromCharCode(...new Uint8Array(value))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=/g, '')
  let publicKey = read(options), made = Date.now(), last, current, modal
  const isOld = () => again && Date.now() - made > 48e4
  const ask = async (mediation, signal) => {
    await last
    if (isOld()) {
      publicKey = read(await (await fetch(again)).text()).options || publicKey
      made = Date.now()
    }
    const { rawId, type, response } = await navigator.credentials[passkey]({ publicKey, mediation, signal })
    const given = { transports: response.getTransports?.() }
    for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) if (response[name]) given[name] = write(response[name])
    form.credential.value = JSON.stringify({ id: write(rawId), type, response: given })
    HTMLFormElement.prototype.submit.call(form)
  }
  const begin = (mediation) => {
    current?.abort()
    const { signal } = current = new AbortController()
    modal = !mediation
    last = ask(mediation, signal).catch(({ name }) => {
      if (mediation || signal.aborted) return
      said.textContent = name === 'InvalidStateError' ? exists : failed
      offer(modal = false)
    })
  }
  const offer = async () => { if (again && await api.isConditionalMediationAvailable?.() && !modal) begin('conditional') }
  const renew = () => { if (isOld() && !modal && !document.hidden) offer() }
  form.onsubmit = () => {
    said.textContent = ''
    begin()
    return false
  }
  document.onvisibilitychange = renew
  setInterval(renew, 6e4)
  form.hidden = false
  offer()
}
`

/** As it is served: without indentation and without spaces around punctuation, at most 1 kB by gzip. */
export const PASSKEY_SCRIPT = SOURCE.replace(/\n +/g, '\n').replace(/ ?([=?:{}(),&|>+]) ?/g, '$1')
