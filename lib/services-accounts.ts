import type { FastifyBaseLogger } from 'fastify'
import type { AccountsDeps } from './accounts/deps.ts'
import { createOutbox } from './accounts/messages.ts'
import { createPasswordHashing } from './accounts/password-hashing.ts'
import { createPasswordPolicy } from './accounts/password-policy.ts'
import { argon2Hasher } from './adapters/argon2/argon2-hasher.ts'
import { importedHashVerifier } from './adapters/imported-hashes/imported-hash-verifier.ts'
import type { Events } from './events.ts'
import { type AuthorityOptions, DEFAULTS } from './options.ts'
import type { Clock } from './ports/clock.ts'
import type { Random } from './ports/random.ts'
import type { State } from './ports/state.ts'
import { deriveKey } from './services-secrets.ts'
import type { Sessions } from './tokens/sessions.ts'

interface AccountParts { clock: Clock, random: Random, state: State, sessions: Sessions, events: Events, secrets: string[], log: FastifyBaseLogger, messageUrl: AccountsDeps['messageUrl'] }

/** What the account use cases need, from the options. */
export function accountsDeps (options: AuthorityOptions, { clock, random, state, sessions, events, secrets, log, messageUrl }: AccountParts): AccountsDeps {
  const { hasher = argon2Hasher(), isBreached, pepper, ...password } = { ...DEFAULTS.password, ...options.password }
  const onError = (error: unknown, what: string): void => { log.error({ err: error }, `fastify-authority: ${what}`) }
  const issuerWords = new URL(options.issuer).hostname.split('.').slice(0, -1)
  return {
    issuer: options.issuer,
    users: options.users,
    hashing: createPasswordHashing(
      { ...password, peppers: pepper ? secrets.map((secret) => deriveKey(secret, 'pepper')) : [] },
      { hasher, imported: importedHashVerifier(), events, clock, onUnusable: (reason) => { log.warn({ reason }, 'fastify-authority: a stored password hash is unusable; its user can sign in after a password reset') } }
    ),
    policy: createPasswordPolicy(
      { minLength: password.minLength, maxBytes: password.maxBytes, contextWords: [...issuerWords, ...password.contextWords], ...(isBreached === undefined ? {} : { isBreached }) },
      { clock, onHookFailure: (error) => { onError(error, 'isBreached failed; the password was accepted') } }
    ),
    oneTimeTokens: state.oneTimeTokens,
    sessions,
    outbox: options.sendMessage === undefined ? null : createOutbox(options.sendMessage, { clock, onError }),
    verifyEmail: options.registration !== false && options.registration?.verifyEmail === true,
    messageUrl,
    clock,
    random,
    events,
    onError
  }
}
