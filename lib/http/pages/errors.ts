import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../errors.ts'
import type { PageError } from '../../pages/common-model.ts'
import type { PageModels } from '../../pages/model.ts'
import { pageErrorOf } from '../../pages/page-error.ts'
import {
  guarded,
  LimitedError,
  logRefusal,
  noStore,
  sendOAuthError,
  serviceError,
  toHostHandler,
  usePlainJson,
  wireError
} from '../edge/error-reply.ts'
import { ProgramError } from './page-routes.ts'
import type { PageReply } from './reply.ts'
import { logLine } from '../../ports/log.ts'

export interface PageErrorDeps {
  pages: PageReply
  /** The way out of an error page: a path or an absolute URL. */
  homeUrl: string
  /** The page that sends a new link, for a route to which an expired link led. `null` for any other route. */
  newLinkFor(route: string | undefined): PageModels['error']['newLink']
}

/**
 * Sends errors of the page routes that are added to `child` afterwards as pages. An error of a handler that is no
 * `OAuthError` becomes 503 or 500 with a constant text. A `ProgramError` is answered with JSON, and a limit with the
 * body of the host's `onLimit`, if it returned one. With `host`, errors of the host's own hooks go to the host's error
 * handler.
 */
export function usePageErrors(child: FastifyInstance, deps: PageErrorDeps, host?: FastifyInstance): void {
  const handOn = host === undefined ? null : toHostHandler(host)
  child.addHook('onRoute', (route) => {
    const { handler } = route
    route.handler = async function (request, reply) {
      return await guarded(async () => await handler.call(this, request, reply))
    }
  })
  // The host's `onLimit` may answer with an object, which is sent as JSON.
  usePlainJson(child)
  child.setErrorHandler((error: FastifyError, request, reply) => {
    const wire = wireError(error)
    if (wire === undefined && handOn !== null) return handOn(error, request, reply)
    const shown = wire ?? serviceError(error)
    return (shown instanceof LimitedError && shown.custom) || shown instanceof ProgramError
      ? sendOAuthError(shown, request, reply)
      : sendErrorPage(shown, request, reply, deps)
  })
}

/** Maximum number of characters of a refused address that a page shows. */
const MOST_SHOWN = 300

/** Encodes white space, so that nobody can put sentences of their own on the page by an address. */
const asOneWord = (address: string): string => address.slice(0, MOST_SHOWN).replace(/\s/g, encodeURIComponent)

/** Sends an error as a page, or as plain text if the page fails. Never rejects. */
export async function sendErrorPage(
  error: OAuthError,
  request: FastifyRequest,
  reply: FastifyReply,
  { pages, homeUrl, newLinkFor }: PageErrorDeps
): Promise<FastifyReply> {
  noStore(reply)
  try {
    const shown = formError(error, request, reply, { pages })
    const newLink = error.error === 'invalid_token' ? newLinkFor(request.routeOptions.url) : null
    // Treats the address as secret, because it may contain the token of a message.
    return await pages.send(
      request,
      reply,
      'error',
      { error: shown, sent: error.sent === undefined ? null : asOneWord(error.sent), homeUrl, newLink },
      { statusCode: error.statusCode, secretAddress: true }
    )
  } catch (failure) {
    // Does not throw, because Fastify would then answer with JSON.
    request.log.error(...logLine('FST_AUTHORITY_PAGE_FAILED', 'an error page could not be made', { err: failure }))
    return reply.code(503).type('text/plain; charset=utf-8').send('The service is not available at the moment.')
  }
}

export type Attempted<T> = { done: T } | { refused: OAuthError }

/**
 * Does the work of a form. Resolves to its result, or to the error for the form. If the host's `onLimit` returned a
 * body, the body replaces the page, so the error is thrown.
 * @throws LimitedError with a body of the host's own
 */
export async function attempt<T>(work: () => Promise<T>): Promise<Attempted<T>> {
  try {
    return { done: await guarded(work) }
  } catch (error) {
    if (!(error instanceof OAuthError) || (error instanceof LimitedError && error.custom)) throw error
    return { refused: error }
  }
}

interface FormErrorSettings {
  pages: Pick<PageReply, 'messagesFor'>
  /** The fields of the form. An error about any other field is shown as an error of the whole form. */
  fields?: readonly string[]
  uiLocales?: readonly string[]
  /** The minimum length of a new password, in code points. */
  minLength?: number
}

/** Logs a refusal, sets its headers, and returns the error that a page shows, in the page's language. */
export function formError(
  error: OAuthError,
  request: FastifyRequest,
  reply: FastifyReply,
  { pages, fields = [], uiLocales = [], minLength }: FormErrorSettings
): PageError {
  logRefusal(error, request)
  for (const [name, value] of Object.entries(error.headers)) reply.header(name, value)
  // An error about a field that the person does not see is shown in general words.
  const hidden = error.field !== undefined && !fields.includes(error.field)
  const shown = hidden ? new OAuthError(error.error, error.message, { headers: error.headers }) : error
  return pageErrorOf(shown, pages.messagesFor(request, { uiLocales }), minLength === undefined ? {} : { minLength })
}
