import type { FastifyRequest } from 'fastify'
import type { CommonModel } from '../../pages/model.ts'
import { LOCALES, messagesOf } from '../../pages/texts.ts'

/** Of the address of a page: what says which language, and what was said of a form that is done. */
const OF_ONE_VIEW = ['ui_locales', 'done', 'session']

const NAMES = LOCALES.map((lang) => ({ lang, name: nameOf(lang) }))

/** What a language calls itself, in the case that it has as the first word of a line. */
function nameOf (lang: string): string {
  const { lang: tag } = messagesOf(lang as (typeof LOCALES)[number])
  const name = new Intl.DisplayNames([tag], { type: 'language', languageDisplay: 'standard' }).of(tag) ?? tag
  const [first = '', ...rest] = [...name]
  return `${first.toLocaleUpperCase(tag)}${rest.join('')}`
}

/**
 * The page's own address in each language, by its query alone, for the path may be another outside of a proxy. A page that tells what a form has done can't be opened again, so there is nothing to choose;
 * a form that was refused is opened anew.
 */
export function languagesOf ({ method, url }: FastifyRequest, statusCode: number): CommonModel['languages'] {
  if (method !== 'GET' && statusCode < 400) return []
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? []
  const kept = query.split('&').filter((pair) => pair !== '' && !OF_ONE_VIEW.includes(pair.split('=', 1)[0] ?? ''))
  return NAMES.map(({ lang, name }) => ({ lang, name, url: `?${[...kept, `ui_locales=${lang}`].join('&')}` }))
}
