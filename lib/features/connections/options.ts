import type { AccountModel } from '../../pages/account-models.ts'
import type { CommonModel, ConnectButton, FormModel, PageError, ProfileField } from '../../pages/common-model.ts'
import { Type } from '@sinclair/typebox'
import type { ConnectionOption, Provider } from '../../ports/provider.ts'
import {
  filled,
  flag,
  fn,
  type Given,
  oneOf,
  option,
  required,
  section,
  shortText,
  text,
  words
} from '../../settings/schema-words.ts'

/** The texts of these options are the comments of `ConnectionOption` in lib/ports/provider.ts. */
type Has<Name extends keyof ConnectionOption> = NonNullable<ConnectionOption[Name]>

const PROVIDER_NAME = "the provider's name"
export const TAKES = 'what google(…), oidc(…) and the others of fastify-authority/connections return'
const label = (said: { otherwise?: string }) => shortText(200, { takes: 'a text of 1 to 200 characters', ...said })

const BUTTON = {
  label: label({ otherwise: '"Continue with" and the name' }),
  logoUrl: text({ takes: 'an https: URL' })
}

const CONNECTION = {
  provider: required(option<Provider>(Type.Object({}, { takes: TAKES }))),
  id: required(
    text({ pattern: '^[a-z0-9-]{1,32}$', takes: '1 to 32 of a-z, 0-9 and the hyphen', otherwise: PROVIDER_NAME })
  ),
  name: required(label({ otherwise: PROVIDER_NAME })),
  clientId: required(shortText(512, { takes: "the provider's id for this service: a string of 1 to 512 characters" })),
  clientSecret: text({ minLength: 1, takes: 'the secret that the provider gave', confidential: true }),
  privateKey: text({
    minLength: 1,
    takes: "a private key in PEM (PKCS #8), such as the content of Apple's .p8 file",
    confidential: true
  }),
  keyId: text({ minLength: 1, takes: 'the id of the key' }),
  teamId: text({ minLength: 1, takes: 'the id of the team' }),
  scopes: words({ takes: 'an array of scopes', otherwise: "the user's identity and email address" }),
  registration: flag({ otherwise: 'as the option `registration`, if the user store has `createWithIdentity`' }),
  linking: oneOf(['confirm', 'verified-email', 'never'], { default: 'confirm' }),
  domains: words({ default: [], uniqueItems: true, takes: 'an array of domains, each once' }),
  enforce: flag({ default: false }),
  profile: fn<Has<'profile'>>({ otherwise: 'the standard claims' }),
  sync: oneOf(['create', 'always'], { default: 'create' }),
  assurance: fn<Has<'assurance'>>({ otherwise: 'the fact that the user signed in with a connection' }),
  onSignIn: fn<Has<'onSignIn'>>(),
  button: section<Given<typeof BUTTON>>(BUTTON, { takes: '{ label, logoUrl }' }),
  pkce: flag({ default: true }),
  audiences: words({ default: [], uniqueItems: true, takes: 'an array of client ids, each once' }),
  appNonce: flag({ default: true }),
  enabled: option<Has<'enabled'>>(
    Type.Union([Type.Boolean(), Type.Function([], Type.Unknown())], { takes: 'true, false or a function' }),
    true
  )
}

export const CONNECTION_OPTIONS = {
  /**
   * Providers for sign-in besides a password. Each is made by a function of `fastify-authority/connections`, which
   * takes these fields and those of its provider. Requires the option `secret`, the hosted pages, and a user store with
   * `findByIdentity` and `linkIdentity`. The log at start has the callback URL to register with each provider.
   */
  connections: option<ConnectionOption[]>(
    Type.Array(section(CONNECTION, { takes: TAKES }), { default: [], takes: `an array of ${TAKES}` })
  )
}

export interface ConnectionsOption extends Given<typeof CONNECTION_OPTIONS> {}

/** A checked connection with every default filled in. */
export type ConnectionSettings = ReturnType<typeof resolveConnections>[number]

/** Fills in the defaults. `mayRegister`: the option `registration` and the user store allow new accounts. */
export function resolveConnections(given: readonly ConnectionOption[] = [], mayRegister: boolean) {
  return given.map((option) => {
    const settings = filled(CONNECTION, option, { scopes: option.provider.scopes, registration: mayRegister })
    return {
      ...settings,
      // Environment variables often contain literal `\n`.
      privateKey: settings.privateKey?.replaceAll('\\n', '\n') ?? null,
      domains: settings.domains.map((domain) => domain.toLowerCase()),
      button: filled(BUTTON, option.button)
    }
  })
}

/** A provider account that the user signs in with. */
export interface AccountLink {
  id: string
  /** The name of the connection, or its id if the connection no longer exists. */
  name: string
  /** The email address that the provider last reported as verified. `null`: none. */
  email: string | null
  /** Milliseconds since the epoch, like `lastUsedAt`. */
  linkedAt: number
  lastUsedAt: number
}

/** The models of the pages of connections. */
export interface ConnectModels {
  /** Continues to the provider's `url` by the header `Refresh`, or by a link if the browser ignores the header. */
  connect_leaving: CommonModel & { name: string; url: string }
  /** A failed sign-in at another provider. `loginUrl` leads back to the page on which the sign-in began. */
  connect_failed: CommonModel & { error: PageError; loginUrl: string }
  /**
   * An account already has the `email` that the provider `name` sent. The owner of the account signs in at `signInUrl`,
   * or sets a new password at `forgotUrl`.
   */
  connect_confirm: CommonModel & { name: string; email: string; signInUrl: string; forgotUrl: string | null }
  /**
   * The owner of the account has signed in. A submit button links the account and the identity. `skipUrl` continues
   * without a link. `identity`: the name and address at the provider.
   */
  connect_link: FormModel & { name: string; username: string; identity: string; skipUrl: string }
  /** `fields`: required fields that the provider did not send. `email`: the address of the new account, or `null`. */
  connect_finish: FormModel & { name: string; email: string | null; fields: ProfileField[]; loginUrl: string }
  /**
   * Each link has a button named `link` with the id of the link, which removes it. The form has `current_password` if
   * `askPassword` is true. `signInUrl`: a user without a password, or with a second factor, signs in again there first.
   * `null`: no sign-in is needed. `ways`: posting an empty form to a `url` begins to link another account.
   */
  account_connections: AccountModel & {
    links: AccountLink[]
    ways: ConnectButton[]
    askPassword: boolean
    signInUrl: string | null
  }
}
