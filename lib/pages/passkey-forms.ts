import { submit } from './fields.ts'
import { type Html, type HtmlValue, attributes, html, safeUrl } from './html.ts'
import type { CommonModel, PasskeyForm, PasskeySignals } from './common-model.ts'

interface PasskeyCall {
  /** The method of `navigator.credentials`. */
  call: 'get' | 'create'
  label: string
  look?: 'quiet' | null
  /** Above the button. */
  fields?: HtmlValue
}

/**
 * A form that is hidden until the script shows it, so that a browser without scripts has no dead button and no gap.
 * With scripts, the page keeps space for the form from the start, so that nothing moves while the user taps.
 */
export function passkeyForm(
  action: string,
  { options, renewUrl, signals }: PasskeyForm,
  { messages }: CommonModel,
  { call, label, look = null, fields }: PasskeyCall
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

/** The text for browsers without scripts or without passkeys, on a page that has only the passkey form. */
export function withoutPasskeys({ messages }: CommonModel): Html {
  return html`<p class="hint instead">${messages.passkeysMissing}</p>
`
}

/** Gives the script the data of `signals` on a page without a passkey form. */
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

/** A field in which the script reports that the browser supports passkeys, so that a later page may propose one. */
export function tellsPasskeysField(tells: boolean): Html | null {
  return tells ? html`<input type="hidden" name="passkeys" value="">\n` : null
}
