import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TObject } from '@sinclair/typebox'
import type { OAuthError } from '../../errors.ts'
import type { FormModel } from '../../pages/common-model.ts'
import type { PageModels, PageName } from '../../pages/model.ts'
import { serializeParams } from '../../protocol/request-params.ts'
import type { PathName } from '../../settings/paths.ts'
import type { Declaration } from '../edge/callers.ts'
import { localeOf, originOf } from '../edge/request-origin.ts'
import type { Journey, Leave, PageDeps, Submission, Visit } from './deps.ts'
import { attempt, type Attempted, formError } from './errors.ts'
import { type Form, formOf, formPost, pageGet, queryParams } from './page-routes.ts'
import type { PageContent, PageSettings } from './reply.ts'
import { onceUnderWay } from '../../accounts/background.ts'

/** Maximum length of a username that is carried to another page, in characters. The rest is cut off. */
const MAX_NAME = 256

/** Redirects the browser to a URL, which it then opens by GET. */
export function goOn(url: string): Leave {
  return async (reply) => await reply.redirect(url, 303)
}

/** Adds parameters to a path, which may have some already. */
export function withQuery(path: string, params: Record<string, string | undefined> = {}): string {
  const query = serializeParams(params)
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
}

export type FormPageName = { [Name in PageName]: PageModels[Name] extends FormModel ? Name : never }[PageName]

/**
 * A page with a form that posts to the page's own address. `Shown` is the part that differs between two views of the
 * page.
 */
export interface FormPage<Name extends FormPageName, Shown extends object> {
  name: Name
  path: PathName
  /** For the host's API document. */
  summaries: { page: string; form: string }
  /** For the reference page. */
  what: { page: string; form: string }
  /** For the API document: errors besides those that every page and form may show. */
  errors?: { page?: Declaration['errors']; form?: Declaration['errors'] }
  querystring?: TObject
  body: TObject
  /** The fields that the person sees. An error about any other field is shown as an error of the whole form. */
  fields: readonly string[]
  /**
   * True if the page's address contains a token. Then no `Referer` contains the path, and the page answers HEAD, which
   * mail programs may send first.
   */
  tokenInAddress?: true
  /** The journey, if the page's own address does not contain it. */
  journeyOf?(request: FastifyRequest): Promise<Journey>
  /**
   * True if a button of another page can post its `username` here with `decision=carry`. The page then shows the
   * username and does nothing else.
   */
  takesName?: true
  /** True if the answer to the form may redirect to the client, or to another target of the journey. */
  leadsOn?: true
  /**
   * The content for a GET. Must change nothing, and counts as no attempt, because any page can make a browser send a
   * GET. An error is shown as an error page.
   */
  open(visit: Visit): Promise<Shown | Leave>
  /** Reads a posted form. Its error is shown on the form, and counts under no limit. */
  submit(form: Form, visit: Visit): Submission<Shown> | Promise<Submission<Shown>>
  /**
   * The form's content next to the error. Throws the error if another try would not help; then it becomes an error
   * page.
   */
  again(form: Form, refused: OAuthError, visit: Visit): Promise<Shown> | Shown
  content(
    shown: Shown,
    visit: Visit
  ): Omit<PageModels[Name], keyof FormModel> | Promise<Omit<PageModels[Name], keyof FormModel>>
  /**
   * The secret of the request's browser. A second press of a button gets the outcome of the first press while the first
   * is under way. Without a secret, each press does the work.
   */
  secretOf?(request: FastifyRequest): string | undefined
  /** Absolute URLs of images on the page besides the logo of all pages. */
  images?: readonly string[]
  /** The page has a form that asks for a passkey. */
  passkeys?: PageSettings['passkeys']
  /** Parameters of the form's address besides the journey. */
  carries?(shown: Shown, visit: Visit): Record<string, string>
  /** Default 200. A refusal has its own status. */
  statusCode?(shown: Shown): number
}

/** The outcome of a press, and the session cookie that the browser has afterwards. */
interface Press<Shown> {
  outcome: Attempted<Shown | Leave>
  cookie?: string | undefined
}

type FormPageDeps = Pick<
  PageDeps,
  'browser' | 'journeys' | 'limiter' | 'link' | 'minLength' | 'pages' | 'path' | 'waiting'
>

/**
 * Adds the routes of a page with a form. GET shows the page. POST does the work of the form, and then shows the result,
 * shows the form again with the error, or redirects. Only a page of our own may post the form, no answer is cached, and
 * the work is done under the limit of the submission.
 */
