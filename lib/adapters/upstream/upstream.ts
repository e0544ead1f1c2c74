import * as oauth from 'oauth4webapi'
import { UpstreamError } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Outbound } from '../../ports/outbound.ts'
import type { Assertion, UpstreamClient } from '../../ports/provider.ts'
import type { Upstream, UpstreamFlow, UpstreamResult, UpstreamTokens } from '../../ports/upstream.ts'
import { checkUpstreamAnswer } from '../../protocol/upstream-answer.ts'
import { clientAuthentication } from './client-authentication.ts'
import { failing } from './failing.ts'
import { askProvider, type ProviderRequest, type Reach } from './ask-provider.ts'
import { appTokenClaims, decoded, signatureCheck } from './id-token.ts'
import { kept } from './kept.ts'
import { keySetAt, metadataOf } from './metadata.ts'
import { mergedClaims, resultOf } from './result.ts'

const METADATA_MAX_AGE_MS = 86_400_000
const KEYS_MAX_AGE_MS = 600_000
/** Of all that one callback asks of the provider. */
const BUDGET_MS = 6000
/** What RFC 6749 §5.2 and GitHub call the reasons. No other word of the provider's is repeated. */
const KNOWN_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'bad_verification_code',
  'incorrect_client_credentials',
  'redirect_uri_mismatch'
]

