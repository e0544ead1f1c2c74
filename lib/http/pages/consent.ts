import { otherAccountUrl } from './parts.ts'
import { isFirstParty, unknownOf } from '../../clients/rights.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { authorize, type AuthorizeOutcome, denyAuthorization } from '../../authorize/authorize.ts'
import type { ClientRequest } from '../../authorize/client-request.ts'
import { allowedOf, type Facts, looksOf, staysSignedIn } from '../../authorize/checks.ts'
import { grantConsent } from '../../authorize/consent.ts'
import { type AuthorizationParams, inAddress, satisfied } from '../../protocol/authorization-params.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'
import { shownScope } from '../../pages/own-texts.ts'
import { digest } from '../../protocol/digest.ts'
import { formActionOf, isPublicNativeRedirect, placeOf } from '../../protocol/redirect-uri.ts'
import { follow, openRequest, sendToClient } from './authorize.ts'
import type { PageDeps } from './deps.ts'
import { withQuery } from './form-page.ts'
import { formOf, formPost, pageGet, queryParam, queryParams } from './page-routes.ts'
import { AuthorizationRequestSchema } from '../edge/schemas.ts'

/**
 * `GET` and `POST /auth/consent`: asks the user whether a third-party client may have what it requests, or whether to
 * continue in a first-party native app. The address contains the authorization request. Each GET and POST decides the
 * request again, so the address itself grants nothing. If there is something to ask, the code is issued only as the
 * answer to the page's form. So a client can't avoid the page.
 */
export function consentPage(child: FastifyInstance, deps: PageDeps): void {
  async function decide(
    request: FastifyRequest
  ): Promise<{ asked: ClientRequest; params: AuthorizationParams; browser: Browser; outcome: AuthorizeOutcome }> {
    const params = deps.authorize.readRequest(queryParams(request))
    const { asked, browser } = await openRequest(params, request, deps)
    return { asked, params, browser, outcome: await authorize(asked, browser, deps.authorize) }
  }

  child.get(
    deps.path('consent'),
    pageGet(
      { summary: 'Consent page', querystring: AuthorizationRequestSchema },
      {
        what:
          'Asks whether a client with `firstParty: false` may have access, with its name, the scopes and ' +
          "the time. A first-party app on a device (`applicationType: 'native'`) asks here whether to " +
          'continue. The address contains the authorization request, which is decided again for each ' +
          'request. A consent is remembered for a year, unless the client asks for more scopes or ' +
          '`app.authority.revokeConsent` takes it back. If there is nothing to ask, the browser is led on.'
      }
    ),
    async (request, reply) => {
      const { params, outcome } = await decide(request)
      return outcome.to === 'consent'
        ? await ask(outcome.facts, params, request, reply, deps)
        : await follow(outcome, params, request, reply, deps)
    }
  )

  const decision = Type.Union([Type.Literal('allow'), Type.Literal('deny')])
  child.post(
    deps.path('consent'),
    formPost(
      {
        summary: 'Allow or deny a client',
        body: Type.Object({ decision }),
        querystring: AuthorizationRequestSchema
      },
      {
        what:
          'Allows or denies by the form of the page, and answers the client. With `response_mode=form_post` ' +
          'the answer is a page whose form posts there. The page asks again if another person has signed in ' +
          'since. Errors go to the client as from the authorization endpoint.'
      }
    ),
    async (request, reply) => {
      const { asked, params, browser, outcome } = await decide(request)
      if (outcome.to !== 'consent') return await follow(outcome, params, request, reply, deps)
      // If another user has signed in in another tab since, the page has asked another person.
      const samePerson = outcome.facts.signedIn?.session.sid === queryParam(request, 'session')
      const samePage = queryParam(request, 'shown') === shownBy(outcome.facts)
      const decided = samePerson && samePage ? formOf(request).decision : undefined
      if (decided === 'deny') return await sendToClient(denyAuthorization(asked, deps.authorize), request, reply, deps)
      if (decided !== 'allow') return await ask(outcome.facts, params, request, reply, deps)
      if (!asksToContinue(outcome.facts)) await grantConsent(outcome.facts, browser.origin, deps.authorize)
      const left = satisfied(params, 'consent')
      return await follow(
        await authorize({ ...asked, params: left }, { ...browser, answered: 'consent' }, deps.authorize),
        left,
        request,
        reply,
        deps
      )
    }
  )
}

/**
 * A digest of the question on the page. A decision counts only for the question that was shown, because the client's
 * registration may change meanwhile.
 */
function shownBy(facts: Facts): string {
  const { client, redirectUri } = facts
  const asked = [client.clientId, client.name, looksOf(client).client, redirectUri, allowedOf(facts)]
  return digest(JSON.stringify(asked)).slice(0, 22)
}

/**
 * True if the page asks only whether to continue. The host's own native app needs no consent. But another app could
 * pretend to be that app, so the user has to see a page. @see RFC 8252 §8.6
 */
function asksToContinue({ client, request }: Facts): boolean {
  return isFirstParty(client) && !request.prompt.includes('consent')
}

async function ask(
  facts: Facts,
  params: AuthorizationParams,
  request: FastifyRequest,
  reply: FastifyReply,
  { authorize, link, pages, scopeTexts }: PageDeps
): Promise<FastifyReply> {
  const {
    client,
    redirectUri,
    signedIn,
    request: { uiLocales }
  } = facts
  const name = client.name ?? client.clientId
  const unknown = unknownOf(client)
  const asked = { session: signedIn?.session.sid, shown: shownBy(facts) }
  return await pages.send(
    request,
    reply,
    'consent',
    {
      action: withQuery(`${link('consent')}?${inAddress(params)}`, asked),
      error: null,
      asks: asksToContinue(facts) ? 'continue' : 'consent',
      username: signedIn?.user.username ?? '',
      otherUrl: otherAccountUrl(link('login'), inAddress(params)),
      client: { name, id: client.clientId, redirectHost: placeOf(redirectUri) },
      unknown:
        unknown === null
          ? null
          : { host: unknown.host, warnsOfProgram: !unknown.isTrusted && isPublicNativeRedirect(redirectUri) },
      scopes: asksToContinue(facts)
        ? []
        : allowedOf(facts).map((one) => shownScope(one, pages.messagesFor(request, { uiLocales }).lang, scopeTexts)),
      lifetimeSeconds: staysSignedIn(facts)
        ? authorize.refreshToken.expiresInMs / 1000
        : authorize.accessTokens.secondsFor(facts.resources[0] ?? null),
      clientLogoUri: client.logoUri ?? null,
      clientUri: client.clientUri ?? null
    },
    {
      clientName: name,
      brand: client.pages,
      uiLocales,
      images: client.logoUri === undefined ? [] : [client.logoUri],
      formActions: [formActionOf(redirectUri, unknown?.redirectSchemes)]
    }
  )
}
