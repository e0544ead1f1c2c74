import { ALIAS, CREDENTIALS, REDIRECT_URI } from './clients.ts'
import type { Plan, Play, Visit } from './plans.ts'

const SIGNED_IN: Play = { wanted: ['signed in'] }
const REFUSED: Play = { wanted: ['refused (id_token)'] }

const PLAYS: Record<string, Play> = {
  'oidcc-client-test': SIGNED_IN,
  'oidcc-client-test-invalid-iss': REFUSED,
  'oidcc-client-test-missing-sub': REFUSED,
  'oidcc-client-test-invalid-aud': REFUSED,
  'oidcc-client-test-missing-iat': REFUSED,
  'oidcc-client-test-kid-absent-single-jwks': SIGNED_IN,
  // There is no telling which of the keys it was: either answer would do for the suite.
  'oidcc-client-test-kid-absent-multiple-jwks': REFUSED,
  'oidcc-client-test-idtoken-sig-rs256': SIGNED_IN,
  'oidcc-client-test-idtoken-sig-none': REFUSED,
  'oidcc-client-test-invalid-sig-rs256': REFUSED,
  'oidcc-client-test-userinfo-invalid-sub': { wanted: ['refused (userinfo)'] },
  'oidcc-client-test-nonce-invalid': REFUSED,
  'oidcc-client-test-scope-userinfo-claims': SIGNED_IN,
  'oidcc-client-test-client-secret-basic': SIGNED_IN,
  'oidcc-client-test-discovery-openid-config': { onlyBegins: true, wanted: ['sent to the provider'] },
  // It ends with the request for the keys, which comes before that to userinfo.
  'oidcc-client-test-discovery-jwks-uri-keys': { userinfo: false, wanted: ['signed in'] },
  'oidcc-client-test-discovery-issuer-mismatch': { wanted: ['refused (outage)'] },
  'oidcc-client-test-signing-key-rotation-just-before-signing': SIGNED_IN,
  'oidcc-client-test-signing-key-rotation': { times: 2, wanted: ['signed in', 'signed in'] }
}

const CHOSEN = { client_registration: 'static_client', request_type: 'plain_http_request' }

/** The plans where the suite is the provider, and the library signs people in by it. */
export const RELYING_PARTY_PLANS: Plan[] = [
  {
    name: 'oidcc-client-basic-certification-test-plan',
    title: 'Basic RP',
    variant: CHOSEN,
    configuration,
    play: playOf()
  },
  {
    name: 'oidcc-client-config-certification-test-plan',
    title: 'Config RP',
    variant: { ...CHOSEN, client_auth_type: 'client_secret_basic', response_mode: 'default' },
    configuration,
    play: playOf()
  },
  {
    name: 'oidcc-client-formpost-basic-certification-test-plan',
    title: 'Form Post RP',
    variant: CHOSEN,
    configuration,
    play: playOf({ responseMode: 'form_post' })
  }
]

function configuration(): Record<string, unknown> {
  return { alias: ALIAS, client: { ...CREDENTIALS.client, redirect_uri: REDIRECT_URI } }
}

/** The steps in a module; `undefined` for an unknown one. */
function playOf(visit: Visit = {}): (module: string) => Play | undefined {
  return (module) => (PLAYS[module] === undefined ? undefined : { ...PLAYS[module], ...visit })
}