/** One client at one provider, by oauth4webapi. Nothing is asked of the provider before the first sign-in. */
export function upstream(client: UpstreamClient, { clock, outbound }: { clock: Clock; outbound: Outbound }): Upstream {
  const { provider, scopes, pkce } = client
  const metadata = kept(async () => await metadataOf(provider, { outbound }), METADATA_MAX_AGE_MS, clock)
  const keys = kept(
    async () => await keySetAt((await metadata.get()).jwks_uri ?? '', { outbound }),
    KEYS_MAX_AGE_MS,
    clock
  )
  const verify = signatureCheck(keys)

  /** The engine as this client, at the time of the clock. */
  const engineClient = (clientId = client.clientId): oauth.Client => ({
    client_id: clientId,
    [oauth.clockSkew]: Math.round((clock.now() - Date.now()) / 1000)
  })

  async function redeem(
    answer: URLSearchParams,
    iss: string | null,
    flow: UpstreamFlow,
    reach: Reach
  ): Promise<Redeemed> {
    const found = await metadata.get()
    const as = { ...found, issuer: iss ?? found.issuer }
    const checked = oauth.validateAuthResponse(as, engineClient(), answer, flow.state)
    let token: Record<string, unknown> = {}
    const fetchToken = engineFetch(
      { of: 'the token endpoint', reason: 'exchange', form: provider.protocol === 'oauth2' },
      reach,
      (status, body) => {
        // GitHub says what is wrong with status 200.
        if (status !== 200 || body['error'] !== undefined)
          throw new UpstreamError(
            'exchange',
            `The token endpoint refused the code: it answered ${status} and ` +
              `${KNOWN_ERRORS.find((known) => known === body['error']) ?? 'no error of RFC 6749'}.`
          )
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
        idToken: null
      }
    // Of the issuers that are one provider's the token must name the one that the answer named; all else of it is
    // checked against that.
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
    return { tokens: tokensOf(body), idToken: oauth.getValidatedIdTokenClaims(body) as Record<string, unknown> }
  }

  async function userinfo(
    { tokens, idToken }: Redeemed & { idToken: Record<string, unknown> },
    reach: Reach
  ): Promise<Record<string, unknown>> {
    const as = await metadata.get()
    if (provider.protocol !== 'openid' || !provider.userinfo || as.userinfo_endpoint === undefined) return {}
    return await failing('userinfo', async () => {
      const response = await oauth.userInfoRequest(
        as,
        engineClient(),
        tokens.accessToken,
        engineFetch({ of: 'userinfo', reason: 'userinfo' }, reach)
      )
      return await oauth.processUserInfoResponse(as, engineClient(), String(idToken['sub']), response)
    })
  }

  async function assertionOf(
    answer: URLSearchParams,
    redeemed: Redeemed,
    reach: Reach
  ): Promise<{ assertion: Assertion; claims: Readonly<Record<string, unknown>> }> {
    if (provider.protocol === 'openid') {
      const { idToken } = redeemed
      if (idToken === null) throw new UpstreamError('id_token', 'There is no ID token.')
      const claims = mergedClaims(idToken, await userinfo({ ...redeemed, idToken }, reach))
      return { assertion: provider.assertion(claims, answer), claims }
    }
    const get = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> => {
      const { status, json } = await askProvider(
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
    const assertion = await failing('userinfo', async () => await provider.identify(get, redeemed.tokens))
    return { assertion, claims: assertion.claims ?? {} }
  }

  return {
    async authorizationUrl(flow, wishes) {
      const { authorization_endpoint: endpoint = '' } = await metadata.get()
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
      return await inTime(clock, async (signal): Promise<UpstreamResult> => {
        const { authorization_response_iss_parameter_supported: issuerPromised = false } = await metadata.get()
        const { iss } = checkUpstreamAnswer(answer, {
          state: flow.state,
          issuerPromised,
          acceptsIssuer: provider.acceptsIssuer
        })
        const reach = { outbound, signal }
        const redeemed = await redeem(answer, iss, flow, reach)
        return { ...resultOf(await assertionOf(answer, redeemed, reach), provider.issuer), tokens: redeemed.tokens }
      })
    },

    async revoke(token) {
      const url = provider.endpoints?.revocation
      if (url === undefined) return
      const as = await metadata.get()
      const body = new URLSearchParams({ token, token_type_hint: 'refresh_token' })
      const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
      await clientAuthentication(client, as, clock)(as, engineClient(), body, headers)
      const { status } = await askProvider(
        {
          url,
          method: 'POST',
          headers: Object.fromEntries(headers),
          body: body.toString(),
          of: 'the revocation endpoint',
          reason: 'exchange',
          empty: true
        },
        { outbound }
      )
      if (status !== 200) throw new UpstreamError('exchange', `The revocation endpoint answered ${status}.`)
    },

    async verifyIdToken(token, rules) {
      if (provider.protocol !== 'openid') throw new UpstreamError('id_token', 'The provider has no ID tokens.')
      return await inTime(clock, async () => {
        const claims = await appTokenClaims({
          token,
          rules: { ...rules, now: clock.now() },
          provider,
          metadata: metadata.get,
          clientFor: engineClient,
          verify
        })
        return {
          ...resultOf({ assertion: provider.assertion(claims, new URLSearchParams()), claims }, provider.issuer),
          issuedAt: Number(claims['iat'])
        }
      })
    }
  }
}

/** What it gives, or an `outage` after six seconds, whatever it still waits for. */
async function inTime<Answer>(clock: Clock, work: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const abort = new AbortController()
  let cancel = (): void => {}
  const late = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(BUDGET_MS, () => {
      reject(new UpstreamError('outage', 'The provider did not answer all that was asked of it in time.'))
      abort.abort()
    })
  })
  try {
    return await Promise.race([work(abort.signal), late])
  } finally {
    cancel()
  }
}

interface Redeemed {
  tokens: UpstreamTokens
  idToken: Record<string, unknown> | null
}

/**
 * What the engine asks, sent under our limits. What it gets is made of JSON that was read whole, and looked at by
 * `inspect`.
 */
function engineFetch(
  request: Pick<ProviderRequest, 'of' | 'reason' | 'form'>,
  reach: Reach,
  inspect?: (status: number, body: Record<string, unknown>) => void
): {
  [oauth.customFetch]: (
    url: string,
    init: { method: string; headers: Record<string, string>; body?: string | URLSearchParams | undefined }
  ) => Promise<Response>
  [oauth.allowInsecureRequests]: true
} {
  return {
    // What may be asked by http is decided by `send`.
    [oauth.allowInsecureRequests]: true,
    async [oauth.customFetch](url, { method, headers, body }) {
      const { status, json } = await askProvider(
        { ...request, url, method: method === 'POST' ? 'POST' : 'GET', headers, body: body?.toString() },
        reach
      )
      if (typeof json !== 'object' || json === null || Array.isArray(json))
        throw new UpstreamError(request.reason, `The answer of ${request.of} is no JSON object.`)
      const found = { ...json } as Record<string, unknown>
      if (request.form === true) {
        // An ID token of a provider that is known by its API is nothing to rely on, and some leave the type of the
        // other out.
        delete found['id_token']
        found['token_type'] ??= 'bearer'
      }
      inspect?.(status, found)
      return Response.json(found, { status })
    }
  }
}

/** The `iss` of a token, before anything of it is checked. */
function issuerOf(idToken: unknown): string | null {
  const iss = typeof idToken === 'string' ? decoded(idToken.split('.')[1])?.['iss'] : undefined
  return typeof iss === 'string' ? iss : null
}

function tokensOf({
  access_token: accessToken,
  refresh_token: refreshToken,
  id_token: idToken,
  expires_in: expiresIn,
  scope
}: oauth.TokenEndpointResponse): UpstreamTokens {
  return {
    accessToken,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(idToken === undefined ? {} : { idToken }),
    ...(expiresIn === undefined ? {} : { expiresIn }),
    ...(scope === undefined ? {} : { scope })
  }
}
