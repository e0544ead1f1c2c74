import type { Feature } from '../../feature.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import { MFA_ACR } from '../../protocol/authentication.ts'
import { FACTOR_METHODS } from '../../protocol/second-factors.ts'
import { invalid, makingOf } from '../../settings/option-error.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { SECRET_TAKES } from '../../settings/schema-words.ts'
import { resolvePages } from '../../settings/sections/pages.ts'
import {
  FACTOR_OPTIONS,
  FACTOR_STORE_METHODS,
  FACTOR_STORE_TAKES,
  type FactorSettings,
  MFA_GRANT,
  resolveFactors
} from './options.ts'

/** Second factors. The option `factors` turns them on. */
export const secondFactors: Feature<FactorSettings> = {
  name: 'secondFactors',
  options: FACTOR_OPTIONS,
  grants: [MFA_GRANT],
  acr: [MFA_ACR],
  resolve(given) {
    const { factors, mfa } = given
    if (factors === undefined) {
      if (Object.keys(mfa ?? {}).length > 0) throw invalid('mfa', mfa, 'nothing where the option factors is not set')
      return null
    }
    check(factors, given)
    return resolveFactors(factors, mfa, titleOf(given))
  },
  shares: ({ methods, rememberDeviceMs, store }) => ({
    factors: { store, seals: methods.some((method) => method !== 'passkey'), rememberDeviceMs }
  }),
  off: {
    factors: async () => ({ factors: [], recoveryCodesLeft: 0 }),
    removeFactor: refuse,
    resetFactors: refuse,
    startEnrolment: refuse,
    importTotp: refuse,
    forgetDevices: refuse
  },
  load: async () => await import('./create.ts')
}

async function refuse(): Promise<never> {
  throw new TypeError('app.authority: there are no second factors without the option factors.')
}

/** The name of the service: the title of its pages or, without pages, the host of the issuer. */
export const titleOf = ({ issuer, pages }: AuthorityOptions): string =>
  pages === false ? new URL(issuer).hostname : resolvePages(pages, issuer).title

function check(factors: FactorStore, { mfa, pages, secret }: AuthorityOptions): void {
  const { methods = FACTOR_METHODS, required = false, rememberDevice = false, totpIssuer } = mfa ?? {}
  // An empty list is allowed: sign-ins ask for existing factors, but nobody can set one up. That is the first step of a
  // rollout.
  if (methods.length > 0 && methods.every((method) => method === 'recovery_code'))
    throw invalid(
      'mfa.methods',
      methods,
      'an array with "totp" or "passkey" in it: recovery codes stand in for one of these'
    )
  if (required !== false && !methods.includes('totp'))
    throw invalid(
      'mfa.methods',
      methods,
      'an array with "totp" in it where mfa.required is set: it is what people are led to set up'
    )
  if (pages === false && rememberDevice !== false)
    throw invalid(
      'mfa.rememberDevice',
      rememberDevice,
      'false where pages is false: the box for it is on the page of the second factor'
    )
  if (totpIssuer?.includes(':') === true)
    throw invalid('mfa.totpIssuer', totpIssuer, 'a name without a colon: apps part it from the account by one')
  if (required !== false && pages === false)
    throw invalid(
      'mfa.required',
      required,
      'false where pages is false: a second factor is set up on them before anybody is signed in'
    )
  const missing = FACTOR_STORE_METHODS.find(
    (method) => typeof (factors as Partial<FactorStore> | null)?.[method] !== 'function'
  )
  if (missing !== undefined)
    throw invalid('factors', factors, `${FACTOR_STORE_TAKES}: ${makingOf(factors) ?? `it lacks ${missing}`}`)
  if (factors.durable && secret === undefined)
    throw invalid(
      'secret',
      secret,
      `${SECRET_TAKES}, where factors is a store that outlives the process: it seals the keys of authenticator apps`
    )
}
