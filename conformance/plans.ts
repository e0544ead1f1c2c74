import { blocks, overrides } from './browser.ts'
import { ALIAS, CREDENTIALS } from './clients.ts'

/** A certification plan of the suite, with the choices that it leaves to us. */
export interface Plan {
  name: string
  title: string
  variant: Record<string, string>
  /** Which client signs in. */
  client: 'client' | 'backChannelClient'
}

export const PLANS: Plan[] = [
  { name: 'oidcc-config-certification-test-plan', title: 'Config', variant: {}, client: 'client' },
  { name: 'oidcc-basic-certification-test-plan', title: 'Basic', variant: { server_metadata: 'discovery', client_registration: 'static_client' }, client: 'client' },
  { name: 'oidcc-formpost-basic-certification-test-plan', title: 'Form Post', variant: { server_metadata: 'discovery', client_registration: 'static_client' }, client: 'client' },
  { name: 'oidcc-rp-initiated-logout-certification-test-plan', title: 'RP-initiated logout', variant: { response_type: 'code', client_registration: 'static_client' }, client: 'client' },
  { name: 'oidcc-backchannel-rp-initiated-logout-certification-test-plan', title: 'Back-channel logout', variant: { response_type: 'code', client_registration: 'static_client' }, client: 'backChannelClient' }
]

/** What a person would type into the suite's form for the plan. */
export function configuration (plan: Plan, issuer: string): Record<string, unknown> {
  return {
    alias: ALIAS,
    server: { discoveryUrl: `${issuer}/.well-known/openid-configuration` },
    client: CREDENTIALS[plan.client],
    client2: CREDENTIALS.client2,
    client_secret_post: CREDENTIALS.clientSecretPost,
    // Style sheets say nothing of the protocol.
    options: { browsercontrol_css_enable: false },
    browser: blocks(issuer),
    override: {
      ...overrides(issuer),
      // Asks for a claim that no scope of the request covers. A client of somebody else's does not get it, as the consent page did not show it.
      'oidcc-claims-essential': { client: CREDENTIALS.ownClient }
    }
  }
}
