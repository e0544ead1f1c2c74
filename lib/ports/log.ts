import type { Clock } from './clock.ts'

/**
 * Lines that the plugin writes to the host's log, apart from lines of requests. All have one prefix, and each has a
 * stable code. docs/reference/errors.md is made from this table.
 */
export const LOG_CODES = {
  FST_AUTHORITY_UNAVAILABLE:
    'error: a request was answered 503, because a store is out of reach or something of it ' +
    'failed. The line names the call of a store, and `err` has the cause.',
  FST_AUTHORITY_FAULT: 'error: a request was answered 500: a mistake in some code. `err` says which.',
  FST_AUTHORITY_STORE_DOWN:
    'error: a store does not answer, or does no writes: `store` says which. Said once an outage, and at ' +
    'the start. Nothing has to be restarted.',
  FST_AUTHORITY_STORE_BACK: 'info: it answers again, and does writes.',
  FST_AUTHORITY_STORE_MISFIT:
    "error: a store of the host's answered what its port does not allow: the request got 500, " +
    'or a row of the client store is an unknown client. `err` names the method and the field.',
  FST_AUTHORITY_HOOK_MISFIT:
    "error: a function of the host's options answered what it may not, and the request got 500. `err` names it.",
  FST_AUTHORITY_EVICTION:
    'warn: a Redis throws away what is needed when its memory is full. Set its `maxmemory-policy` to `noeviction`.',
  FST_AUTHORITY_PACKAGE_MISSING:
    'error: a request needs a package that is not installed, and was answered 503: `err` names ' +
    'it. Install it and start again.',
  FST_AUTHORITY_CLOCK_SKEW:
    "warn: this machine's clock differs from that of the server with the state by `skewMs`. Set this machine's clock.",
  FST_AUTHORITY_SWEEP_FAILED: 'warn: expired records could not be removed. Tried again a minute later.',
  FST_AUTHORITY_KEYS_FAILED:
    'error: the signing keys could not be read or made; warn, once a minute: the key of an authenticator app could ' +
    'not be opened. Most often the secret is another one than they were sealed with.',
  FST_AUTHORITY_HASHER_BROKEN:
    'error: the password hasher does not work here, so nobody can sign in with a password. Look at its installation.',
  FST_AUTHORITY_HASH_QUEUE_FULL:
    'warn: more passwords wait to be hashed than `password.maxQueue`; sign-ins get 503 ' +
    'meanwhile. Said once an overload.',
  FST_AUTHORITY_HASH_UNUSABLE:
    "error, once for each reason: a stored password hash can't be used (`reason`); its user " +
    'can sign in after a password reset.',
  FST_AUTHORITY_HASHES_REPLACED:
    'warn: imported password hashes are replaced as their users sign in. Look whether another ' +
    'application still reads them.',
  FST_AUTHORITY_AUDIT_CHECKPOINT:
    'info: an entry of the audit log that `verifyAudit` must find: keep these lines where the database is not.',
  FST_AUTHORITY_HOOK_FAILED:
    "warn, or error where its answer does not fit: a function of the host's options threw or " +
    'answered what it may not. The line says what was done instead.',
  FST_AUTHORITY_EVENT_HANDLER_FAILED:
    'error: a handler of `app.authority.on` threw or rejected: `event` names the event. No ' +
    'request was broken by it.',
  FST_AUTHORITY_PROVIDER_DOWN:
    'error: a provider of `connections` does not answer, or not with what it should: `connection` says which. Said ' +
    'once an outage of each of its endpoints. People can sign in in other ways meanwhile.',
  FST_AUTHORITY_CONNECTION_FAILED:
    'error: a sign-in through a connection was answered 502, because the provider refused this service or answered ' +
    'what does not fit. `detail` names the connection, and `err` says what to do.',
  FST_AUTHORITY_PROVIDER_BACK: 'info: it answers again.',
  FST_AUTHORITY_PAGE_FAILED: 'error: a page could not be made as it should be; a plainer one was sent.',
  FST_AUTHORITY_MESSAGE_RETRIED:
    'warn: `sendMessage` failed and the message is tried again: `err` has what it threw. Said once a minute and kind.',
  FST_AUTHORITY_MESSAGE_FAILED: 'error: a message was given up, or there is no room for more: look at `sendMessage`.',
  FST_AUTHORITY_BACK_CHANNEL_FAILED: 'error: a client was not told of a sign-out: look at its `backchannelLogoutUri`.',
  FST_AUTHORITY_WORK_FAILED:
    'error: something that no answer told of failed: work behind a reply, or tidying up after ' +
    'a failure. The line says what.',
  FST_AUTHORITY_RATE_LIMITED:
    'info: a rate limit refuses requests. Said once a minute and rule; each refusal is a line at `debug`.',
  FST_AUTHORITY_CLIENT_MISFIT:
    'warn: a request names no registered client, or an address that is not registered for its client: the line has ' +
    'both. Said once a minute for each client, and for all unknown clients together.',
  FST_AUTHORITY_ORIGIN_MISFIT:
    'warn: a form of the pages came from another origin than that of the issuer and was refused: the line has both. ' +
    'Said once a minute and origin.',
  FST_AUTHORITY_UNSAFE: 'warn: a configuration that works and is unsafe. The line has the mend.',
  FST_AUTHORITY_UNKNOWN_SCOPE:
    'warn, once a scope: `requireScope` asks for a scope that nobody can be granted, so its routes refuse everybody. ' +
    'Add it to the option `scopes`, or to the scopes of the API.',
  FST_AUTHORITY_UNDOCUMENTED:
    "warn: @fastify/swagger was registered after this plugin, so the app's document has none " +
    "of the plugin's routes. Register it first.",
  FST_AUTHORITY_NOTICE: 'info: what follows from the configuration, such as state that is in memory.'
} as const

