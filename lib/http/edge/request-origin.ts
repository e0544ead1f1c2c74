import type { FastifyRequest } from 'fastify'
import type { Origin } from '../../sessions/sessions.ts'
import { findLocale } from '../../pages/texts.ts'
import { MAX_USER_AGENT } from '../../protocol/bounds.ts'
import { wordsOf } from '../../protocol/authorization-params.ts'

/** A request id of visible ASCII. If a host sets `requestIdHeader`, any client can choose the id. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
const OTHERS = /[^\x21-\x7e]/g
const MAX_REQUEST_ID = 128
/**
 * Maximum length of an IP address. An IPv6 address with a zone is shorter. With `trustProxy: true`, the value comes
 * from a header that any client can send.
 */
const MAX_IP = 64

/** `request.id`, cut after 128 characters, and with `_` for each character that is not visible ASCII. */
export function requestIdOf({ id }: Pick<FastifyRequest, 'id'>): string {
  return REQUEST_ID.test(id) ? id : id.slice(0, MAX_REQUEST_ID).replaceAll(OTHERS, '_')
}

/**
 * The IP address, the user agent and the id of a request, for events. `request.ip` obeys the host's `trustProxy`. Each
 * part has a maximum length, because a stranger may have chosen it, and event handlers and log systems store it.
 */
export function originOf(request: FastifyRequest): Origin {
  return {
    requestId: requestIdOf(request),
    ip: request.ip.slice(0, MAX_IP),
    userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null
  }
}

/**
 * The language of messages to the person behind the request: `ui_locales` of the page's address, then
 * `Accept-Language`. `undefined` if neither names a language of the pages.
 */
export function localeOf({ query, headers }: FastifyRequest): string | undefined {
  const { ui_locales: uiLocales } = query as { ui_locales?: unknown }
  return findLocale(typeof uiLocales === 'string' ? wordsOf(uiLocales) : [], headers['accept-language'])
}
