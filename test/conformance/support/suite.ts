import type { Test } from 'tap'
import { basic } from '../../support/openid.ts'
import { type HttpBrowser, type Landing, WILLING } from './http-browser.ts'
import { checkClaimTypes, checkIdToken, checkKeys, type Claims, verifiedClaims } from './jwt-checks.ts'
import { FIRST, type Op, startOp, type SuiteClient } from './op.ts'

export type ResponseMode = 'query' | 'form_post'
export type Params = Readonly<Record<string, string | undefined>>
type Answer = Readonly<Record<string, string>>

export interface AskOptions {
  client?: SuiteClient
  method?: 'GET' | 'POST'
  browser?: HttpBrowser
  /** Sends the parameters in a different order. */
  reversed?: boolean
}

export interface SignedIn {
  code: string
  /** The pages that the person saw. */
  seen: string[]
  tokens: Tokens
  claims: Claims
  userinfo: Claims
}

export interface Tokens {
  access_token: string
  id_token: string
  refresh_token?: string
  scope?: string
  expires_in: number
}

/**
 * One run of a module, with its own provider and browser. Every response passes the checks that the suite makes in all
 * modules.
 */
export interface Suite {
  t: Test
  op: Op
  /** The parameters that every request has, with `params` on top. */
  paramsOf(params?: Params, client?: SuiteClient): Answer
  /** Makes a request that gets a code, and does not redeem it. */
  code(params?: Params, options?: AskOptions): Promise<{ code: string; seen: string[] }>
  /** Makes a request that the client gets an error for, without a page, and resolves to the error. */
  refusal(params?: Params, options?: AskOptions): Promise<string>
  /** A request that ends at a page of the provider; resolves to its HTML. */
  errorPage(params?: Params): Promise<string>
  /** The whole journey: code, tokens, userinfo. */
  signIn(params?: Params, options?: AskOptions): Promise<SignedIn>
  redeem(code: string, client?: SuiteClient): Promise<Response>
  refresh(refreshToken: string, options?: { client?: SuiteClient; scope?: string }): Promise<Response>
  /** Checks a token answer and its ID token. */
  tokensOf(
    response: Response,
    expected: { nonce: string | undefined; client?: SuiteClient }
  ): Promise<{ tokens: Tokens; claims: Claims }>
  userinfo(init: RequestInit): Promise<Response>
}

