import { submit } from './fields.ts'
import { type Html, type HtmlValue, attributes, html, safeUrl } from './html.ts'
import type { CommonModel, PasskeyForm, PasskeySignals } from './common-model.ts'

interface Asking {
  /** The method of `navigator.credentials`. */
  call: 'get' | 'create'
  label: string
  look?: 'quiet' | null
  /** Above the button. */
  fields?: HtmlValue
}

/**
 * Hidden until the script shows it, so that a browser without scripts sees no dead button and no gap. With scripts its
 * room is there from the start, so that nothing moves under a thumb.
 */
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

/** For a page that would otherwise be empty: without scripts, and where the script finds that there are no passkeys. */
export function withoutPasskeys({ messages }: CommonModel): Html {
  return html`<p class="hint instead">${messages.passkeysMissing}</p>
`
}

/** Carries the data on a page without a form. */
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

/** The script reports whether the browser can make passkeys, so that a later page may propose one. */
export function tellsPasskeysField(tells: boolean): Html | null {
  return tells ? html`<input type="hidden" name="passkeys" value="">\n` : null
}
