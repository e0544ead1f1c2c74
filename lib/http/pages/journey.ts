import type { FastifyRequest } from 'fastify'
import type { ClientRequest } from '../../authorize/authorize.ts'

/** The origin and the goal of a person on a hosted page: an authorization request, a path of the host, or none. */
export interface Journey {
  /** `''`, or `?…` to append to the addresses of pages and forms, so that the journey goes on there. */
  query: string
  clientName: string | null
  /** BCP 47, most wanted first. */
  uiLocales: string[]
  /** Targets besides this origin of a form whose answer leads on. */
  formActions: string[]
  loginHint: string | undefined
  /** True if a remembered browser must give the second factor too, because the request may need it. */
  asksAll: boolean
  /** True if the person should see the sign-up page first. */
  wantsSignUp: boolean
  /** The target of a sign-in: a local path or an absolute URL. */
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
