import { CALLBACK } from '../../support/openid.ts'
import { encodePart } from '../../support/jwt.ts'
import type { Module } from './modules-flow.ts'
import { FIRST } from './op.ts'
import type { Suite } from './suite.ts'

/** Parameters that only change the look of a page, and parameters that contain a whole request. */
export const REQUEST_MODULES: Readonly<Record<string, Module>> = {
  'oidcc-display-page': async (suite) => {
    await succeeds(suite, { display: 'page' })
  },
  'oidcc-display-popup': async (suite) => {
    await succeeds(suite, { display: 'popup' })
  },
  'oidcc-ui-locales': async (suite) => {
    await succeeds(suite, { ui_locales: 'se' })
  },
  'oidcc-claims-locales': async (suite) => {
    await succeeds(suite, { claims_locales: 'se' })
  },

  async 'oidcc-ensure-request-with-acr-values-succeeds'(suite) {
    const { t, op } = suite
    // The suite requests everything that the metadata offers.
    const offered = op.document['acr_values_supported'] as string[]
    t.ok(offered.length > 0)
    const { claims } = await suite.signIn({ acr_values: offered.join(' ') })
    t.ok(offered.includes(String(claims['acr'])), 'one of those that were asked for')
    const { claims: unknown } = await suite.signIn({ acr_values: '1 2' })
    t.equal(unknown['acr'], 'password', 'the accepted warning')
  },

  async 'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported'(suite) {
    const { t, op } = suite
    t.equal(op.document['request_uri_parameter_supported'], false)
    t.equal(await suite.refusal({ request_uri: 'https://app.example/requests/1#abc' }), 'request_uri_not_supported')
  },

  async 'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported'(suite) {
    const { t, op } = suite
    t.equal(op.document['request_parameter_supported'], false)
    const { state, nonce, ...outer } = suite.paramsOf()
    t.equal(await suite.refusal({ request: requestObject({ ...outer, nonce, state }) }), 'request_not_supported')
  },

  async 'oidcc-ensure-request-object-with-redirect-uri'(suite) {
    const { t } = suite
    const request = requestObject(suite.paramsOf())
    for (const redirectUri of [`${CALLBACK}/invalid`, undefined])
      t.match(await suite.errorPage({ request, redirect_uri: redirectUri }), 'invalid_request', String(redirectUri))
    const evil = requestObject(suite.paramsOf({ redirect_uri: 'https://evil.example/' }))
    t.equal(await suite.refusal({ request: evil }), 'request_not_supported', 'and what is inside is not looked at')
  }
}

async function succeeds(suite: Suite, params: Record<string, string>): Promise<void> {
  const { seen } = await suite.signIn(params)
  suite.t.strictSame(seen, ['login'])
}

function requestObject(params: Readonly<Record<string, string | undefined>>): string {
  return `${encodePart({ alg: 'none' })}.${encodePart({ iss: FIRST.id, aud: 'http://localhost', ...params })}.`
}