export async function startSuite(t: Test, mode: ResponseMode = 'query', op?: Op): Promise<Suite> {
  const provider = op ?? (await startOp(t))
  const browser = provider.newBrowser()
  const { issuer, keys, clock, endpoint } = provider
  let requests = 0
  checkKeys(t, keys)

  function paramsOf(params: Params = {}, client: SuiteClient = FIRST): Answer {
    requests++
    const all = {
      client_id: client.id,
      redirect_uri: client.redirectUri,
      response_type: 'code',
      ...(mode === 'query' ? {} : { response_mode: mode }),
      scope: 'openid',
      state: `state-${requests}`,
      nonce: `nonce-${requests}`,
      ...params
    }
    return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined))
  }

  async function ask(
    sent: Answer,
    { method = 'GET', browser: other, reversed = false }: AskOptions
  ): Promise<{ landing: Landing; form: Array<[string, string]>; seen: string[] }> {
    const entries = Object.entries(sent)
    const form = new URLSearchParams(reversed ? entries.toReversed() : entries)
    const url = endpoint('authorization_endpoint')
    return method === 'POST'
      ? await (other ?? browser).go(url, { form })
      : await (other ?? browser).go(`${url}?${form.toString()}`, { answers: WILLING })
  }

  /** A response to the client, in the requested response mode. */
  async function answered(
    params: Params,
    options: AskOptions
  ): Promise<{ sent: Answer; answer: Answer; seen: string[] }> {
    const { client = FIRST } = options
    const sent = paramsOf(params, client)
    const { landing, form, seen } = await ask(sent, options)
    if (landing.at === 'page') throw new Error(`no answer, but ${landing.status} ${landing.url}: ${landing.html}`)
    t.equal(landing.method, mode === 'form_post' ? 'POST' : 'GET', 'the answer comes back as it was asked for')
    const entries = mode === 'form_post' ? form : queryBehind(t, landing.url, client.redirectUri)
    if (mode === 'form_post') t.equal(landing.url, client.redirectUri, 'nothing in the query')
    const answer = Object.fromEntries(entries)
    t.equal(Object.keys(answer).length, entries.length, 'no parameter twice')
    t.equal(answer['state'], sent['state'], 'the state')
    t.equal(answer['iss'], issuer, 'the issuer')
    return { sent, answer, seen }
  }

  async function coded(params: Params, options: AskOptions): Promise<{ sent: Answer; code: string; seen: string[] }> {
    const {
      sent,
      answer: { code, ...others },
      seen
    } = await answered(params, options)
    if (code === undefined) throw new Error(`no code, but ${JSON.stringify(others)}`)
    t.strictSame(
      Object.keys(others).toSorted(),
      sent['state'] === undefined ? ['iss'] : ['iss', 'state'],
      'nothing else'
    )
    return { sent, code, seen }
  }

  async function tokenRequest(params: Record<string, string>, { id, secret, auth }: SuiteClient): Promise<Response> {
    return await fetch(endpoint('token_endpoint'), {
      method: 'POST',
      headers: auth === 'basic' ? basic(id, secret) : {},
      body: new URLSearchParams({ ...params, ...(auth === 'basic' ? {} : { client_id: id, client_secret: secret }) })
    })
  }

  const suite: Suite = {
    t,
    op: provider,
    paramsOf,
    code: async (params = {}, options = {}) => await coded(params, options),
    async refusal(params = {}, options = {}) {
      const { answer, seen } = await answered(params, options)
      t.strictSame(
        Object.keys(answer).filter(
          (name) => !['error', 'error_description', 'error_uri', 'state', 'iss'].includes(name)
        ),
        [],
        'nothing but the error'
      )
      // RFC 6749 §4.1.2.1
      t.match(answer['error_description'] ?? '', /^[\x20-\x21\x23-\x5B\x5D-\x7E]*$/)
      t.strictSame(seen, [], 'nobody was asked anything')
      return answer['error'] ?? ''
    },
    async errorPage(params = {}) {
      const { landing, seen } = await ask(paramsOf(params), {})
      if (landing.at === 'client') throw new Error(`no page, but ${landing.url}`)
      t.equal(landing.status, 400)
      t.strictSame(seen, [], 'before anybody signs in')
      return landing.html
    },
    async signIn(params = {}, options = {}) {
      const { client = FIRST } = options
      const { sent, code, seen } = await coded(params, options)
      const { tokens, claims } = await suite.tokensOf(await suite.redeem(code, client), {
        nonce: sent['nonce'],
        client
      })
      const response = await suite.userinfo({ headers: { authorization: `Bearer ${tokens.access_token}` } })
      return { code, seen, tokens, claims, userinfo: await checkUserinfo(t, response, claims) }
    },
    async redeem(code, client = FIRST) {
      return await tokenRequest({ grant_type: 'authorization_code', code, redirect_uri: client.redirectUri }, client)
    },
    async refresh(refreshToken, { client = FIRST, scope } = {}) {
      return await tokenRequest(
        { grant_type: 'refresh_token', refresh_token: refreshToken, ...(scope === undefined ? {} : { scope }) },
        client
      )
    },
    async tokensOf(response, { nonce, client = FIRST }) {
      const tokens = (await response.json()) as Tokens & { token_type: string }
      t.equal(response.status, 200, 'error' in tokens ? String(tokens.error) : 'tokens')
      t.match(response.headers.get('content-type'), /^application\/json/)
      t.match(response.headers.get('cache-control'), /no-store/)
      t.match(tokens.token_type, /^bearer$/i)
      t.match(tokens.access_token, /^[\x20-\x7e]+$/)
      t.ok(Number.isInteger(tokens.expires_in) && tokens.expires_in > 0, 'expires_in is a number of seconds')
      const claims = verifiedClaims(t, tokens.id_token, keys, 'JWT')
      checkIdToken(t, claims, {
        issuer,
        clientId: client.id,
        nonce,
        now: clock.now(),
        accessToken: tokens.access_token
      })
      return { tokens, claims }
    },
    userinfo: async (init) => await fetch(endpoint('userinfo_endpoint'), init)
  }
  return suite
}

/** @see OpenID Connect Core 1.0 §5.3.2 */
export async function checkUserinfo(t: Test, response: Response, { sub }: Claims): Promise<Claims> {
  const claims = (await response.json()) as Record<string, unknown>
  t.equal(response.status, 200, 'error' in claims ? String(claims['error']) : 'claims')
  t.match(response.headers.get('content-type'), /^application\/json/)
  t.equal(claims['sub'], sub, 'the person of the ID token')
  checkClaimTypes(t, claims)
  return claims
}

/** The parameters added to the redirect URI, whose own query is still there, byte for byte. */
function queryBehind(t: Test, url: string, redirectUri: string): Array<[string, string]> {
  const separator = redirectUri.includes('?') ? '&' : '?'
  t.ok(url.startsWith(`${redirectUri}${separator}`), `the answer is at the redirect URI: ${url}`)
  t.notOk(url.includes('#'), 'and not in a fragment')
  return [...new URLSearchParams(url.slice(redirectUri.length + 1))]
}
