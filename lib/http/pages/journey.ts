import type { FastifyRequest } from 'fastify'
import type { ClientRequest } from '../../authorize/authorize.ts'

/**
 * Where a person on a hosted page came from and goes on to: an authorization request, a path of the host, or nowhere.
 */
export interface Journey {
  /** `''`, or `?…` to append to the addresses of pages and forms, so that the journey goes on there. */
  query: string
  clientName: string | null
  /** BCP 47, most wanted first. */
  uiLocales: string[]
  /** Where a form whose answer leads on may lead beside this origin. */
  formActions: string[]
  loginHint: string | undefined
  /**
   * Whether all that the account takes is to be given, also where the browser is remembered: what was asked for may
   * need it.
   */
  asksAll: boolean
  /** Whether the person should see the sign-up page first. */
  wantsSignUp: boolean
  /** Where a sign-in leads: a local path or an absolute URL. */
  next: string
  /**
   * The authorization request of an app on a device, without the parameters that a sign-in settles; `null` for any
   * other journey. The sign-in page answers it itself, because such an app gets a code only as the answer to a page.
   */
  nativeRequest: ClientRequest | null
}

export interface Journeys {
  /**
   * The journey that the page's own query string describes.
   * @throws OAuthError for a bad client or redirect URI, which nothing leads on to
   */
  read(request: FastifyRequest): Promise<Journey>
  /** The same of a query string, `''` or `?…`, that was kept meanwhile. */
  from(query: string): Promise<Journey>
}
