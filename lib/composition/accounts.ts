import type { FastifyBaseLogger } from 'fastify'
import type { AccountsDeps } from '../accounts/deps.ts'
import { createBackground } from '../accounts/background.ts'
import { createOutbox } from '../accounts/outbox.ts'
import { createPasswordHashing } from '../accounts/password-hashing.ts'
import { createPasswordPolicy } from '../accounts/password-policy.ts'
import { argon2Hasher } from '../adapters/argon2/argon2-hasher.ts'
import { importedHashVerifier } from '../adapters/imported-hashes/imported-hash-verifier.ts'
import type { Events } from '../events.ts'
import type { MessageBound } from '../limits/attempt.ts'
import { findLocale } from '../pages/texts.ts'
import type { Clock } from '../ports/clock.ts'
import type { MessageUser } from '../ports/message.ts'
import type { ImportedHashVerifier, Random } from '../ports/cryptography.ts'
import type { State } from '../ports/state.ts'
import type { UserStore } from '../ports/user-store.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import { anySecrets, deriveKey } from './keys.ts'
import type { Settings } from '../settings/settings.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { type LogCode, logLine, onceAMinute } from '../ports/log.ts'

interface AccountParts {
  owner: CookieOwner
  users: UserStore
  clock: Clock
  random: Random
  state: State
  sessions: Sessions
  messages: MessageBound
  events: Events
  log: FastifyBaseLogger
  messageUrl: AccountsDeps['messageUrl']
  accountUrl: AccountsDeps['accountUrl']
  undoUrl: AccountsDeps['undoUrl']
  connections: AccountsDeps['connections']
  slots: AccountsDeps['slots']
}

/**
 * Logs a warning when a password first matches an imported hash, because sign-ins replace such hashes. Another
 * application that reads the same users may not understand the new hashes. Logs nothing if the store cannot replace
 * hashes.
 */
function toldOfOnce(imported: ImportedHashVerifier, users: UserStore, log: FastifyBaseLogger): ImportedHashVerifier {
  let told = users.setPasswordHash === undefined
  return {
    async verify(hash, password) {
      const matches = await imported.verify(hash, password)
      if (matches === 'match' && !told) {
        told = true
        log.warn(
          ...logLine(
            'FST_AUTHORITY_HASHES_REPLACED',
            'imported password hashes are replaced with argon2id as their users sign in. If another ' +
              "application still reads the same users, it must know argon2id, or they can't sign in " +
              'there any more: the guide on importing users has the order in which to move.'
          )
        )
      }
      return matches
    }
  }
}

/**
 * Logs each reason once, so that a person who guesses passwords cannot flood the log. The event `login_failed` names
 * the user each time.
 */
function unusableReports(log: FastifyBaseLogger): (reason: string) => void {
  const told = new Set<string>()
  return (reason) => {
    if (told.has(reason)) return
    told.add(reason)
    log.error(
      ...logLine(
        'FST_AUTHORITY_HASH_UNUSABLE',
        'a stored password hash is unusable; its user can sign in after a password reset, and so ' +
          'can others whose hashes are like it',
        { reason }
      )
    )
  }
}

/**
 * The supported language for the user's claim `locale`, or `undefined`. Accepts an underscore, because some stores
 * write `de_AT`.
 * @see OpenID Connect Core 1.0 §5.1
 */
function ownLocale({ locale }: MessageUser): string | undefined {
  return findLocale(typeof locale === 'string' ? [locale.replaceAll('_', '-')] : [], undefined)
}

/** The dependencies of the account use cases, from the settings. */
export function accountsDeps(
  settings: Settings,
  {
    owner,
    users,
    clock,
    random,
    state,
    sessions,
    messages,
    events,
    log,
    messageUrl,
    accountUrl,
    undoUrl,
    connections,
    slots
  }: AccountParts
): AccountsDeps {
  const { password } = settings
  const { redeemCode } = state.oneTimeTokens
  const reports =
    (code: LogCode) =>
    (error: unknown, what: string): void => {
      log.error(...logLine(code, what, { err: error }))
    }
  const onError = reports('FST_AUTHORITY_WORK_FAILED')
  const advise = onceAMinute('warn', { clock, log })
  events.on('hash_queue_full', ({ running, waiting, maxQueue }) => {
    log.warn(
      ...logLine(
        'FST_AUTHORITY_HASH_QUEUE_FULL',
        'too many passwords wait to be hashed; sign-ins get 503 meanwhile. password.concurrency ' +
          'and password.maxQueue bound the queue.',
        { running, waiting, maxQueue }
      )
    )
  })
  const issuerWords = new URL(settings.issuer).hostname.split('.').slice(0, -1)
  return {
    issuer: settings.issuer,
    service: JSON.stringify([owner.issuer, owner.prefix]),
    users,
    hashing: createPasswordHashing(
      { ...password, peppers: password.pepper ? settings.secrets.map((secret) => deriveKey(secret, 'pepper')) : [] },
      {
        hasher: password.hasher ?? argon2Hasher(),
        imported: toldOfOnce(importedHashVerifier({ bcryptPepper: password.importPepper }), users, log),
        events,
        clock,
        onUnusable: unusableReports(log)
      }
    ),
    policy: createPasswordPolicy(
      { ...password, contextWords: [...issuerWords, ...password.contextWords] },
      {
        clock,
        onHookFailure: (error) => {
          reports('FST_AUTHORITY_HOOK_FAILED')(error, 'isBreached failed; the password was accepted')
        }
      }
    ),
    oneTimeTokens: state.oneTimeTokens,
    codes:
      redeemCode === undefined
        ? null
        : { key: deriveKey(anySecrets(settings.secrets, random)[0], 'email codes'), redeem: redeemCode },
    consents: state.consents,
    slots,
    sessions,
    messageBound: messages,
    background: createBackground({ clock, onError }),
    outbox:
      settings.sendMessage === null
        ? null
        : createOutbox(settings.sendMessage, {
            clock,
            events,
            advise,
            onError: reports('FST_AUTHORITY_MESSAGE_FAILED'),
            localeOf: ownLocale,
            canReset: users.setPasswordHash !== undefined,
            accountUrl
          }),
    usernames: settings.registration === false || users.create === undefined ? 'any' : settings.registration.username,
    verifyEmail: settings.registration !== false && settings.registration.verifyEmail,
    connections,
    messageUrl,
    accountUrl,
    undoUrl,
    async withdraw({ connection, sealed }) {
      if (sealed !== undefined) await connections.get(connection)?.withdraw(sealed)
    },
    clock,
    random,
    events,
    advise,
    onError
  }
}
