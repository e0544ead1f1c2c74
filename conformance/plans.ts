import { blocks, fapiOverrides, overrides } from './browser.ts'
import { ALIAS, CREDENTIALS, KEYED_CLIENTS } from './clients.ts'

/** A certification plan of the suite, with the choices that it leaves to us. */
export interface Plan {
  name: string
  title: string
  variant: Record<string, string>
  /** The entries of the suite's form. `issuer`: of the library as the provider. */
  configuration(issuer: string): Record<string, unknown>
  /**
   * The person's steps in a module in which the suite is the provider; `undefined` if they are not known. Without it,
   * the library is the provider.
   */
  play?(module: string): Play | undefined
}

/** How a person signs in by the suite in a module. */
export interface Visit {
  /** How often. Default: once. */
  times?: number
  /** True if the person does not come back: a module that ends before that would take the rest for a mistake. */
  onlyBegins?: boolean
  /** False if the connection does not ask userinfo. Default: it does. */
  userinfo?: boolean
  responseMode?: 'query' | 'form_post'
}

/**
 * The person's steps, and the required result of each sign-in. The suite sees only the requests to it, so half of the
 * verdict is here.
 */
export interface Play extends Visit {
  wanted: string[]
}

/** The plans where the library is the provider. */
export const PROVIDER_PLANS: Plan[] = [
  {
    name: 'oidcc-config-certification-test-plan',
    title: 'Config OP',
    variant: {},
    configuration: withClient('client')
  },
  {
    name: 'oidcc-basic-certification-test-plan',
    title: 'Basic OP',
    variant: { server_metadata: 'discovery', client_registration: 'static_client' },
    configuration: withClient('client')
  },
  {
    name: 'oidcc-formpost-basic-certification-test-plan',
    title: 'Form Post OP',
    variant: { server_metadata: 'discovery', client_registration: 'static_client' },
    configuration: withClient('client')
  },
  {
    name: 'oidcc-rp-initiated-logout-certification-test-plan',
    title: 'RP-initiated logout',
    variant: { response_type: 'code', client_registration: 'static_client' },
    configuration: withClient('client')
  },
  {
    name: 'oidcc-backchannel-rp-initiated-logout-certification-test-plan',
    title: 'Back-channel logout',
    variant: { response_type: 'code', client_registration: 'static_client' },
    configuration: withClient('backChannelClient')
  },
  {
    name: 'fapi2-security-profile-final-test-plan',
    title: 'FAPI 2.0 OP',
    variant: {
      client_auth_type: 'private_key_jwt',
      sender_constrain: 'dpop',
      fapi_profile: 'plain_fapi',
      openid: 'openid_connect',
      authorization_request_type: 'simple'
    },
    configuration: (issuer) => ({
      alias: ALIAS,
      server: { discoveryUrl: `${issuer}/.well-known/openid-configuration` },
      client: KEYED_CLIENTS[0],
      client2: KEYED_CLIENTS[1],
      resource: { resourceUrl: `${issuer}/protected` },
      options: { browsercontrol_css_enable: false },
      browser: blocks(issuer),
      override: fapiOverrides(issuer)
    })
  }
]

/** `client`: who signs in. */
function withClient(client: 'client' | 'backChannelClient'): Plan['configuration'] {
  return (issuer) => ({
    alias: ALIAS,
    server: { discoveryUrl: `${issuer}/.well-known/openid-configuration` },
    client: CREDENTIALS[client],
    client2: CREDENTIALS.client2,
    client_secret_post: CREDENTIALS.clientSecretPost,
    // Style sheets say nothing of the protocol.
    options: { browsercontrol_css_enable: false },
    browser: blocks(issuer),
    override: {
      ...overrides(issuer),
      // Asks for a claim that no scope of the request covers. A third-party client does not get it, because the consent
      // page did not show it.
      'oidcc-claims-essential': { client: CREDENTIALS.ownClient }
    }
  })
}
