import t from '../support/tap.ts'
import { ACCEPTED_WARNINGS, BASIC_MODULES } from './support/basic-modules.ts'
import { startSuite } from './support/suite.ts'

/** The modules of `oidcc-basic-certification-test-plan`, by the names that they have there. */
const PLAN = [
  'OIDF-oidcc-server',
  'OIDF-oidcc-response-type-missing',
  'OIDF-oidcc-idtoken-signature',
  'OIDF-oidcc-idtoken-unsigned',
  'OIDF-oidcc-userinfo-get',
  'OIDF-oidcc-userinfo-post-header',
  'OIDF-oidcc-userinfo-post-body',
  'OIDF-oidcc-ensure-request-without-nonce-succeeds-for-code-flow',
  'OIDF-oidcc-ensure-request-with-unknown-parameter-succeeds',
  'OIDF-oidcc-ensure-post-request-succeeds',
  'OIDF-oidcc-ensure-registered-redirect-uri',
  'OIDF-oidcc-server-client-secret-post',
  'OIDF-oidcc-ensure-request-with-valid-pkce-succeeds',
  'OIDF-oidcc-scope-profile',
  'OIDF-oidcc-scope-email',
  'OIDF-oidcc-scope-address',
  'OIDF-oidcc-scope-phone',
  'OIDF-oidcc-scope-all',
  'OIDF-oidcc-alternate-happy-flow',
  'OIDF-oidcc-claims-essential',
  'OIDF-oidcc-prompt-login',
  'OIDF-oidcc-prompt-none-not-logged-in',
  'OIDF-oidcc-prompt-none-logged-in',
  'OIDF-oidcc-max-age-1',
  'OIDF-oidcc-max-age-10000',
  'OIDF-oidcc-id-token-hint',
  'OIDF-oidcc-login-hint',
  'OIDF-oidcc-display-page',
  'OIDF-oidcc-display-popup',
  'OIDF-oidcc-ui-locales',
  'OIDF-oidcc-claims-locales',
  'OIDF-oidcc-ensure-request-with-acr-values-succeeds',
  'OIDF-oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
  'OIDF-oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'OIDF-oidcc-ensure-request-object-with-redirect-uri',
  'OIDF-oidcc-codereuse',
  'OIDF-oidcc-codereuse-30seconds',
  'OIDF-oidcc-refresh-token'
]

for (const name of PLAN) {
  t.test(name, async (t) => {
    await BASIC_MODULES[name.slice('OIDF-'.length)]?.(await startSuite(t))
  })
}

t.test('lists every module of the certification plan, and accepts warnings only for existing modules', async (t) => {
  t.equal(PLAN.length, 38)
  t.strictSame(
    PLAN,
    Object.keys(BASIC_MODULES).map((name) => `OIDF-${name}`)
  )
  t.strictSame(
    Object.keys(ACCEPTED_WARNINGS).filter((name) => !(name in BASIC_MODULES)),
    []
  )
})
