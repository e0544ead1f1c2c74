import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import type { OAuthError } from '../../../errors.ts'
import { freshnessIn, furtherProof } from '../../../accounts/fresh-sign-in.ts'
import { ADMIN_SIGN_IN } from '../../../http/edge/admin-guard.ts'
import { crossSite } from '../../../http/edge/origin-guard.ts'
import type { Declaration } from '../../../http/edge/callers.ts'
import { removeCorsHeaders } from '../../../http/edge/cors.ts'
import { guarded, noStore } from '../../../http/edge/error-reply.ts'
import { localeOf, originOf } from '../../../http/edge/request-origin.ts'
import { andBack, type PersonVisit, signInUrl } from '../../../http/pages/account-page.ts'
import { attempt, type Attempted, formError } from '../../../http/pages/errors.ts'
import { pressedOnce } from '../../../http/pages/form-page.ts'
import { type Form, formOf, pageGet, postFromAnyPage } from '../../../http/pages/page-routes.ts'
import { answerAsUnknown } from '../../../http/pages/reply.ts'
import { isEnough } from '../../../protocol/bearer.ts'
import { ADMIN_SCOPES } from '../../../protocol/scope.ts'
import { digest } from '../../../protocol/digest.ts'
import { isFromOwnPage } from '../../../protocol/same-origin.ts'
import { adminDocument, type AdminPage, type AdminPageDeps, type AdminVisit, type Answer, type View } from './frame.ts'

/** Maximum number of sent forms whose redirects a page remembers. */
const MOST_ANSWERED = 1000
const FORM = 'application/x-www-form-urlencoded'
const REFUSALS = { 404: 'not_found', 429: { too_many_requests: 'rule `admin`' } } as const

/**
 * Adds a page of administration. A signed-in person without the scope of the page gets the host's answer for an unknown
 * path, so that the page does not reveal its existence.
 */
