import { Type } from '@sinclair/typebox'
import type { ConnectionOption, UpstreamClient } from '../../ports/provider.ts'
import type { Linking } from '../../ports/upstream.ts'
import { flag, fn, oneOf, optional, words } from '../schema-words.ts'

/** A checked connection with every default filled in. */
export interface ConnectionSettings extends UpstreamClient {
  id: string
  name: string
  registration: boolean
  linking: Linking
  /** Lower case ASCII. */
  domains: readonly string[]
  enforce: boolean
  profile: NonNullable<ConnectionOption['profile']> | null
  sync: 'create' | 'always'
  assurance: NonNullable<ConnectionOption['assurance']> | null
  onSignIn: NonNullable<ConnectionOption['onSignIn']> | null
  button: { label: string | null; logoUrl: string | null }
  audiences: readonly string[]
  appNonce: boolean
  enabled: NonNullable<ConnectionOption['enabled']>
}

export const CONNECTION_DEFAULTS = {
  linking: 'confirm',
  enforce: false,
  sync: 'create',
  pkce: true,
  appNonce: true,
  enabled: true
} as const

const TEXT = (said: { description: string; default?: string }) =>
  Type.String({ minLength: 1, maxLength: 200, takes: 'a text of 1 to 200 characters', ...said })
const PROVIDER_NAME = "the provider's name"
const PEM_TAKES = "a private key in PEM (PKCS #8), such as the content of Apple's .p8 file"

const CONNECTION_SCHEMA = Type.Object(
  {
    // Checked first, so that an object that no function made is refused as such.
    provider: Type.Object(
      {},
      {
        takes: 'what google(…), oidc(…) and the others of fastify-authority/connections return',
        description: 'How the provider differs from others: the function that made the connection says it.'
      }
    ),
    id: Type.String({
      pattern: '^[a-z0-9-]{1,32}$',
      takes: '1 to 32 of a-z, 0-9 and the hyphen',
      default: PROVIDER_NAME,
      description:
        'Part of its URLs, such as `/auth/connect/google`, and its name in events. No two ' +
        'connections have one. `oidc` and `oauth2` have no default.'
    }),
    name: TEXT({ default: PROVIDER_NAME, description: 'What people are told they sign in with.' }),
    clientId: Type.String({
      minLength: 1,
      maxLength: 512,
      takes: 'what the provider calls this service: a string of 1 to 512 characters',
      description: 'What the provider calls this service.'
    }),
    clientSecret: optional(
      Type.String({
        minLength: 1,
        takes: 'the secret that the provider gave',
        confidential: true,
        description: 'What the provider gave with it.'
      })
    ),
    privateKey: optional(
      Type.String({
        minLength: 1,
        takes: PEM_TAKES,
        confidential: true,
        description:
          'Of `apple` and `oidc`: the key with which this service proves itself in place of a ' +
          'secret, in PEM. A literal `\\n` counts as a line break.'
      })
    ),
    keyId: optional(
      Type.String({ minLength: 1, takes: 'the id of the key', description: 'The id of that key at the provider.' })
    ),
    teamId: optional(
      Type.String({
        minLength: 1,
        takes: 'the id of the team',
        description: 'Of `apple`: the team that the key belongs to.'
      })
    ),
    scopes: optional(
      words({
        takes: 'an array of scopes',
        description: 'What is asked for. Default: who the person is and their e-mail address.'
      })
    ),
    registration: optional(
      flag({
        takes: 'true or false',
        description:
          'Whether it may make accounts. Default: as the option `registration`, where the user store ' +
          'has `createWithIdentity`.'
      })
    ),
    linking: optional(
      oneOf(['confirm', 'verified-email', 'never'], {
        default: CONNECTION_DEFAULTS.linking,
        description:
          'What becomes of somebody who comes for the first time with an e-mail address that an ' +
          'account here has. `"confirm"`: they sign in the way they did before, then link. ' +
          '`"verified-email"`: linked at once where the provider verified the address and decides on ' +
          'it, and the account\'s is verified too; else as `"confirm"`. `"never"`: they sign in the ' +
          'way they did before.'
      })
    ),
    domains: optional(
      words({
        uniqueItems: true,
        takes: 'an array of domains, each once',
        description:
          'Takes verified e-mail addresses of these domains alone, and is where people go who type ' +
          'one of them on the sign-in page. A domain belongs to one connection.'
      })
    ),
    enforce: optional(
      flag({
        default: CONNECTION_DEFAULTS.enforce,
        takes: 'true or false',
        description:
          'Whether this connection alone decides who is in `domains`: accounts with such an address sign in through ' +
          'no other connection and by nothing else.'
      })
    ),
    profile: optional(
      fn({
        takes: 'a function',
        description:
          '`(claims) => fields`: makes fields of an account of what the provider said. Only fields ' +
          'of `registration.fields` and the standard claims of a profile are taken. Default: the ' +
          'standard claims.'
      })
    ),
    sync: optional(
      oneOf(['create', 'always'], {
        default: CONNECTION_DEFAULTS.sync,
        description: 'When these fields are filled: with a new account, or at each sign-in.'
      })
    ),
    assurance: optional(
      fn({
        takes: 'a function',
        description:
          '`(claims) => ({ amr, acr })`: how the provider authenticated the person, for ID tokens of ' +
          'this service. An `acr` of `acr_values_supported` counts as that value; any other text is ' +
          'passed on as it is and meets no requirement. Default: only that it was a connection.'
      })
    ),
    onSignIn: optional(
      fn({
        takes: 'a function',
        description:
          '`({ user, claims, tokens, isNew }) => void`, after a sign-in that is finished with the ' +
          "provider's answer. No reply waits for it. It alone sees the provider's tokens, once; they " +
          'are kept nowhere, so a sign-in that ends on a page of this service (a second factor, ' +
          'fields of a new account, linking to an account) is told by the events `authenticated`, ' +
          '`registered` and `identity_linked` alone.'
      })
    ),
    button: optional(
      Type.Object(
        {
          label: optional(
            TEXT({ description: 'What the link on the sign-in page says. Default: "Continue with" and the name.' })
          ),
          logoUrl: optional(
            Type.String({
              takes: 'an https: URL',
              description: "A logo for a provider whose mark the pages don't know."
            })
          )
        },
        { additionalProperties: false, takes: '{ label, logoUrl }', description: 'The link on the sign-in page.' }
      )
    ),
    pkce: optional(
      flag({
        default: CONNECTION_DEFAULTS.pkce,
        takes: 'true or false',
        description: '`false` only for a provider that refuses PKCE (RFC 7636).'
      })
    ),
    audiences: optional(
      words({
        default: [],
        uniqueItems: true,
        takes: 'an array of client ids, each once',
        description:
          "What the provider calls your apps: client ids of phone apps, Apple's bundle ids, the " +
          'client of One Tap on a page of yours. Their ID tokens can be exchanged at the token ' +
          'endpoint (`urn:ietf:params:oauth:grant-type:token-exchange`) by clients that list the ' +
          'grant.'
      })
    ),
    appNonce: optional(
      flag({
        default: CONNECTION_DEFAULTS.appNonce,
        takes: 'true or false',
        description:
          "`false` only where the library of an app can't have a nonce put into its ID tokens: a " +
          'token without one is exchanged then. One that has a nonce still needs it.'
      })
    ),
    enabled: optional(
      Type.Union([Type.Boolean(), fn({ takes: 'a function' })], {
        default: CONNECTION_DEFAULTS.enabled,
        takes: 'true, false or a function',
        description:
          'Asked at the start and at the callback of each sign-in, and for each ID token of an app, ' +
          'as a function too: what was begun before it was turned off comes to nothing.'
      })
    )
  },
  {
    additionalProperties: false,
    takes: 'what google(…), oidc(…) and the others of fastify-authority/connections return'
  }
)