export function formPage<Name extends FormPageName, Shown extends object>(
  child: FastifyInstance,
  page: FormPage<Name, Shown>,
  { browser, journeys, limiter, link, minLength, pages, path, waiting }: FormPageDeps
): void {
  const {
    name,
    summaries: { page: pageSummary, form: formSummary },
    what,
    errors = {},
    querystring,
    body,
    fields,
    tokenInAddress = false,
    leadsOn = false
  } = page
  const oncePressed = pressedOnce<Press<Shown>>()

  async function visitOf(request: FastifyRequest, reply: FastifyReply): Promise<Visit> {
    return {
      request,
      reply,
      journey: await (page.journeyOf?.(request) ?? journeys.read(request)),
      origin: originOf(request),
      locale: localeOf(request)
    }
  }

  async function answer(
    visit: Visit,
    reply: FastifyReply,
    next: Shown | Leave,
    refused?: OAuthError
  ): Promise<FastifyReply> {
    if (typeof next === 'function') return await next(reply)
    const {
      request,
      journey: { query, clientName, brand, uiLocales, formActions }
    } = visit
    const settings: PageSettings = {
      statusCode: refused?.statusCode ?? page.statusCode?.(next) ?? 200,
      clientName,
      ...(brand === undefined ? {} : { brand }),
      uiLocales,
      ...(leadsOn ? { formActions } : {}),
      ...(page.images === undefined || page.images.length === 0 ? {} : { images: page.images }),
      ...(tokenInAddress ? { secretAddress: true } : {}),
      ...(page.passkeys === undefined ? {} : { passkeys: page.passkeys })
    }
    return await pages.send(
      request,
      reply,
      name,
      {
        action: withQuery(`${link(page.path)}${query}`, page.carries?.(next, visit)),
        error:
          refused === undefined ? null : formError(refused, request, reply, { pages, fields, uiLocales, minLength }),
        ...(await page.content(next, visit))
      } as unknown as PageContent<Name>,
      settings
    )
  }

  child.get(
    path(page.path),
    {
      ...pageGet({ summary: pageSummary, querystring }, { what: what.page, errors: errors.page }),
      exposeHeadRoute: tokenInAddress
    },
    async (request, reply) => {
      const visit = await visitOf(request, reply)
      return await answer(visit, reply, await page.open(visit))
    }
  )

  child.post(
    path(page.path),
    formPost(
      { summary: formSummary, body, querystring: tokenInAddress ? undefined : querystring },
      { what: what.form, errors: errors.form }
    ),
    async (request, reply) => {
      const visit = await visitOf(request, reply)
      const form = formOf(request)
      if (page.takesName === true && form.decision === 'carry') {
        const { username = '' } = form
        if (username !== '') waiting.carry(reply, visit.journey, username.slice(0, MAX_NAME))
        return await goOn(withQuery(link(page.path), queryParams(request) as Record<string, string>))(reply)
      }
      const press = async (): Promise<Attempted<Shown | Leave>> =>
        await attempt(async () => {
          const { limit, before, work } = await page.submit(form, visit)
          if (before !== undefined) await limiter.reserve(request, reply, before.limit, before.work)
          const alone = async (): Promise<Shown | Leave> => await work({ known: null, isKnown: false, leaves() {} })
          if (limit === null) return await alone()
          return limit === 'failures'
            ? await limiter.countFailure(request, reply, alone)
            : await limiter.reserve(request, reply, limit, work)
        })
      const secret = page.secretOf?.(request)
      const { outcome, cookie }: Press<Shown> =
        secret === undefined
          ? { outcome: await press() }
          : await oncePressed(JSON.stringify([secret, request.url, form]), request, async () => ({
              outcome: await press(),
              cookie: browser.cookieOf(request)
            }))
      // Sets the session cookie of the first press again, because the browser drops the answer to that press.
      if (cookie !== undefined && cookie !== browser.cookieOf(request)) browser.setCookie(reply, cookie)
      if ('done' in outcome) return await answer(visit, reply, outcome.done)
      return await answer(visit, reply, await page.again(form, outcome.refused, visit), outcome.refused)
    }
  )
}

/**
 * Does the work of a button once while it is under way, however often the button is pressed. A double click sends the
 * form twice before the first answer comes, and the browser drops that answer. The second request gets the result of
 * the first. A copy of the proof in another browser does not get that result, if its IP address or user agent differs.
 */
export function pressedOnce<Result>(): (
  proof: string,
  request: FastifyRequest,
  work: () => Promise<Result>
) => Promise<Result> {
  const once = onceUnderWay<Result>()
  return async (proof, request, work) => {
    const { ip, userAgent } = originOf(request)
    return await once(JSON.stringify([proof, ip, userAgent]), work)
  }
}
