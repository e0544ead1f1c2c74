/** An app that takes pushed requests, and its browser. */
import type { AuthorityOptions } from '../../../lib/index.ts'
import { serializeParams } from '../../../lib/protocol/request-params.ts'
import { type LightMyRequestResponse, PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { logLines } from '../../support/log-lines.ts'
import { CALLBACK, CHALLENGE, openidApp, SECRET, VERIFIER } from '../../support/openid.ts'
import type { Test } from '../../support/tap.ts'

export const PAR = '/auth/par'
export const REQUEST = {
  client_id: 'spa',
  redirect_uri: CALLBACK,
  response_type: 'code',
  scope: 'openid',
  state: 'the state',
  nonce: 'n',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256'
}
export const THIRD = { client_id: 'third', redirect_uri: 'https://third.example/cb', client_secret: SECRET }
export type Sent = Record<string, string | undefined>
export const basic = `Basic ${Buffer.from(`web:${SECRET}`).toString('base64')}`

export async function world(t: Test, options: Partial<AuthorityOptions> = {}) {
  const logs = logLines()
  const test = await openidApp({ par: true, ...options }, { logger: logs })
  t.teardown(test.close)
  const push = async (params: Sent = {}, headers: Record<string, string> = {}) => {
    const sent = Object.entries({ ...REQUEST, ...params }).filter(([, value]) => value !== undefined)
    return await test.app.inject({
      method: 'POST',
      url: PAR,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams(sent as Array<[string, string]>).toString()
    })
  }
  const addressOf = (pushed: LightMyRequestResponse, clientId = 'spa', more: Record<string, string> = {}): string => {
    const { request_uri: uri } = pushed.json<{ request_uri: string }>()
    return `/auth/authorize?${serializeParams({ client_id: clientId, request_uri: uri, ...more })}`
  }
  const signIn = async (page: LightMyRequestResponse, browser = test.browser) =>
    await browser.follow(await browser.submit(String(page.headers.location), { username: 'ann', password: PASSWORD }))
  const redeem = async (code: string | null) =>
    await test.app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: {
        grant_type: 'authorization_code',
        client_id: 'spa',
        code: code ?? '',
        redirect_uri: CALLBACK,
        code_verifier: VERIFIER
      }
    })
  return { ...test, logs, push, addressOf, signIn, redeem, other: () => testBrowser(test.app) }
}
export const answerOf = (url: string): Record<string, string> => Object.fromEntries(new URL(url).searchParams)