export const CONNECTIONS_SCHEMA = optional(
  Type.Array(CONNECTION_SCHEMA, {
    default: [],
    takes: 'an array of what google(…), oidc(…) and the others of fastify-authority/connections return',
    description:
      'Providers that people can sign in with beside a password, each made by a function of ' +
      '`fastify-authority/connections`, which takes these fields and those of its provider. ' +
      'Needs the option `secret`, and a user store with `findByIdentity` and `linkIdentity`. The ' +
      'callback URL to register with each provider is in the log at start.'
  })
)

/** `mayRegister`: the option `registration` and the user store allow new accounts. */
export function resolveConnections(
  given: readonly ConnectionOption[] = [],
  mayRegister: boolean
): ConnectionSettings[] {
  return given.map((option) => {
    const {
      id,
      name,
      clientId,
      provider,
      clientSecret = null,
      privateKey = null,
      keyId = null,
      teamId = null,
      scopes = provider.scopes,
      registration = mayRegister,
      linking = CONNECTION_DEFAULTS.linking,
      domains = []
    } = option
    const {
      enforce = CONNECTION_DEFAULTS.enforce,
      profile = null,
      sync = CONNECTION_DEFAULTS.sync,
      assurance = null,
      onSignIn = null,
      button: { label = null, logoUrl = null } = {},
      pkce = CONNECTION_DEFAULTS.pkce,
      audiences = [],
      appNonce = CONNECTION_DEFAULTS.appNonce,
      enabled = CONNECTION_DEFAULTS.enabled
    } = option
    return {
      id,
      name,
      clientId,
      provider,
      clientSecret,
      keyId,
      teamId,
      scopes,
      registration,
      linking,
      enforce,
      profile,
      sync,
      assurance,
      onSignIn,
      pkce,
      audiences,
      appNonce,
      enabled,
      // Environment variables often contain literal `\n`.
      privateKey: privateKey?.replaceAll('\\n', '\n') ?? null,
      domains: domains.map((domain) => domain.toLowerCase()),
      button: { label, logoUrl }
    }
  })
}
