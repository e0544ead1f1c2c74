import { OAuthError } from '../../errors.ts'
import { isNative, unknownOf, BY_TOKEN } from '../../clients/rights.ts'
import type { ClientLookup } from '../../ports/client-store.ts'
import { byStranger } from '../edge/cors.ts'
import type { RequestLimiter } from '../edge/limit.ts'
import { clientRequest } from '../../authorize/client-request.ts'
import type { AuthorizeDeps } from '../../authorize/deps.ts'
import { serializeParams } from '../../protocol/request-params.ts'
import {
  type AuthorizationParams,
  carried,
  inAddress,
  satisfied,
  wantsSignUp,
  wordsOf
} from '../../protocol/authorization-params.ts'
import { formActionOf } from '../../protocol/redirect-uri.ts'
import { localPath } from '../../protocol/same-origin.ts'
import { parseForm, type SentParams } from '../edge/body.ts'
import type { Journey, Journeys } from './deps.ts'
import { queryParams } from './page-routes.ts'

/**
 * True if an existing session may not be enough for the request, because the request can require a recent sign-in or a
 * second factor.
 * @see OpenID Connect Core 1.0 §3.1.2.1
 */
function asksMore({ prompt, max_age: maxAge, acr_values: acrValues, claims }: AuthorizationParams): boolean {
  return wordsOf(prompt).includes('login') || maxAge !== undefined || acrValues !== undefined || claims !== undefined
}

/** Reads a journey from the address of the page, so that nothing is stored for people who have not signed in. */
export function createJourneys(
  deps: AuthorizeDeps,
  {
    authorizeUrl,
    homeUrl,
    limiter
  }: { authorizeUrl: string; homeUrl: string; limiter: Pick<RequestLimiter, 'countWork'> }
): Journeys {
  async function journeyOf(query: SentParams, asking: ClientLookup): Promise<Journey> {
    const params = deps.readRequest(query)
    if (params.client_id === undefined) {
      const next = localPath(typeof query.return_to === 'string' ? query.return_to : undefined, deps.issuer)
      const kept = serializeParams({ return_to: next ?? undefined, ui_locales: params.ui_locales })
      return {
        query: kept === '' ? '' : `?${kept}`,
        clientName: null,
        uiLocales: wordsOf(params.ui_locales),
        formActions: [],
        asksAll: wordsOf(params.prompt).includes('login'),
        loginHint: params.login_hint,
        wantsSignUp: wantsSignUp(params),
        next: next ?? homeUrl,
        nativeRequest: null
      }
    }
    const { client, redirectUri } = await clientRequest(params, deps, asking)
    return {
      query: `?${carried(params)}`,
      clientName: client.name ?? client.clientId,
      brand: client.pages,
      uiLocales: wordsOf(params.ui_locales),
      formActions: [formActionOf(redirectUri, unknownOf(client)?.redirectSchemes)],
      asksAll: asksMore(params) || client.acr !== undefined,
      loginHint: params.login_hint,
      wantsSignUp: wantsSignUp(params),
      next: `${authorizeUrl}?${inAddress(satisfied(params, 'login'))}`,
      nativeRequest: isNative(client) ? { params: satisfied(params, 'login'), client, redirectUri } : null
    }
  }

  return {
    read: async (request) => await journeyOf(queryParams(request), byStranger(request, limiter)),
    from: async (query) => await journeyOf(parseForm(query.slice(1)), BY_TOKEN),
    async kept(query) {
      try {
        return await journeyOf(parseForm((query ?? '').slice(1)), BY_TOKEN)
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        return await journeyOf({}, BY_TOKEN)
      }
    }
  }
}
