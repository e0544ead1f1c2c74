import { domainToASCII } from 'node:url'
import type { Feature } from '../../feature.ts'
import { PASSKEY_ACR } from '../../protocol/authentication.ts'
import { isLoopbackHost } from '../../protocol/redirect-uri.ts'
import { invalid } from '../../settings/option-error.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { secondFactors, titleOf } from '../second-factors/feature.ts'
import type { FactorSettings } from '../second-factors/options.ts'
import { canHavePasskeys, PASSKEY_GRANT, PASSKEY_OPTIONS, type PasskeySettings, resolvePasskeys } from './options.ts'

/**
 * Passkeys and security keys. On if second factors are on and browsers support passkeys for the issuer, unless the
 * option is `false`.
 */
export const passkeys: Feature<{ factors: FactorSettings; passkeys: PasskeySettings }> = {
  name: 'passkeys',
  needs: ['secondFactors'],
  options: PASSKEY_OPTIONS,
  grants: [PASSKEY_GRANT],
  acr: [PASSKEY_ACR],
  resolve(given) {
    const { issuer, passkeys: option } = given
    const factors = secondFactors.resolve(given)
    if (factors === null && option !== undefined && option !== false)
      throw invalid(
        'passkeys',
        option,
        'nothing where the option factors is not set: it is where passkeys are kept, also those ' +
          'that people sign in with alone'
      )
    if (factors === null || option === false || !canHavePasskeys(issuer)) return null
    const on = resolvePasskeys(option, issuer, titleOf(given))
    check(on, issuer)
    return { factors, passkeys: on }
  },
  shares: ({ passkeys: { relatedOrigins } }) => ({ listsOrigins: relatedOrigins.length > 0 }),
  notices: ({ factors, issuer, passkeys: option }: AuthorityOptions) =>
    factors === undefined || option === false || canHavePasskeys(issuer)
      ? []
      : [
          `passkeys are off: browsers have none for pages of ${issuer}. They take an https: issuer ` +
            'whose host is a name and no address, or http://localhost in development. With passkeys: ' +
            'false this is not said.'
        ],
  load: async () => await import('./create.ts')
}

/** @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` */
function check({ rpId, relatedOrigins }: PasskeySettings, issuer: string): void {
  const { origin, hostname } = new URL(issuer)
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
