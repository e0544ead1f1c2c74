import { domainToASCII } from 'node:url'
import { isLoopbackHost } from '../protocol/redirect-uri.ts'
import { invalid } from './option-error.ts'
import type { AuthorityOptions } from './options.ts'
import type { Settings } from './settings.ts'

/** @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` */
export function checkPasskeys({ passkeys: given }: AuthorityOptions, { issuer, factors }: Settings): void {
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
