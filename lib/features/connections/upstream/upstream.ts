import * as oauth from 'oauth4webapi'
import { UpstreamError } from '../../../errors.ts'
import type { Clock } from '../../../ports/clock.ts'
import { withoutSecrets } from '../../../ports/log.ts'
import type { Outbound } from '../../../ports/outbound.ts'
import type { Assertion, UpstreamClient } from '../../../ports/provider.ts'
import type { Upstream, UpstreamFlow, UpstreamResult, UpstreamTokens } from '../../../ports/upstream.ts'
import { type Distance, nearer, PRIVATE_NETWORK, THIS_MACHINE } from '../../../protocol/distance.ts'
import { checkUpstreamAnswer } from '../../../protocol/upstream-answer.ts'
import { clientAuthentication, keySetAt, metadataOf } from './metadata.ts'
import { engineFetch, failing, inTime, refusal, tokensOf, type UpstreamReports, watchOutages } from './engine.ts'
import {
  askProvider,
  type ProviderAnswer,
  type ProviderRequest,
  type Reach,
  kept
} from '../../../adapters/upstream/ask-provider.ts'
import { appTokenClaims, decoded, mergedClaims, resultOf, signatureCheck } from './result.ts'

const METADATA_MAX_AGE_MS = 86_400_000
const KEYS_MAX_AGE_MS = 600_000
interface UpstreamDeps {
  clock: Clock
  outbound: Outbound
  reports: UpstreamReports
}

/**
 * Makes the adapter for one client at one provider, with oauth4webapi. Sends no request before one of its methods is
 * called.
 */
