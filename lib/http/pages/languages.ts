import type { FastifyRequest } from 'fastify'
import type { CommonModel } from '../../pages/common-model.ts'
import { LOCALES } from '../../pages/texts.ts'
import { LANGUAGES } from '../../texts/languages.ts'

/** Of the address of a page: what says which language, and what was said of a form that is done. */
const OF_ONE_VIEW = ['ui_locales', 'done', 'session']

/** Several times what clients send, in characters. */
const MAX_QUERY = 1500

/**
 * The page's own address in each language, by its query alone, because the path may differ outside of a proxy. A page
 * that tells the result of a form can't be opened again, so it offers no languages; a refused form can.
 */
export function languagesOf({ method, url }: FastifyRequest, statusCode: number): CommonModel['languages'] {
  if (method !== 'GET' && statusCode < 400) return []
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? []
  // The query stands in each address: that of a request with a parameter of its greatest length would make a page of a
  // hundred kilobytes.
  if (query.length > MAX_QUERY) return []
  const kept = query.split('&').filter((pair) => pair !== '' && !OF_ONE_VIEW.includes(pair.split('=', 1)[0] ?? ''))
  return LOCALES.map((lang) => ({
    lang,
    name: LANGUAGES[lang].name,
    url: `?${[...kept, `ui_locales=${lang}`].join('&')}`
  }))
}
