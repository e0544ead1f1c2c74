import { Type } from '@sinclair/typebox'
import { filled, type Given, list, option, seconds, section, words } from '../../settings/schema-words.ts'

const HOSTS = 'hosts such as "example.com" or "*.example.com"'
/** A host of documents, or a function that decides on their address. */
export type AllowedHost = string | ((url: string) => boolean)

const DOCUMENTS = {
  /** The hosts whose documents are taken, or functions of their address. */
  allow: list(
    option<AllowedHost>(
      Type.Union([Type.String({ minLength: 1 }), Type.Function([], Type.Unknown())], { takes: HOSTS })
    ),
    { takes: `an array of ${HOSTS}, or functions (url) => boolean`, otherwise: 'any' }
  ),
  /** The hosts whose consent page has no warning. */
  trusted: words({ default: [], takes: `an array of ${HOSTS}` }),
  /** How long a document is kept. */
  cacheSeconds: seconds(300, 86_400, { otherwise: 'as its headers say, within 5 minutes and 24 hours' })
}

const REGISTRATION = {
  /** Private-use schemes without a dot that redirect URIs may have, such as `cursor`. */
  redirectSchemes: words({ default: [], uniqueItems: true, takes: 'an array of schemes such as "cursor"' })
}

export interface ClientIdMetadataOptions extends Given<typeof DOCUMENTS> {}
export interface ClientRegistrationOptions extends Given<typeof REGISTRATION> {}

export const UNKNOWN_CLIENT_OPTIONS = {
  /**
   * Takes client ids that are `https:` URLs of a document about the client (Client ID Metadata Documents), as Claude,
   * ChatGPT and VS Code have them. Such clients always ask for consent.
   */
  clientIdMetadata: option<boolean | ClientIdMetadataOptions>(
    Type.Union([Type.Boolean(), section(DOCUMENTS)], {
      default: false,
      takes: 'true, false or { allow, trusted, cacheSeconds }'
    })
  ),
  /**
   * Clients register themselves at `POST /auth/clients` (RFC 7591). Nothing is stored: the id contains the metadata and
   * a MAC of `secret`, which is required. Such clients always ask for consent.
   */
  clientRegistration: option<boolean | ClientRegistrationOptions>(
    Type.Union([Type.Boolean(), section(REGISTRATION)], {
      default: false,
      takes: 'true, false or { redirectSchemes }'
    })
  )
}

export interface UnknownClientOptions extends Given<typeof UNKNOWN_CLIENT_OPTIONS> {}

/** `null`: that way is off. */
export interface UnknownClientSettings {
  documents: ReturnType<typeof documentSettings> | null
  registration: ReturnType<typeof registrationSettings> | null
  /** Names that no unknown client may have. */
  takenNames: readonly string[]
}

export function documentSettings(given: ClientIdMetadataOptions) {
  const { cacheSeconds: _given, ...rest } = filled(DOCUMENTS, given)
  return { allow: rest.allow, trusted: rest.trusted, cacheSeconds: given.cacheSeconds ?? null }
}

export const registrationSettings = (given: ClientRegistrationOptions) => filled(REGISTRATION, given)