export function upstream(client: UpstreamClient, { clock, outbound, reports }: UpstreamDeps): Upstream {
  const { provider, scopes, pkce } = client
  const outages = watchOutages(reports)
  const ask = async (request: ProviderRequest, reach: Reach): Promise<ProviderAnswer> =>
    await outages.over(request.of, async () => await askProvider(request, reach))
  /** The host chose the URLs in its options, and may name any address. */
  const byHost: Reach = { outbound, noNearerThan: THIS_MACHINE }
  const metadata = kept(
    async () => await outages.over("the provider's metadata", async () => await metadataOf(provider, byHost)),
    METADATA_MAX_AGE_MS,
    clock
  )
  const keys = kept(
    async () => {
      const { as, namedFrom } = await metadata.get()
      return await outages.over(
        "the provider's key set",
        async () => await keySetAt(as.jwks_uri ?? '', { outbound, noNearerThan: namedFrom })
      )
    },
    KEYS_MAX_AGE_MS,
    clock
  )
  const verify = signatureCheck(keys)

  /** The client in the form that oauth4webapi takes. The skew makes oauth4webapi follow our `clock`. */
  const engineClient = (clientId = client.clientId): oauth.Client => ({
    client_id: clientId,
    [oauth.clockSkew]: Math.round((clock.now() - Date.now()) / 1000)
  })

  async function redeem(
    answer: URLSearchParams,
    iss: string | null,
    flow: UpstreamFlow,
    signal: AbortSignal
  ): Promise<Redeemed> {
    const { as: found, namedFrom } = await metadata.get()
    const reach = { outbound, signal, noNearerThan: namedFrom }
    let distance = namedFrom
    const as = { ...found, issuer: iss ?? found.issuer }
    const checked = oauth.validateAuthResponse(as, engineClient(), answer, flow.state)
    let token: Record<string, unknown> = {}
    const fetchToken = engineFetch(
      { of: 'the token endpoint', reason: 'exchange', form: provider.protocol === 'oauth2' },
      async (request) => await ask(request, reach),
      ({ status, distance: from }, body) => {
        distance = from
        // GitHub reports errors with status 200.
        if (status !== 200 || body['error'] !== undefined) throw refusal(status, body['error'])
        token = body
      }
    )
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      engineClient(),
      clientAuthentication(client, found, clock),
      checked,
      flow.redirectUri,
      pkce ? flow.codeVerifier : oauth.nopkce,
      fetchToken
    )
    if (provider.protocol === 'oauth2')
      return {
        tokens: tokensOf(
          await failing(
            'exchange',
            async () => await oauth.processGenericTokenEndpointResponse(as, engineClient(), response)
          )
        ),
        idToken: null,
        distance
      }
    // A provider may have several issuers. If the response named one, the ID token must name the same. Otherwise the
    // ID token may name any issuer of this provider.
    const said = issuerOf(token['id_token'])
    if (iss === null && said !== null && provider.acceptsIssuer(said)) as.issuer = said
    const body = await failing(
      'id_token',
      async () =>
        await oauth.processAuthorizationCodeResponse(as, engineClient(), response, {
          expectedNonce: flow.nonce,
          requireIdToken: true
        })
    )
    await verify(as, response)
    return {
      tokens: tokensOf(body),
      idToken: oauth.getValidatedIdTokenClaims(body) as Record<string, unknown>,
      distance
    }
  }

  async function userinfo(
    { tokens, idToken }: Redeemed & { idToken: Record<string, unknown> },
    signal: AbortSignal
  ): Promise<Record<string, unknown>> {
    const { as, namedFrom } = await metadata.get()
    if (provider.protocol !== 'openid' || !provider.userinfo || as.userinfo_endpoint === undefined) return {}
    return await failing('userinfo', async () => {
      const response = await oauth.userInfoRequest(
        as,
        engineClient(),
        tokens.accessToken,
        engineFetch(
          { of: 'userinfo', reason: 'userinfo' },
          async (request) => await ask(request, { outbound, signal, noNearerThan: namedFrom })
        )
      )
      return await oauth.processUserInfoResponse(as, engineClient(), String(idToken['sub']), response)
    })
  }

  async function assertionOf(
    answer: URLSearchParams,
    redeemed: Redeemed,
    signal: AbortSignal
  ): Promise<{ assertion: Assertion; claims: Readonly<Record<string, unknown>> }> {
    if (provider.protocol === 'openid') {
      const { idToken } = redeemed
      if (idToken === null) throw new UpstreamError('id_token', 'There is no ID token.')
      const claims = mergedClaims(idToken, await userinfo({ ...redeemed, idToken }, signal))
      return { assertion: provider.assertion(claims, answer), claims }
    }
    // The host's code chooses the URL, perhaps from a response. The URL must not lead to this machine, unless the token
    // endpoint is on this machine too.
    const reach: Reach = { outbound, signal, noNearerThan: nearer(redeemed.distance, PRIVATE_NETWORK) }
    const get = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> => {
      const { status, json } = await ask(
        {
          url,
          method: 'GET',
          headers: { ...headers, authorization: `Bearer ${redeemed.tokens.accessToken}` },
          of: 'the API of the provider',
          reason: 'userinfo'
        },
        reach
      )
      if (status !== 200) throw new UpstreamError('userinfo', `The API of the provider answered ${status}.`)
      return json
    }
    const { accessToken, refreshToken, idToken } = redeemed.tokens
    const assertion = await failing(
      'userinfo',
      async () => await provider.identify(get, redeemed.tokens),
      (error) => {
        reports.hostFailed(withoutSecrets(error, [accessToken, refreshToken, idToken]))
      }
    )
    // The assertion may be invalid or missing here. `resultOf` checks it later.
    return { assertion, claims: (assertion as Partial<Assertion> | null | undefined)?.claims ?? {} }
  }

  return {
    async authorizationUrl(flow, wishes) {
      const { authorization_endpoint: endpoint = '' } = (await metadata.get()).as
      const url = new URL(endpoint)
      const params = {
        ...provider.parameters,
        ...provider.wishes(wishes),
        response_type: 'code',
        client_id: client.clientId,
        redirect_uri: flow.redirectUri,
        ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
        state: flow.state,
        ...(provider.protocol === 'openid' ? { nonce: flow.nonce } : {}),
        ...(pkce
          ? { code_challenge: await oauth.calculatePKCECodeChallenge(flow.codeVerifier), code_challenge_method: 'S256' }
          : {}),
        ...(provider.formPost ? { response_mode: 'form_post' } : {})
      }
      for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
      return url.href
    },

    async authenticate(answer, flow) {
      return await failing(
        'exchange',
        async () =>
          await inTime(clock, outages, async (signal): Promise<UpstreamResult> => {
            const { authorization_response_iss_parameter_supported: issuerPromised = false } = (await metadata.get()).as
            const { iss } = checkUpstreamAnswer(answer, {
              state: flow.state,
              issuerPromised,
              acceptsIssuer: provider.acceptsIssuer
            })
            const redeemed = await redeem(answer, iss, flow, signal)
            const said = await assertionOf(answer, redeemed, signal)
            return { ...resultOf(said, provider.issuer), tokens: redeemed.tokens }
          })
      )
    },

    async revoke(token) {
      const url = provider.endpoints?.revocation
      if (url === undefined) return
      await failing('exchange', async () => {
        const { as } = await metadata.get()
        const body = new URLSearchParams({ token, token_type_hint: 'refresh_token' })
        const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
        await clientAuthentication(client, as, clock)(as, engineClient(), body, headers)
        const { status } = await ask(
          {
            url,
            method: 'POST',
            headers: Object.fromEntries(headers),
            body: body.toString(),
            of: 'the revocation endpoint',
            reason: 'exchange',
            empty: true
          },
          byHost
        )
        if (status !== 200) throw new UpstreamError('exchange', `The revocation endpoint answered ${status}.`)
      })
    },

    async verifyIdToken(token, rules) {
      if (provider.protocol !== 'openid') throw new UpstreamError('id_token', 'The provider has no ID tokens.')
      return await failing(
        'id_token',
        async () =>
          await inTime(clock, outages, async () => {
            const claims = await appTokenClaims({
              token,
              rules: { ...rules, now: clock.now() },
              provider,
              metadata: async () => (await metadata.get()).as,
              clientFor: engineClient,
              verify
            })
            return {
              ...resultOf({ assertion: provider.assertion(claims, new URLSearchParams()), claims }, provider.issuer),
              issuedAt: Number(claims['iat'])
            }
          })
      )
    }
  }
}

interface Redeemed {
  tokens: UpstreamTokens
  idToken: Record<string, unknown> | null
  /** The network distance of the token endpoint. */
  distance: Distance
}

/** Reads the `iss` of an unverified token. */
function issuerOf(idToken: unknown): string | null {
  const iss = typeof idToken === 'string' ? decoded(idToken.split('.')[1])?.['iss'] : undefined
  return typeof iss === 'string' ? iss : null
}
