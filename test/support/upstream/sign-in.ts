import { outbound } from '../../../lib/adapters/node/outbound.ts'
import type { UpstreamReports } from '../../../lib/features/connections/upstream/engine.ts'
import { upstream } from '../../../lib/features/connections/upstream/upstream.ts'
import { UpstreamError } from '../../../lib/errors.ts'
import type { ConnectionOption } from '../../../lib/ports/provider.ts'
import type { Clock } from '../../../lib/ports/clock.ts'
import type { Upstream, UpstreamFlow, UpstreamResult } from '../../../lib/ports/upstream.ts'
import { resolveConnections } from '../../../lib/features/connections/options.ts'
import { steppedClock } from '../../../lib/testing/index.ts'

export const REDIRECT_URI = 'https://auth.example/auth/connect/up/callback'

export function flow(over: Partial<UpstreamFlow> = {}): UpstreamFlow {
  return {
    state: 'a-state-of-256-bits',
    nonce: 'a-nonce-of-256-bits',
    codeVerifier: 'a-verifier-of-at-least-43-characters-for-all-the-tests',
    startedAt: 0,
    redirectUri: REDIRECT_URI,
    ...over
  }
}

/** The upstream of a connection as the host gives it. */
export function upstreamOf(
  option: ConnectionOption,
  clock: Clock = steppedClock(Date.now()),
  reports: Partial<UpstreamReports> = {}
): Upstream {
  const [settings] = resolveConnections([option], true)
  if (settings === undefined) throw new Error('no connection')
  return upstream(settings, {
    clock,
    outbound: outbound(clock),
    reports: { down: () => {}, back: () => {}, hostFailed: () => {}, ...reports }
  })
}

/** One whole sign-in: the URL, the response that `answerTo` makes of it, and the result. */
export async function signInAt(
  subject: Upstream,
  answerTo: (url: string) => URLSearchParams,
  over: Partial<UpstreamFlow> = {}
): Promise<UpstreamResult> {
  const url = await subject.authorizationUrl(flow(over), {})
  return await subject.authenticate(answerTo(url), flow(over))
}

/**
 * The error of a failed sign-in. Throws if it contains anything that the provider sent, except the issuers of a refused
 * ID token, which are its cause.
 */
export async function refusalOf(
  pending: Promise<unknown>
): Promise<{ reason: string; message: string; issuers?: string }> {
  const error = await pending.then(
    () => null,
    (error: Error) => error
  )
  if (error === null) return { reason: 'none: it signed in', message: '' }
  if (!(error instanceof UpstreamError)) throw error
  const issuers = /^iss: expected \S+, got \S+$/.exec(error.cause instanceof Error ? error.cause.message : '')?.[0]
  if (
    (error.cause !== undefined && issuers === undefined) ||
    `${error.message}${String(error.stack)}`.includes('CANARY')
  )
    throw new Error(`an error that tells what was sent: ${error.message}`)
  return { reason: error.reason, message: error.message, ...(issuers === undefined ? {} : { issuers }) }
}
