import type { AccountModel } from '../../pages/account-models.ts'
import type { FormModel, PasskeyForm } from '../../pages/common-model.ts'
import { CREDENTIAL } from '../second-factors/options.ts'
import {
  filled,
  flag,
  type Given,
  integer,
  orFalse,
  section,
  shortText,
  text,
  words
} from '../../settings/schema-words.ts'

const PASSKEYS = {
  /**
   * The domain of the passkeys (the Relying Party ID): the host of the issuer, or a domain above it that is no public
   * suffix. **It can never be changed**: a change makes all passkeys unusable, so choose the domain that all your
   * sign-ins will share.
   */
  rpId: text({
    minLength: 1,
    maxLength: 253,
    otherwise: 'the host of the issuer',
    takes: 'the host of the issuer, or a domain above it, in lower case'
  }),
  /** The service name that browsers may show. */
  rpName: shortText(64, { otherwise: '`pages.title`, else the host of the issuer' }),
  /**
   * Other origins whose pages may use these passkeys: below `rpId`, or of another site. All are listed at
   * `/.well-known/webauthn`. For a page of another site, browsers fetch this list from the host `rpId`.
   */
  relatedOrigins: words({
    uniqueItems: true,
    maxItems: 50,
    default: [],
    takes: 'an array of origins such as "https://app.example.com", each once'
  }),
  /** True to propose a passkey after a sign-in by password, or after a sign-up without a password. */
  prompt: flag({ default: true }),
  /** The maximum number of passkeys and security keys of an account. */
  maxPerUser: integer(1, 100, { default: 20 })
}

/** Passkeys and security keys. Requires the option `factors`. */
export interface PasskeyOptions extends Given<typeof PASSKEYS> {}

export const PASSKEY_OPTIONS = {
  /**
   * Passkeys and security keys. On with `factors` if browsers support passkeys for the issuer: it is `https:` with a
   * host name instead of an IP address, or its host is localhost. `false` turns them off, and none of their code is
   * loaded.
   */
  passkeys: orFalse(section<PasskeyOptions>(PASSKEYS), { takes: 'an object, or false' })
}

export interface PasskeyOption extends Given<typeof PASSKEY_OPTIONS> {}

/**
 * True if browsers support passkeys for pages of this issuer.
 * @see W3C WebAuthn Level 3 §5.1.3, Secure Contexts §3.1
 */
export function canHavePasskeys(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  const isAddress = hostname.startsWith('[') || /^[\d.]+$/.test(hostname)
  return !isAddress && (protocol === 'https:' || isLocal)
}

export type PasskeySettings = ReturnType<typeof resolvePasskeys>

export function resolvePasskeys(given: PasskeyOptions | undefined, issuer: string, title: string) {
  return filled(PASSKEYS, given, { rpId: new URL(issuer).hostname, rpName: title })
}

/** Signs in by a passkey alone. */
export const PASSKEY_GRANT = {
  type: 'urn:fastify-authority:grant-type:passkey',
  rightOf: ['password'],
  params: { credential: CREDENTIAL },
  errors: ['invalid_grant', 'invalid_scope'],
  what:
    'the tokens of `grant_type=password` for a user with a passkey. `credential` is its answer to the options ' +
    'of `GET /auth/passkey-challenge`. There is no username, no password and no second step; the tokens have ' +
    'the `acr` `phr`. Every refusal is `invalid_grant` with one text. An answer works once. Exists with the ' +
    'password grant and passkeys; a client needs the grant `password`.'
} as const

/** The models of the pages of passkeys. */
export interface PasskeyModels {
  /**
   * After a sign-in by password, or a sign-up without one: offers to make a passkey. The fields are `credential` and
   * `name`. `skipUrl` continues without a passkey.
   */
  passkey_prompt: FormModel & {
    username: string
    passkey: PasskeyForm
    skipUrl: string
  }
  /**
   * Fields: `credential` and `name`. `passkey` is `null` if the user first has to sign in again, or to confirm the
   * account's address at `confirmUrl`.
   */
  account_passkey: AccountModel & {
    passkey: PasskeyForm | null
    name: string
    signInUrl: string | null
    confirmUrl: string | null
  }
}
