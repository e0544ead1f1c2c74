import { domainToASCII } from 'node:url'
import { isLoopbackHost } from '../../protocol/redirect-uri.ts'
import { invalid } from '../option-error.ts'
import { filled, flag, type Given, integer, orFalse, section, shortText, text, words } from '../schema-words.ts'

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
   * Other origins whose pages may use these passkeys: below `rpId`, or of another site. Origins of other sites are
   * listed at `/.well-known/webauthn`, which browsers ask the host `rpId` for.
   */
  relatedOrigins: words({
    uniqueItems: true,
    maxItems: 50,
    default: [],
    takes: 'an array of origins such as "https://app.example.com", each once'
  }),
  /** True to propose a passkey after a sign-in by password. */
  prompt: flag({ default: true }),
  /** How many passkeys and security keys an account may have. */
  maxPerUser: integer(1, 100, { default: 20 })
}

/** Passkeys and security keys. Requires the option `factors`. */
export interface PasskeyOptions extends Given<typeof PASSKEYS> {}

export const PASSKEY_OPTION = orFalse(section<PasskeyOptions>(PASSKEYS), { takes: 'an object, or false' })

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
export function resolvePasskeys(given: PasskeyOptions | false | undefined, issuer: string, title: string) {
  if (given === false || !canHavePasskeys(issuer)) return null
  return filled(PASSKEYS, given, { rpId: new URL(issuer).hostname, rpName: title })
}

/** @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` */
export function checkPasskeys(
  given: PasskeyOptions | false | undefined,
  { issuer, factors }: { issuer: string; factors: { passkeys: ReturnType<typeof resolvePasskeys> } | null }
): void {
  if (factors === null && given !== undefined && given !== false)
    throw invalid(
      'passkeys',
      given,
      'nothing where the option factors is not set: it is where passkeys are kept, also those ' +
        'that people sign in with alone'
    )
  const passkeys = factors?.passkeys ?? null
  if (passkeys === null) return
  const { origin, hostname } = new URL(issuer)
  const { rpId, relatedOrigins } = passkeys
  const isAbove = hostname.endsWith(`.${rpId}`) && (rpId.includes('.') || rpId === 'localhost')
  if (domainToASCII(rpId) !== rpId || rpId.endsWith('.') || !(rpId === hostname || isAbove))
    throw invalid(
      'passkeys.rpId',
      rpId,
      `the host of the issuer (${hostname}), or a domain above it with a dot in it, spelled as ` +
        'browsers do: browsers refuse any other'
    )
  for (const [index, related] of relatedOrigins.entries()) {
    const url = URL.canParse(related) ? new URL(related) : null
    const isSecure =
      url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname)))
    if (url === null || !isSecure || url.origin !== related || related === origin)
      throw invalid(
        `passkeys.relatedOrigins[${index}]`,
        related,
        'another origin than that of the issuer, as browsers write it, such as ' +
          '"https://app.example.com"; http: only for loopback'
      )
  }
}
