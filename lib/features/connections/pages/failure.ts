import type { FastifyReply, FastifyRequest } from 'fastify'
import { OtherPersonError } from '../user.ts'
import {
  OAuthError,
  type OAuthErrorCode,
  type OAuthErrorReason,
  UpstreamError,
  type UpstreamFailure
} from '../../../errors.ts'
import { originOf } from '../../../http/edge/request-origin.ts'
import { formError } from '../../../http/pages/errors.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { withQuery } from '../../../http/pages/form-page.ts'
import type { ConnectFlow } from './cookies.ts'

/**
 * The error code and the text that the page shows for each failure. No text says which account is disabled, or why.
 */
const SHOWN: Readonly<Record<UpstreamFailure, { code: OAuthErrorCode; reason: OAuthErrorReason }>> = {
  denied: { code: 'connection_denied', reason: 'connection_denied' },
  mismatch: { code: 'invalid_request', reason: 'connection_again' },
  expired: { code: 'invalid_request', reason: 'connection_again' },
  exchange: { code: 'connection_failed', reason: 'connection_broken' },
  id_token: { code: 'connection_failed', reason: 'connection_broken' },
  userinfo: { code: 'connection_failed', reason: 'connection_broken' },
  email: { code: 'access_denied', reason: 'connection_email' },
  disabled: { code: 'access_denied', reason: 'connection_refused' },
  closed: { code: 'access_denied', reason: 'connection_closed' },
  taken: { code: 'access_denied', reason: 'connection_taken' },
  other_way: { code: 'access_denied', reason: 'connection_other_way' },
  outage: { code: 'temporarily_unavailable', reason: 'connection_down' }
}

/** The person's sign-in at the provider is older than the authorization request allows. */
export class StaleSignInError extends UpstreamError {
  constructor() {
    super('expired', 'The provider did not ask for a fresh sign-in.')
  }
}

interface Failed {
  connection: string
  /** The journey's query, so that the person can start again; `''` if it is unknown. */
  query: string
  /**
   * True if the request was counted under a rate limit, or had a signed-in user or a proof. Only such requests emit an
   * event, so that strangers cannot cause any number of events.
   */
  counted: boolean
  /** The user who had to prove their identity again, and returns to the page for that. Absent: none. */
  onlyAs?: ConnectFlow['onlyAs']
  /** The invitation that the person wanted to accept. Absent: none. */
  invitation?: ConnectFlow['invitation']
}

/** The URL of the page on which the person began and can begin again. */
export function startUrl(
  { query, onlyAs = null, invitation = null }: Pick<Failed, 'query' | 'onlyAs' | 'invitation'>,
  { link }: Pick<PageDeps, 'link'>
): string {
  return invitation === null
    ? `${link(onlyAs === null ? 'login' : 'reauthenticate')}${query}`
    : withQuery(`${link('acceptInvitation')}${query}`, { token: invitation })
}

/**
 * Sends the page for a failed sign-in at another provider, with its status and a link to start again. Throws any error
 * that is not an `UpstreamError`.
 */
export async function failConnect(
  error: unknown,
  { connection, query, counted, onlyAs = null, invitation = null }: Failed,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    authorize: {
      accounts: { events }
    },
    link,
    pages
  }: Pick<PageDeps, 'authorize' | 'link' | 'pages'>
): Promise<FastifyReply> {
  if (!(error instanceof UpstreamError)) throw error
  if (counted) events.emit('connection_failed', { connection, reason: error.reason }, originOf(request))
  const { code, reason } = SHOWN[error instanceof OtherPersonError ? 'disabled' : error.reason]
  // The cause contains nothing of the request. See UpstreamError.
  const shown = new OAuthError(code, error.message, {
    reason: error instanceof StaleSignInError ? 'connection_stale' : reason,
    detail: `connection ${connection}: ${error.reason}`,
    ...(code === 'temporarily_unavailable' ? { headers: { 'retry-after': '5' } } : {}),
    // Without a cause, because an outage is already in the log, once. A cause would add a line for each try.
    ...(error.reason === 'outage' ? {} : { cause: error })
  })
  const uiLocales = new URLSearchParams(query.slice(1)).get('ui_locales')?.split(' ') ?? []
  return await pages.send(
    request,
    reply,
    'connect_failed',
    {
      error: formError(shown, request, reply, { pages, uiLocales }),
      loginUrl: startUrl({ query, onlyAs, invitation }, { link })
    },
    { statusCode: shown.statusCode, uiLocales, secretAddress: false }
  )
}
