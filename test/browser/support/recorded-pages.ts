import type { RenderPage } from '../../../lib/index.ts'
import type { CommonModel, PageError } from '../../../lib/pages/common-model.ts'
import type { PageModels, PageName } from '../../../lib/pages/model.ts'
import { renderPage } from '../../support/render-page.ts'
import { directionOf, formatNumbers, type Locale, type MessageKey, messagesOf } from '../../../lib/pages/texts.ts'

/**
 * The last shown pages of a provider with this `render`, so that each can be rendered in every language without another
 * visit.
 */
export interface Recorder {
  render: RenderPage
  last(): RecordedPage
}

export interface RecordedPage {
  /** The whole document, as the provider would serve it to a browser of this language. */
  in(locale: Locale): string
}

type Model = CommonModel & { error?: PageError | null; minLength?: number }

export function pageRecorder(): Recorder {
  let page: PageName | null = null
  let model: Model | null = null
  return {
    render: (...shown) => {
      ;[page, model] = shown
      return undefined
    },
    last() {
      const [name, shown] = [page, model]
      if (name === null || shown === null) throw new Error('no page was shown')
      page = model = null
      return recorded(name, shown as PageModels[typeof name])
    }
  }
}

/** A page as if it had been shown. */
export function recorded<Name extends PageName>(name: Name, model: PageModels[Name]): RecordedPage {
  return { in: (locale) => renderPage(name, translated(model, locale) as PageModels[Name]) }
}

/** Everything that depends on the language: the texts, and the error in its words. */
function translated(model: Model, locale: Locale): Model {
  const messages = messagesOf(locale)
  const { error = null } = model
  if (error === null) return { ...model, lang: locale, dir: directionOf(locale), messages }
  const values = { minLength: model.minLength ?? 0 }
  const key = (Object.keys(messages) as MessageKey[]).find(
    (each) => each.startsWith('error') && formatNumbers(model.messages[each], values, model.messages) === error.text
  )
  if (key === undefined) throw new Error(`no message says: ${error.text}`)
  return {
    ...model,
    lang: locale,
    dir: directionOf(locale),
    messages,
    error: { ...error, text: formatNumbers(messages[key], values, messages) }
  }
}
