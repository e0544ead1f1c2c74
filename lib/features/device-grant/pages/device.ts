import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { freshnessIn, mayChange } from '../../../accounts/fresh-sign-in.ts'
import { missingStepOf } from '../../../authorize/deps.ts'
import { contextFor, requiredAcr } from '../../../authorize/requested-context.ts'
import { OAuthError } from '../../../errors.ts'
import { andBack, isFromHere, signInUrl } from '../../../http/pages/account-page.ts'
import type { Leave, PageDeps, Visit } from '../../../http/pages/deps.ts'
import { formPage, goOn, withQuery } from '../../../http/pages/form-page.ts'
import { pathOfStep } from '../../../http/pages/lead-on.ts'
import { otherAccountUrl } from '../../../http/pages/parts.ts'
import { queryParam, required } from '../../../http/pages/page-routes.ts'
import { shownScope } from '../../../pages/own-texts.ts'
import type { Client } from '../../../ports/client-store.ts'
import type { DeviceRequest, DeviceStore } from '../../../ports/device-store.ts'
import type { AuthenticationContext } from '../../../protocol/authentication.ts'
import { serializeParams } from '../../../protocol/request-params.ts'
import { deviceIdOf, readUserCode, shownUserCode } from '../../../protocol/credential.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import { allowDevice } from '../requests.ts'

const PATH = 'devicePage'
/** Maximum number of wrong codes of all people together in the time window of the rule. */
const MOST_WRONG_CODES = 1000
/** Counts wrong codes apart from the requests of devices. The limit of the rule `device` applies to each IP address. */
const APART = { name: 'user codes', together: MOST_WRONG_CODES, ofAddress: 1 }

interface Waiting {
  request: DeviceRequest
  client: Client
}

interface Shown {
  userCode: string
  person: SignedInPerson | null
  waiting: Waiting | null
}

/**
 * The page on which a person enters the code of a device. Each time, and for every client, the page requires the code,
 * a sign-in of the last five minutes (with the second factor, if the user has one), and consent. A URL with a code only
 * fills in the form. The page looks up no code before the person has signed in, so that strangers can't guess codes.
 * @see RFC 8628 §3.3, §5.4
 */
