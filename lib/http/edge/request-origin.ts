import type { FastifyRequest } from 'fastify'
import type { Origin } from '../../sessions/sessions.ts'
import { findLocale } from '../../pages/texts.ts'
import { MAX_USER_AGENT } from '../../protocol/bounds.ts'
import { wordsOf } from '../../protocol/authorization-params.ts'

/** Visible ASCII, as in ids of requests and traces. If a host sets `requestIdHeader`, any client chooses them. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
const OTHERS = /[^\x21-\x7e]/g
const MAX_REQUEST_ID = 128
/** An IPv6 address with the name of a zone is shorter. With `trustProxy: true`, it is whatever a header says. */
const MAX_IP = 64

/** `request.id`, cut after 128 characters, and with `_` for each that is not visible ASCII. */
export function requestIdOf({ id }: Pick<FastifyRequest, 'id'>): string {
  return REQUEST_ID.test(id) ? id : id.slice(0, MAX_REQUEST_ID).replaceAll(OTHERS, '_')
}

/**
 * The origin and the id of a request, for events. `request.ip` is Fastify's, so it obeys the host's `trustProxy`. A
 * stranger may have sent any of it, so each part has a bound: a handler keeps it, and log systems index it.
 */
export function originOf(request: FastifyRequest): Origin {
  return {
    requestId: requestIdOf(request),
    ip: request.ip.slice(0, MAX_IP),
    userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null
  }
}

/**
 * The language of messages to the person behind the request: that of the page that posted it, so `ui_locales` of the
 * address before `Accept-Language`; `undefined` if neither names a language of the pages.
 */
export function localeOf({ query, headers }: FastifyRequest): string | undefined {
  const { ui_locales: uiLocales } = query as { ui_locales?: unknown }
  return findLocale(typeof uiLocales === 'string' ? wordsOf(uiLocales) : [], headers['accept-language'])
}