export function adminPage(child: FastifyInstance, page: AdminPage, deps: AdminPageDeps): void {
  const { pages } = deps
  const { form } = page
  const { browser, limiter, link, authorize } = pages
  const { accounts } = authorize
  const visits = new WeakMap<FastifyRequest, AdminVisit>()
  const strangers = new WeakSet<FastifyRequest>()
  const answered = new Map<string, Attempted<Answer>>()
  const once = pressedOnce<Attempted<Answer>>()

  /** Builds the path below `/auth/admin` from the params, because the raw URL could redirect the browser elsewhere. */
  const pathIn = ({ params }: FastifyRequest): string =>
    page.path.replaceAll(/:(\w+)/g, (_all, name: string) =>
      encodeURIComponent((params as Record<string, string | undefined>)[name] ?? '')
    )

  async function visitOf(request: FastifyRequest, reply: FastifyReply): Promise<Omit<PersonVisit, 'person'>> {
    const [, query = ''] = /(\?[^#]*)/.exec(request.url) ?? []
    return {
      request,
      reply,
      // After a sign-in the browser returns to this page. A form that was sent is not sent again.
      journey: { ...(await pages.journeys.kept(null)), query: `${pathIn(request)}${query}` },
      origin: originOf(request),
      locale: localeOf(request)
    }
  }

  async function isFresh({ person, origin }: AdminVisit): Promise<boolean> {
    const { authentication } = freshnessIn(person, origin)
    if (!isEnough(authentication, ADMIN_SIGN_IN, accounts.clock.now())) return false
    const further = await furtherProof(person.user, accounts)
    return further === null || further(authentication)
  }

  /**
   * Checks that the visitor may see the page. Resolves to `null` after sending a redirect or the host's answer for an
   * unknown path.
   */
  async function enter(request: FastifyRequest, reply: FastifyReply): Promise<AdminVisit | null> {
    const person = await browser.signedIn(request)
    const leave = async (url: string): Promise<null> => {
      noStore(reply)
      await reply.redirect(url, 303)
      return null
    }
    if (person === null) return await leave(andBack('login', 'admin', await visitOf(request, reply), pages))
    const given = await deps.allow({ user: person.user, client: null, scopes: [...ADMIN_SCOPES] })
    const scopes = ADMIN_SCOPES.filter((scope) => given.includes(scope))
    if (!scopes.includes(page.scope)) {
      strangers.add(request)
      answerAsUnknown(reply)
      return null
    }
    const visit: AdminVisit = {
      ...(await visitOf(request, reply)),
      person,
      scopes,
      user: person.user,
      client: null,
      by: { type: 'user', id: person.user.id },
      url: `${link('admin')}${pathIn(request)}`,
      formId: accounts.random.id()
    }
    if (!(await isFresh(visit))) return await leave(signInUrl('admin', visit, pages))
    noStore(reply)
    // Requests from another subdomain, such as for an image, also carry the cookie. They must not use up the rate
    // limit.
    const { 'sec-fetch-dest': goal = 'document' } = request.headers
    if (!isFromOwnPage(request, accounts.issuer) && (request.method === 'POST' || goal !== 'document'))
      throw crossSite()
    await limiter.reserve(request, reply, { rule: 'admin', userId: person.user.id }, async () => {})
    return visit
  }

  async function gate(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const visit = await guarded(async () => await enter(request, reply))
    if (visit === null) return reply
    visits.set(request, visit)
    return undefined
  }

  /** Removes CORS headers, so that no other origin reads the page. Keeps those of the host's "unknown path" answer. */
  const withoutCors: onSendHookHandler = (request, reply, payload, done) => {
    if (!strangers.has(request)) removeCorsHeaders(reply)
    done(null, payload)
  }

  function entered(request: FastifyRequest): AdminVisit {
    const visit = visits.get(request)
    if (visit === undefined) throw new Error('The gate let nobody in.')
    return visit
  }

  async function answer(outcome: Attempted<Answer>, visit: AdminVisit): Promise<FastifyReply> {
    const { request, reply } = visit
    const done = 'done' in outcome ? outcome.done : refusalOf(outcome.refused)
    if (typeof done === 'function') return await done(reply)
    // Only logs the error and sets its headers. The page is rendered below.
    if (done.error) formError(done.error, request, reply, { pages: pages.pages, uiLocales: ['en'] })
    return await adminDocument(done, visit, pages)
  }

  const shownTo = async (visit: AdminVisit): Promise<Attempted<Answer>> =>
    await attempt(async () => await page.show(visit))

  /**
   * Runs a form once in this process. A repeated form gets the first redirect again, so that the action does not run
   * twice. A form that failed runs again.
   */
  async function submitted(
    form: NonNullable<AdminPage['form']>,
    sent: Form,
    visit: AdminVisit
  ): Promise<Attempted<Answer>> {
    const { request } = visit
    const proof = digest(JSON.stringify([browser.cookieOf(request), request.url, sent]))
    const former = answered.get(proof)
    if (former !== undefined) return former
    return await once(proof, request, async () => {
      const outcome = await attempt(async () => await form.submit(sent, visit))
      if ('done' in outcome && typeof outcome.done === 'function') {
        const [oldest] = answered.keys()
        if (answered.size >= MOST_ANSWERED && oldest !== undefined) answered.delete(oldest)
        answered.set(proof, outcome)
      }
      return outcome
    })
  }

  const declared = (what: string): Omit<Declaration, 'callers'> => ({ what, errors: REFUSALS, isHidden: true })
  const hooks = { onRequest: gate, onSend: withoutCors }
  const path = `${pages.path('admin')}${page.path}`
  child.get(path, { ...pageGet({ summary: page.summary }, declared(page.what)), ...hooks }, async (request) => {
    const visit = entered(request)
    return await answer(await shownTo(visit), visit)
  })
  if (form === undefined) return
  child.post(
    path,
    {
      // `enter` itself refuses forms from other sites, because people without the scope must see an unknown path.
      ...postFromAnyPage({ summary: form.summary, consumes: [FORM], body: form.body }, declared(form.what)),
      ...hooks
    },
    async (request) => {
      const visit = entered(request)
      const sent = formOf(request)
      // The form is from another administrator's page, or from a session that has ended.
      if (sent.session !== visit.person.session.sid) return await answer(withNote(await shownTo(visit)), visit)
      return await answer(await submitted(form, sent, visit), visit)
    }
  )
}

const refusalOf = (error: OAuthError): View => ({
  heading: error.statusCode === 404 ? 'Not found' : 'This did not work',
  content: null,
  error
})

function withNote(outcome: Attempted<Answer>): Attempted<Answer> {
  if (!('done' in outcome) || typeof outcome.done === 'function') return outcome
  const text = 'Nothing was changed, because the form was of another sign-in. Try again.'
  return { done: { ...outcome.done, note: { text, isDone: false } } }
}
