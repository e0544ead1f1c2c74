import type { FastifyRequest } from 'fastify'
import { findLocale } from '../../pages/locale.ts'
import { wordsOf } from '../../protocol/authorization-params.ts'

/**
 * The language in which the person behind the request is to be written to: the one of the page that posted it, so
 * `ui_locales` of the address before `Accept-Language`; `undefined` where neither asks for one that the pages have.
 */
export function localeOf({ query, headers }: FastifyRequest): string | undefined {
  const { ui_locales: uiLocales } = query as { ui_locales?: unknown }
  return findLocale(typeof uiLocales === 'string' ? wordsOf(uiLocales) : [], headers['accept-language'])
}