export type LogCode = keyof typeof LOG_CODES

/** The arguments of a logger's method: `log.warn(...logLine('FST_AUTHORITY_…', 'what happened', { err }))`. */
export function logLine(
  code: LogCode,
  text: string,
  bindings: Readonly<Record<string, unknown>> = {}
): [Record<string, unknown>, string] {
  return [{ code, ...bindings }, `fastify-authority: ${text}`]
}

/** A mistake that a developer can fix. `text` says what was received and what was expected. */
export interface Advice {
  code: LogCode
  /** Identifies the cause within its code. */
  cause: string
  text: string
  bindings?: Readonly<Record<string, unknown>>
}

export type Advise = (advice: Advice) => void

/** The minimum time between two lines about one cause. */
const TELL_EVERY_MS = 60_000
/** The maximum number of causes per code within `TELL_EVERY_MS`, because strangers can invent causes. */
const MOST_CAUSES = 20

/** Writes each cause at most once a minute, and at most `MOST_CAUSES` causes, so that strangers can't fill the log. */
export function onceAMinute<Level extends 'info' | 'warn'>(
  level: Level,
  { clock, log }: { clock: Pick<Clock, 'monotonic'>; log: Log<Level> }
): Advise {
  // Limits each code separately, so that invented causes of one code don't silence another code.
  const toldAt = new Map<LogCode, Map<string, number>>()
  return ({ code, cause, text, bindings }) => {
    const now = clock.monotonic()
    const causes = toldAt.get(code) ?? new Map<string, number>()
    for (const [told, at] of causes) if (now - at >= TELL_EVERY_MS) causes.delete(told)
    if (causes.has(cause) || causes.size >= MOST_CAUSES) return
    toldAt.set(code, causes.set(cause, now))
    log[level](...logLine(code, text, bindings))
  }
}

/** A log with these levels, such as that of a Fastify instance. */
export type Log<Levels extends string> = Readonly<
  Record<Levels, (bindings: Record<string, unknown>, text: string) => void>
>

/**
 * Copies an error of the host's code for the log: its message and stack, with every given secret removed. A thrown
 * value that is not an `Error` becomes an error with a fixed message.
 */
export function withoutSecrets(error: unknown, secrets: ReadonlyArray<string | undefined>): Error {
  const scrub = (text: string): string =>
    secrets.reduce<string>(
      (rest, secret) => (secret === undefined || secret === '' ? rest : rest.replaceAll(secret, '[removed]')),
      text
    )
  const copy = new Error(scrub(error instanceof Error ? error.message : 'It failed without an Error.'))
  if (error instanceof Error && error.stack !== undefined) copy.stack = scrub(error.stack)
  return copy
}
