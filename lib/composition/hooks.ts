import type { FastifyBaseLogger } from 'fastify'
import { systemClock } from '../adapters/node/system.ts'
import type { Clock } from '../ports/clock.ts'
import { type Advise, onceAMinute } from '../ports/log.ts'
import type { PasswordSettings } from '../settings/sections/password.ts'
import type { RateLimits } from '../settings/sections/rate-limit.ts'
import type { Settings } from '../settings/settings.ts'
import { HOOK_ANSWERS, hostHook } from '../boundary/host-hooks.ts'
import { ACCESS_TOKEN_CLAIMS } from '../protocol/access-token.ts'

/**
 * Wraps the host's functions `claims` and `pages.render`, and the functions of `password` and `rateLimit`, so that
 * every answer is checked. All but the functions of `password` also get a time limit.
 */
export function withCheckedHooks(settings: Settings, log: Pick<FastifyBaseLogger, 'warn'>): Settings {
  const { claims, password, pages, rateLimit } = settings
  const clock = settings.clock ?? systemClock
  return {
    ...settings,
    claims:
      claims === null
        ? null
        : hostHook(claims, toldOfOwn(HOOK_ANSWERS.claims, onceAMinute('warn', { clock, log })), clock),
    password: { ...password, ...passwordHooks(password) },
    pages:
      pages === false || pages.render === null
        ? pages
        : { ...pages, render: hostHook(pages.render, HOOK_ANSWERS['pages.render'], clock) },
    rateLimit: rateLimit === false ? false : withCheckedLimitHooks(rateLimit, clock)
  }
}

/** Warns if the host's function returns claims that only this service sets: they are dropped from the token. */
function toldOfOwn(read: typeof HOOK_ANSWERS.claims, advise: Advise): typeof HOOK_ANSWERS.claims {
  return (answer) => {
    const claims = read(answer)
    const left = [...ACCESS_TOKEN_CLAIMS].filter((name) => name in claims)
    if (left.length > 0)
      advise({
        code: 'FST_AUTHORITY_HOOK_FAILED',
        cause: left.join(' '),
        text:
          `the function of the option claims answers ${left.join(', ')}, which the token has of its own: left out. ` +
          'Give the claim another name.'
      })
    return claims
  }
}

/** Checks the answers without a time limit: the password policy limits `isBreached`, and a slow hash is no fault. */
function passwordHooks({ isBreached, hasher }: PasswordSettings): Pick<PasswordSettings, 'isBreached' | 'hasher'> {
  return {
    isBreached:
      isBreached === null ? null : async (password) => HOOK_ANSWERS['password.isBreached'](await isBreached(password)),
    hasher:
      hasher === null
        ? null
        : {
            hash: async (...args) => HOOK_ANSWERS['password.hasher.hash'](await hasher.hash(...args)),
            verify: async (...args) => HOOK_ANSWERS['password.hasher.verify'](await hasher.verify(...args))
          }
  }
}

export function withCheckedLimitHooks(limits: RateLimits, clock: Clock): RateLimits {
  const { key, apiKey, onLimit } = limits
  return {
    ...limits,
    key: key === null ? null : hostHook(key, HOOK_ANSWERS['rateLimit.key'], clock),
    apiKey:
      apiKey === null || apiKey.verify === null
        ? apiKey
        : { ...apiKey, verify: hostHook(apiKey.verify, HOOK_ANSWERS['rateLimit.apiKey.verify'], clock) },
    onLimit: onLimit === null ? null : hostHook(onLimit, HOOK_ANSWERS['rateLimit.onLimit'], clock)
  }
}
