/** The demands of auth0-spa-js and keycloak-js on a provider, besides OpenID Connect. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

const TOKEN = '/auth/token'

/** The paths of Auth0. */
export const TRANSLATED: Record<string, string> = { '/authorize': '/auth/authorize', '/oauth/token': TOKEN }

interface Answer {
  id_token?: string
  refresh_token?: string
}

/**
 * The issuer of Auth0 ends with a slash; its client looks at the claim, and at no signature. Its sign-out takes other
 * parameters, and has no ID token to show: here it is the last one.
 */
export function asAuth0(app: FastifyInstance, origin: string): void {
  let hint = ''
  translateAnswers(app, (answer) => {
    if (answer.id_token === undefined) return answer
    hint = answer.id_token
    const [header, claims = '', signature] = hint.split('.')
    const translated = { ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), iss: `${origin}/` }
    return { ...answer, id_token: [header, encode(translated), signature].join('.') }
  })
  app.get<{ Querystring: { client_id: string; returnTo: string } }>(
    '/v2/logout',
    async ({ query }, reply) =>
      await reply.redirect(
        `/auth/logout?${new URLSearchParams({ client_id: query.client_id, post_logout_redirect_uri: query.returnTo, id_token_hint: hint }).toString()}`
      )
  )
}

/** The refresh tokens of Keycloak are JWTs, and its client reads them. */
export function asKeycloak(app: FastifyInstance): void {
  translateAnswers(app, (answer) =>
    answer.refresh_token === undefined
      ? answer
      : { ...answer, refresh_token: `${encode({})}.${encode({ token: answer.refresh_token })}.` }
  )
  app.addHook('preValidation', async ({ url, body }) => {
    const form = body as { refresh_token?: string }
    if (!url.startsWith(TOKEN) || form.refresh_token === undefined) return
    form.refresh_token = (
      JSON.parse(Buffer.from(form.refresh_token.split('.')[1] ?? '', 'base64url').toString()) as { token: string }
    ).token
  })
}

/**
 * keycloak-js sends cookies with everything, which this plugin allows no page of another origin, whatever its host
 * says.
 */
export function allowCredentials(response: ServerResponse): void {
  const { writeHead } = response
  response.writeHead = (...args: unknown[]) => {
    response.setHeader('access-control-allow-credentials', 'true')
    return Reflect.apply(writeHead, response, args) as ServerResponse
  }
}

function translateAnswers(app: FastifyInstance, translate: (answer: Answer) => Answer): void {
  app.addHook('onSend', async ({ url }, _reply, payload) =>
    url.startsWith(TOKEN) && typeof payload === 'string'
      ? JSON.stringify(translate(JSON.parse(payload) as Answer))
      : payload
  )
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
