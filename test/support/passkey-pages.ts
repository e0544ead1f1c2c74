/** The form of a hosted page that asks for a passkey, answered as its script does. */
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../../lib/protocol/webauthn-options.ts'
import type { SoftPasskey } from '../../lib/testing/index.ts'
import type { LightMyRequestResponse } from './app.ts'
import type { TestBrowser } from './browser.ts'

const unescape = (text = ''): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

export interface AskingForm {
  action: string
  call: string
  options: PasskeyCreationOptions & PasskeyRequestOptions
}

/** `null`: the page asks for none. */
export function askingForm(html: string): AskingForm | null {
  const [, attributes] = /<form([^>]* data-passkey=[^>]*)>/.exec(html) ?? []
  if (attributes === undefined) return null
  const value = (name: string): string => unescape(new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1])
  return {
    action: value('action'),
    call: value('data-passkey'),
    options: JSON.parse(value('data-options')) as AskingForm['options']
  }
}

/** The page's signals to the browser about passkeys. */
export function signalsIn(html: string): Record<string, Record<string, unknown>> {
  const [, told] = / data-signals="([^"]*)"/.exec(html) ?? []
  return told === undefined ? {} : (JSON.parse(unescape(told)) as Record<string, Record<string, unknown>>)
}

/** Opens a page and answers its form. */
export async function answerOn(
  browser: TestBrowser,
  url: string,
  passkey: SoftPasskey,
  fields: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  return await answer(browser, (await browser.get(url)).body, passkey, fields)
}

export async function answer(
  browser: TestBrowser,
  html: string,
  passkey: SoftPasskey,
  fields: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  const form = askingForm(html)
  if (form === null) throw new Error(`no form that asks for a passkey: ${html.slice(0, 200)}`)
  const credential = form.call === 'create' ? passkey.create(form.options) : passkey.get(form.options)
  return await browser.submit(form.action, { credential: JSON.stringify(credential), ...fields })
}
