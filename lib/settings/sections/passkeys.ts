import { Type } from '@sinclair/typebox'
import { flag, integer, optional, section, words } from '../schema-words.ts'

/** Passkeys and security keys. Requires the option `factors`. */
export interface PasskeyOptions {
  /**
   * Domain of the passkeys: the host of the issuer, or a parent domain. Default: the host. A change makes all passkeys
   * unusable.
   */
  rpId?: string | undefined
  /** The service name that browsers may show. Default: `pages.title`, otherwise the host of the issuer. */
  rpName?: string | undefined
  /** Other origins whose pages use the same passkeys. */
  relatedOrigins?: string[] | undefined
  /** Proposes a passkey after a sign-in by password. Default: `true`. */
  prompt?: boolean | undefined
  /** Default: 20. */
  maxPerUser?: number | undefined
}

export interface PasskeySettings {
  rpId: string
  rpName: string
  relatedOrigins: readonly string[]
  prompt: boolean
  maxPerUser: number
}

const PASSKEY_DEFAULTS = { relatedOrigins: [] as readonly string[], prompt: true, maxPerUser: 20 } as const

const TAKES = 'an object, or false'

export const PASSKEYS_SCHEMA = optional(
  Type.Union(
    [
      Type.Literal(false),
      section(
        {
          rpId: optional(
            Type.String({
              minLength: 1,
              maxLength: 253,
              default: 'the host of the issuer',
              takes: 'the host of the issuer, or a domain above it, in lower case',
              description:
                'The domain that passkeys belong to (the Relying Party ID): the host of the issuer, or a ' +
                'domain above it that is no public suffix. **It can never be changed**: passkeys of ' +
                'another one are lost, so choose the domain that all your sign-ins will share.'
            })
          ),
          rpName: optional(
            Type.String({
              minLength: 1,
              maxLength: 64,
              default: '`pages.title`, else the host of the issuer',
              takes: 'a string of 1 to 64 characters',
              description: 'What browsers may show of whom a passkey is for.'
            })
          ),
          relatedOrigins: optional(
            words({
              uniqueItems: true,
              maxItems: 50,
              default: PASSKEY_DEFAULTS.relatedOrigins,
              takes: 'an array of origins such as "https://app.example.com", each once',
              description:
                'Other origins whose pages may use these passkeys: below `rpId`, or of another site. Those ' +
                'are listed at `/.well-known/webauthn`, which browsers ask the host `rpId` for.'
            })
          ),
          prompt: optional(
            flag({
              default: PASSKEY_DEFAULTS.prompt,
              takes: 'true or false',
              description: 'Whether a page proposes a passkey after a sign-in by password.'
            })
          ),
          maxPerUser: optional(
            integer(1, 100, '', {
              default: PASSKEY_DEFAULTS.maxPerUser,
              description: 'How many passkeys and security keys an account may have.'
            })
          )
        },
        'Passkeys and security keys.'
      )
    ],
    {
      takes: TAKES,
      description:
        'Passkeys and security keys. On with `factors` where browsers have passkeys for the ' +
        'issuer: its host is a name and no address, and it is https:, or localhost. `false` turns ' +
        'them off; nothing of them is loaded then.'
    }
  )
)

/**
 * True if browsers have passkeys for pages of this issuer.
 * @see W3C WebAuthn Level 3 §5.1.3, Secure Contexts §3.1
 */
export function canHavePasskeys(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  const isAddress = hostname.startsWith('[') || /^[\d.]+$/.test(hostname)
  return !isAddress && (protocol === 'https:' || isLocal)
}

/** `null`: passkeys are off. */
export function resolvePasskeys(
  given: PasskeyOptions | false = {},
  issuer: string,
  title: string
): PasskeySettings | null {
  if (given === false || !canHavePasskeys(issuer)) return null
  const {
    rpId = new URL(issuer).hostname,
    rpName = title,
    relatedOrigins = PASSKEY_DEFAULTS.relatedOrigins,
    prompt = PASSKEY_DEFAULTS.prompt,
    maxPerUser = PASSKEY_DEFAULTS.maxPerUser
  } = given
  return { rpId, rpName, relatedOrigins, prompt, maxPerUser }
}
