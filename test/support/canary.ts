/** A request with a marker in every secret, and serializers of a host that log everything, to find secrets in a log. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export const SECRETS = [
  'code',
  'state',
  'token',
  'id_token_hint',
  'access_token',
  'refresh_token',
  'nonce',
  'login_hint',
  'code_challenge',
  'code_verifier',
  'claims',
  'username',
  'password',
  'client_secret',
  'return_to',
  'redirect_uri',
  'post_logout_redirect_uri',
  'request',
  'unheard_of'
]
export const CANARY = 'CANARY'
export const QUERY = `client_id=spa&scope=openid+profile&${SECRETS.map((name) => `${name}=${CANARY}-${name}`).join('&')}`
export const HEADERS = {
  authorization: `Bearer ${CANARY}-bearer`,
  cookie: `sid=${CANARY}-cookie`,
  referer: `http://localhost/auth/login?state=${CANARY}-referer`
}
export const everything = (request: Partial<FastifyRequest> & Partial<FastifyRequest['raw']>): object => ({
  of: 'the host',
  method: request.method,
  url: request.url,
  originalUrl: request.originalUrl,
  rawUrl: request.raw?.url,
  query: request.query,
  headers: request.headers,
  rawHeaders: request.raw?.headers,
  ip: request.ip,
  host: request.host,
  id: request.id
})
export const replyToo = (reply: FastifyReply): object => ({
  statusCode: reply.statusCode,
  url: reply.request?.url,
  headers: reply.getHeaders?.()
})
