import { isLoopbackHost } from '../../protocol/redirect-uri.ts'
import type { FastifyInstance, FastifyRequest, FastifySchema, onRequestHookHandler } from 'fastify'
import type { TObject } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'
import { addFormParser, BODY_LIMIT, parseForm, type SentParams } from '../edge/body.ts'
import { callableBy, type CallersConfig, type Declaration } from '../edge/callers.ts'
import { noStoreHook } from '../edge/error-reply.ts'
import { describeRoute } from '../edge/schemas.ts'

/** A posted form: each field was sent once. It has no prototype, so a field can have any name. */
export type Form = Readonly<Record<string, string>>

/** Refuses JSON that a program posted to a page. The answer is JSON too. */
export class ProgramError extends OAuthError {
  constructor(tokenPath: string) {
    super('invalid_request', `This is a page, which takes forms of browsers. Programs sign in at POST ${tokenPath}.`, {
      withoutStack: true,
      statusCode: 415,
      detail: 'JSON was posted to a page'
    })
  }
}

/**
 * The one parser of page routes, for forms as browsers send them. Any other content type is 415. Refuses JSON of a
 * program before all other checks, so that the error names the right endpoint and not an expired page. Exempts hidden
 * routes, so that they do not reveal that they exist.
 */
export function registerFormParser(child: FastifyInstance, tokenPath: string): void {
  child.removeAllContentTypeParsers()
  child.addHook('onRequest', ({ method, headers, routeOptions }, _reply, done) => {
    const { fastifyAuthority }: Partial<CallersConfig> = routeOptions.config
    const { 'content-type': type = '', 'sec-fetch-site': site, origin } = headers
    // Every browser sends `Sec-Fetch-Site` or `Origin` with a post.
    const isProgram =
      method === 'POST' && site === undefined && origin === undefined && fastifyAuthority?.isHidden !== true
    done(isProgram && /^application\/json(?:[;\s]|$)/i.test(type) ? new ProgramError(tokenPath) : undefined)
  })
  addFormParser(child)
}

interface FormPost {
  config: CallersConfig
  bodyLimit: number
  schema: FastifySchema
  validatorCompiler: () => () => boolean
  onRequest: onRequestHookHandler
}

/** The settings of a route to which a hosted form posts. */
export function formPost(
  { summary, body, querystring }: { summary: string; body: TObject; querystring?: TObject | undefined },
  declared: Omit<Declaration, 'callers'> = {}
): FormPost {
  return {
    ...postFromAnyPage({
      summary,
      consumes: ['application/x-www-form-urlencoded'],
      body,
      ...(querystring === undefined ? {} : { querystring })
    }),
    ...callableBy('own_page', declared)
  }
}

/** The settings of a route to which pages of clients post too. The post alone must not change anything. */
export function postFromAnyPage(
  described: Parameters<typeof describeRoute>[0],
  declared: Omit<Declaration, 'callers'> = {}
): FormPost {
  return {
    ...callableBy('anyone', { fromAnyPage: true, ...declared }),
    bodyLimit: BODY_LIMIT,
    schema: describeRoute(described),
    // The schema is only for the host's API document. The form itself shows errors of its fields.
    validatorCompiler: () => () => true,
    onRequest: noStoreHook
  }
}

interface PageGet {
  config: CallersConfig
  exposeHeadRoute: false
  schema: FastifySchema
  validatorCompiler: () => () => boolean
  onRequest: onRequestHookHandler
}

/** The settings of a route that shows a page. */
export function pageGet(
  { summary, querystring }: { summary: string; querystring?: TObject | undefined },
  declared: Omit<Declaration, 'callers'> = {}
): PageGet {
  return {
    ...callableBy('anyone', declared),
    exposeHeadRoute: false,
    schema: describeRoute({ summary, ...(querystring === undefined ? {} : { querystring }) }),
    validatorCompiler: () => () => true,
    onRequest: noStoreHook
  }
}

/** The posted form of a client. A post without a body, and so without a content type, is an empty form. */
export function sentForm(request: FastifyRequest): SentParams {
  return (request.body ?? Object.create(null)) as SentParams
}

/**
 * The posted form of one of our own pages, without the white space at the ends that keyboards and copied text leave. A
 * field with `password` in its name stays as it was typed.
 * @throws OAuthError `invalid_request` on a repeated field
 */
export function formOf(request: FastifyRequest): Form {
  const form = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(sentForm(request))) {
    if (typeof value !== 'string') throw new OAuthError('invalid_request', 'A field of the form is repeated.')
    form[name] = name.includes('password') ? value : value.trim()
  }
  return form
}

/**
 * Returns the fields of these names. Refuses an empty or missing field before anything is counted, because a slip of
 * the person is no attempt.
 * @throws OAuthError `invalid_request` naming the first such field
 */
export function required<Name extends string>(form: Form, names: readonly Name[]): Record<Name, string> {
  const missing = names.find((name) => (form[name] ?? '') === '')
  if (missing !== undefined)
    throw new OAuthError('invalid_request', `${missing}: it is required.`, { field: missing, reason: 'required' })
  return form as Record<Name, string>
}

/** The parameters of the page's own address. Does not use the host's query string parser, which may be of any kind. */
export function queryParams(request: FastifyRequest): SentParams {
  return parseForm(queryOf(request))
}

/** The query of the page's own address, as the router reads it: it ends at a `#`. */
export function queryOf({ url }: Pick<FastifyRequest, 'url'>): string {
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? []
  return query
}

/**
 * A parameter of the page's own address; `''` if it is missing.
 * @throws OAuthError `invalid_request` if it is repeated
 */
export function queryParam(request: FastifyRequest, name: string): string {
  const value = queryParams(request)[name] ?? ''
  if (typeof value !== 'string') throw new OAuthError('invalid_request', `${name} must be a string, sent once.`)
  return value
}

/** The token of the page behind a link: from the posted form, or from the address of a GET. */
export const tokenIn = (request: FastifyRequest): string =>
  request.method === 'POST' ? (formOf(request).token ?? '') : queryParam(request, 'token')

const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via']

/**
 * For a loopback issuer: redirects a browser to the issuer's origin if it opened a page under another name of this
 * machine, such as the `http://127.0.0.1:3000` that Fastify prints. Cookies, forms and the page's policy belong to the
 * issuer's origin. The port must be the issuer's. A request that came through a proxy stays, because its `Host` may not
 * be what the browser asked for.
 */
export function leadToIssuer(child: FastifyInstance, issuer: string): void {
  const { origin, protocol, hostname, host, port } = new URL(issuer)
  if (!isLoopbackHost(hostname)) return
  child.addHook('onRequest', (request, reply, done) => {
    const { method, headers, originalUrl } = request
    const address = `${protocol}//${request.host}`
    const asked = URL.canParse(address) ? new URL(address) : null
    if (
      method === 'GET' &&
      // Excludes an absolute URL, and anything else that a server may get instead of a path.
      originalUrl.startsWith('/') &&
      asked !== null &&
      asked.host !== host &&
      asked.port === port &&
      isLoopbackHost(asked.hostname) &&
      !FORWARDED.some((name) => headers[name] !== undefined)
    )
      reply.header('cache-control', 'no-store').redirect(`${origin}${originalUrl}`, 307)
    else done()
  })
}