export function devicePage(child: FastifyInstance, deps: PageDeps, devices: DeviceStore): void {
  const { authorize, browser, link, pages, scopeTexts } = deps
  const { accounts } = authorize
  const withDevices = { ...authorize, devices }

  /** Returns the visit with the code in its query, so that the code is filled in when the person returns. */
  const backWith = (userCode: string, visit: Visit): Visit => ({
    ...visit,
    journey: {
      ...visit.journey,
      query: userCode === '' ? '' : `?${serializeParams({ user_code: shownUserCode(userCode) })}`
    }
  })

  /** Returns a redirect to the sign-in or re-authentication page. `null`: the sign-in is recent enough. */
  async function signInFirst(person: SignedInPerson | null, visit: Visit): Promise<Leave | null> {
    if (person === null) return goOn(andBack('login', PATH, visit, deps))
    return (await mayChange('device', freshnessIn(person, visit.origin), accounts))
      ? null
      : goOn(signInUrl(PATH, { ...visit, person }, deps))
  }

  /**
   * Returns the authentication context of this sign-in for the client, or a redirect to a step that the client needs.
   * @throws OAuthError `unmet_authentication_requirements` if no step of this service could satisfy the client
   */
  async function contextAt(
    client: Client,
    person: SignedInPerson,
    visit: Visit
  ): Promise<AuthenticationContext | Leave> {
    const request = { maxAge: undefined, acrValues: [], claims: {} }
    const possible = requiredAcr(request, client)?.filter((value) => authorize.acrValues.includes(value)) ?? null
    const authentication = contextFor(request, possible, person.session)
    const missing = await missingStepOf(
      person,
      { request, client, possible, authentication, remembered: undefined, now: accounts.clock.now() },
      authorize.slots
    )
    if (missing === 'sign_in') return goOn(signInUrl(PATH, { ...visit, person }, deps))
    if (missing !== null) return goOn(andBack(pathOfStep(missing), PATH, visit, deps))
    if (authentication !== null) return authentication
    throw new OAuthError('unmet_authentication_requirements', 'This client needs a stronger sign-in.', {
      reason: 'sign_in_too_weak'
    })
  }

  /** Claims the request for this session. @throws OAuthError `invalid_code`, with the same text for every reason */
  async function claim(userCode: string, { session }: SignedInPerson): Promise<Waiting> {
    const request = await devices.claim(deviceIdOf(userCode), session.sid, accounts.clock.now())
    const client = request === null ? null : await authorize.clients.findById(request.clientId)
    if (request === null || client === null) throw wrongCode('device_code_wrong')
    return { request, client }
  }

  formPage<'device', Shown>(
    child,
    {
      name: 'device',
      path: PATH,
      summaries: { page: 'Page for the code of a device', form: 'Enter the code of a device, and allow or deny it' },
      errors: {
        form: {
          400: ['invalid_code', 'unmet_authentication_requirements'],
          429: { too_many_requests: 'rule `device`' }
        }
      },
      what: {
        page:
          'The page of the device grant, at `deviceGrant.path`. It asks for the `user_code`. An address with ' +
          '`user_code` fills it in.',
        form:
          'Takes the `user_code`, with a sign-in of the last five minutes, and then asks whether the client may have ' +
          'access, also for a first-party client. `decision` is `allow` or `deny`, with the same `user_code`. Only ' +
          'the session that entered the code decides.'
      },
      body: Type.Object({
        user_code: Type.String({ maxLength: 64 }),
        decision: Type.Optional(Type.Union([Type.Literal('allow'), Type.Literal('deny')]))
      }),
      querystring: Type.Object({ user_code: Type.Optional(Type.String()) }),
      fields: ['user_code'],
      async open(visit) {
        const done = queryParam(visit.request, 'done')
        if ((done === 'allowed' || done === 'denied') && isFromHere(visit.request)) return tellDone(done, visit)
        const person = await browser.signedIn(visit.request)
        return { userCode: readUserCode(queryParam(visit.request, 'user_code')) ?? '', person, waiting: null }
      },
      async submit(form, visit) {
        const userCode = readUserCode(required(form, ['user_code']).user_code)
        if (userCode === null) throw wrongCode('device_code_form')
        const person = await browser.signedIn(visit.request)
        const led = await signInFirst(person, backWith(userCode, visit))
        if (person === null || led !== null) return { limit: null, work: async () => led ?? goOn(link(PATH)) }
        const isTheirs = queryParam(visit.request, 'session') === person.session.sid
        return {
          limit: { rule: 'device', userId: person.user.id, apart: APART },
          async work() {
            const waiting = await claim(userCode, person)
            const authentication = await contextAt(waiting.client, person, backWith(userCode, visit))
            if (typeof authentication === 'function') return authentication
            if (form.decision === undefined || !isTheirs) return { userCode, person, waiting }
            const { origin } = visit
            const isAllowed = form.decision === 'allow'
            const isDecided = isAllowed
              ? await allowDevice({ ...waiting, person, authentication, origin }, withDevices)
              : await devices.decide({
                  id: waiting.request.id,
                  sid: person.session.sid,
                  now: accounts.clock.now(),
                  codeId: null
                })
            if (!isDecided) throw wrongCode('device_code_wrong')
            return goOn(withQuery(link(PATH), { done: isAllowed ? 'allowed' : 'denied' }))
          }
        }
      },
      async again(form, _refused, visit) {
        const person = await browser.signedIn(visit.request)
        return {
          userCode: readUserCode(form.user_code ?? '') ?? (form.user_code ?? '').slice(0, 64),
          person,
          waiting: null
        }
      },
      content({ userCode, person, waiting }, visit) {
        const shown = readUserCode(userCode) === null ? userCode : shownUserCode(userCode)
        const { lang } = pages.messagesFor(visit.request, visit.journey)
        const back = serializeParams({ return_to: withQuery(link(PATH), shown === '' ? {} : { user_code: shown }) })
        return {
          userCode: shown,
          username: person?.user.username ?? null,
          // Offers no other account once the code is claimed, because only the session that claimed it may decide.
          otherUrl: person === null || waiting !== null ? null : otherAccountUrl(link('login'), back),
          request:
            waiting === null
              ? null
              : {
                  client: { name: waiting.client.name ?? waiting.client.clientId, id: waiting.client.clientId },
                  clientUri: waiting.client.clientUri ?? null,
                  scopes: [...waiting.request.resources, ...waiting.request.scope.split(' ')].map((one) =>
                    shownScope(one, lang, scopeTexts)
                  ),
                  lifetimeSeconds: lifetimeOf(waiting.request),
                  askedAt: waiting.request.createdAt,
                  ip: waiting.request.ip,
                  userAgent: waiting.request.userAgent
                }
        }
      },
      carries: ({ person, waiting }): Record<string, string> =>
        person === null || waiting === null ? {} : { session: person.session.sid },
      secretOf: (request) => browser.cookieOf(request)
    },
    deps
  )

  const tellDone =
    (done: 'allowed' | 'denied', { request, journey: { uiLocales } }: Visit): Leave =>
    async (reply) =>
      await pages.send(
        request,
        reply,
        'device_done',
        { allowed: done === 'allowed', homeUrl: deps.homeUrl },
        { uiLocales }
      )

  /**
   * Returns the lifetime of the access in seconds: with `offline_access` that of the refresh token, else of the access
   * token.
   */
  function lifetimeOf({ scope, resources }: DeviceRequest): number {
    if (scope.split(' ').includes('offline_access')) return authorize.refreshToken.expiresInMs / 1000
    const target = authorize.resources.find(({ resource }) => resource === resources[0]) ?? null
    return authorize.accessTokens.secondsFor(target)
  }
}

const wrongCode = (reason: 'device_code_form' | 'device_code_wrong'): OAuthError =>
  new OAuthError('invalid_code', 'The code is wrong, or has expired.', {
    field: 'user_code',
    reason,
    withoutStack: true
  })
