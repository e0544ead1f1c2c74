import type { FastifyInstance, FastifyRequest, FastifySchema, onRequestHookHandler } from 'fastify'
import type { TObject } from '@sinclair/typebox'
import { OAuthError } from '../errors.ts'
import { isSameOrigin } from '../protocol/same-origin.ts'
import { parseForm } from './body.ts'
import { noStoreHook } from './error-reply.ts'
import { describeRoute } from './schemas.ts'

/** Bytes. */
export const FORM_LIMIT = 16_384

/** A posted form: each field was sent once. It has no prototype, so a field can have any name. */
export type Form = Readonly<Record<string, string>>

/** The one parser of page routes: forms as browsers send them by themselves. Everything else is 415. */
export function registerFormParser (child: FastifyInstance): void {
  child.removeAllContentTypeParsers()
  child.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, parseForm(body as string))
    } catch (error) {
      done(error as Error)
    }
  })
}

/**
 * Lets a form post in only from a page of our own. An `onRequest` hook: what another site sends is not even parsed, and counts
 * under no limit, or any site could use up its visitor's attempts.
 */
export function sameOriginOnly (issuer: string): onRequestHookHandler {
  return (request, _reply, done) => {
    if (isSameOrigin(request.headers, issuer)) done()
    else done(new OAuthError('access_denied', 'The form was not sent from a page of this site.', { reason: 'cross_site', detail: 'Sec-Fetch-Site and Origin' }))
  }
}

interface FormPost { bodyLimit: number, schema: FastifySchema, validatorCompiler: () => () => boolean, onRequest: onRequestHookHandler[] }

/** The settings of a route that a form of ours posts to. */
export function formPost (issuer: string, { summary, body }: { summary: string, body: TObject }): FormPost {
  return {
    bodyLimit: FORM_LIMIT,
    schema: describeRoute({ summary, consumes: ['application/x-www-form-urlencoded'], body }),
    // The schema is for the host's document: what does not fit is shown on the form itself.
    validatorCompiler: () => () => true,
    onRequest: [noStoreHook, sameOriginOnly(issuer)]
  }
}

interface PageGet { exposeHeadRoute: false, schema: FastifySchema, validatorCompiler: () => () => boolean, onRequest: onRequestHookHandler }

/** The settings of a route that shows a page. */
export function pageGet ({ summary, querystring }: { summary: string, querystring?: TObject }): PageGet {
  return {
    exposeHeadRoute: false,
    schema: describeRoute({ summary, ...(querystring === undefined ? {} : { querystring }) }),
    validatorCompiler: () => () => true,
    onRequest: noStoreHook
  }
}

/** A post without a body, and so without a content type, is an empty form. */
export function formOf (request: FastifyRequest): Form {
  return (request.body ?? Object.create(null)) as Form
}

/**
 * The parameters of the page's own address. The host's query string parser is not asked: it may make anything of them.
 * @throws OAuthError `invalid_request` on a repeated parameter
 */
export function queryParams (request: FastifyRequest): Form {
  // As the router reads it: what follows a # is no query, whatever is in it.
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(request.url) ?? []
  return parseForm(query)
}

/** One of them; `''` where it is missing. */
export function queryParam (request: FastifyRequest, name: string): string {
  return queryParams(request)[name] ?? ''
}
