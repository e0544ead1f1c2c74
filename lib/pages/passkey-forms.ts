import { submit } from './fields.ts'
import { type Html, type HtmlValue, attributes, html, safeUrl } from './html.ts'
import type { CommonModel, PasskeyForm, PasskeySignals } from './common-model.ts'

interface Asking {
  /** Of `navigator.credentials`. */
  call: 'get' | 'create'
  label: string
  look?: 'quiet' | null
  /** Above the button. */
  fields?: HtmlValue
}

/** Hidden until the script shows it: without one there is no button that does nothing, and no room for it. */
export function passkeyForm(
  action: string,
  { options, renewUrl, signals }: PasskeyForm,
  { messages }: CommonModel,
  { call, label, look = null, fields }: Asking
): Html {
  return html`<form${attributes({
    method: 'post',
    action: safeUrl(action),
    'data-passkey': call,
    'data-options': JSON.stringify(options),
    'data-again': renewUrl,
    'data-failed': messages.passkeyFailed,
    'data-exists': messages.passkeyExists,
    'data-signals': signalsOf(signals),
    hidden: true
  })}>
<input type="hidden" name="credential">
${fields}${submit(label, { look })}
<p class="wrong" aria-live="polite"></p>
</form>
`
}

/**
 * In place of a hidden form, on a page where nothing else would be left. The stylesheet takes it away where the form is
 * seen.
 */
export function withoutPasskeys({ messages }: CommonModel): Html {
  return html`<p class="hint instead">${messages.passkeysMissing}</p>
`
}

/** Where the page has no form to carry them. */
export function passkeySignals({ signals }: PasskeySignals): Html | null {
  const told = signalsOf(signals)
  return told === null
    ? null
    : html`<div${attributes({ 'data-signals': told, hidden: true })}></div>
`
}

function signalsOf(signals: PasskeySignals['signals']): string | null {
  return Object.keys(signals).length === 0 ? null : JSON.stringify(signals)
}

/** The script says whether the browser can make passkeys; then the person may be asked to make one. */
export function tellsPasskeysField(tells: boolean): Html | null {
  return tells ? html`<input type="hidden" name="passkeys" value="">\n` : null
}
