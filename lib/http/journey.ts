import type { FastifyReply, FastifyRequest } from 'fastify'

/** Where a person on a hosted page came from and goes on to: an authorization request, a path of the host, or nowhere. */
export interface Journey {
  /** `''`, or `?…` to append to the addresses of pages and forms, so that the journey goes on there. */
  query: string
  clientName: string | null
  /** BCP 47, most wanted first. */
  uiLocales: string[]
  /** Where a form whose answer leads on may lead beside this origin. */
  formActions: string[]
  loginHint: string | undefined
  /** Where a sign-in leads: a local path or an absolute URL. */
  next: string
}

export interface Journeys {
  /**
   * The journey that the page's own query string tells of.
   * @throws OAuthError for a bad client or redirect URI, which nothing leads on to
   */
  read(request: FastifyRequest): Promise<Journey>
}

/** Signs a user in: the reply, which is not sent yet, gets the cookie of a new browser session. */
export type SignIn = (request: FastifyRequest, reply: FastifyReply, userId: string) => Promise<void>
