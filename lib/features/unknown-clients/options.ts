import { Type } from '@sinclair/typebox'
import { filled, type Given, list, option, seconds, section, words } from '../../settings/schema-words.ts'

const HOSTS = 'hosts such as "example.com" or "*.example.com"'
/** A host whose documents are allowed, or a function that decides by the URL of the document. */
export type AllowedHost = string | ((url: string) => boolean)

const DOCUMENTS = {
  /** The hosts whose documents the service accepts, or functions that return true for an accepted URL. */
  allow: list(
    option<AllowedHost>(
      Type.Union([Type.String({ minLength: 1 }), Type.Function([], Type.Unknown())], { takes: HOSTS })
    ),
    { takes: `an array of ${HOSTS}, or functions (url) => boolean`, otherwise: 'any' }
  ),
  /** The hosts of trusted clients. For them, the consent page does not warn of a program on the user's computer. */
  trusted: words({ default: [], takes: `an array of ${HOSTS}` }),
  /** Seconds for which a document stays fresh. After that, the next sign-in of its client fetches it again. */
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
   * Accepts client ids that are `https:` URLs of a document about the client (Client ID Metadata Documents), as Claude,
   * ChatGPT and VS Code use them. The service always asks for consent for such clients.
   */
  clientIdMetadata: option<boolean | ClientIdMetadataOptions>(
    Type.Union([Type.Boolean(), section(DOCUMENTS)], {
      default: false,
      takes: 'true, false or { allow, trusted, cacheSeconds }'
    })
  ),
  /**
   * Lets clients register themselves at `POST /auth/clients` (RFC 7591). Stores nothing, because the id contains the
   * metadata and a MAC with `secret`, which is required. The service always asks for consent for such clients.
   */
  clientRegistration: option<boolean | ClientRegistrationOptions>(
    Type.Union([Type.Boolean(), section(REGISTRATION)], {
      default: false,
      takes: 'true, false or { redirectSchemes }'
    })
  )
}

export interface UnknownClientOptions extends Given<typeof UNKNOWN_CLIENT_OPTIONS> {}

/** The settings of client id documents and of registration. `null`: that option is off. */
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
