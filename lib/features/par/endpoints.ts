import { Type } from '@sinclair/typebox'
import type { PushedRequests } from '../../authorize/deps.ts'
import { OAuthError } from '../../errors.ts'
import { clientAlone, provenClient } from '../../http/edge/proven-client.ts'
import { CLIENT_FIELDS } from '../../http/edge/schemas.ts'
import { endpoint } from '../../http/edge/endpoint.ts'
import { AuthorizationRequestSchema } from '../../http/edge/schemas.ts'
import { readAuthorizationParams } from '../../protocol/authorization-params.ts'
import { CLIENT_PARAMS } from '../../protocol/client-authentication.ts'
import { readParams } from '../../protocol/request-params.ts'

/** `POST /auth/par`. @see RFC 9126 §2 */
export const pushRequest = (pushed: PushedRequests) =>
  endpoint({
    method: 'POST',
    path: 'par',
    callers: 'anyone',
    proof: 'client_secret',
    isProtocol: true,
    cors: 'ofClients',
    takes: 'form',
    summary: 'Push an authorization request',
    what:
      'Takes the parameters of an authorization request (RFC 9126) from the client itself, which authenticates as at ' +
      'the token endpoint, and checks them as the authorization endpoint does. The browser then brings `client_id` ' +
      'and `request_uri` alone, and all other parameters are ignored. A `request_uri` begins within `expires_in` ' +
      'seconds, leaves an hour for the sign-in, and is used up by the code.',
    body: Type.Composite([AuthorizationRequestSchema, Type.Omit(Type.Object(CLIENT_FIELDS), ['client_id'])]),
    answers: {
      201: Type.Object({
        request_uri: Type.String(),
        expires_in: Type.Integer({ description: 'Seconds in which a browser must bring it.' })
      })
    },
    errors: {
      400: [
        'invalid_request',
        'invalid_scope',
        'invalid_target',
        'unauthorized_client',
        'unsupported_response_type',
        'request_not_supported',
        'invalid_dpop_proof',
        'use_dpop_nonce'
      ],
      401: 'invalid_client',
      429: { too_many_requests: 'rule `refresh`: failed client authentication' },
      503: 'temporarily_unavailable'
    },
    isOn: ({ openid }) => openid !== null,
    handle: async (request, reply, { clientsOf, grants, limiter, openid }) => {
      const sent = readParams(request.body, CLIENT_PARAMS)
      const { client, jkt } = await provenClient(request, reply, sent, { clientsOf, grants, limiter }, clientAlone)
      const params = readAuthorizationParams(request.body)
      // RFC 9449 §10.1: a DPoP proof binds the code to its key, just as the parameter `dpop_jkt` does.
      if (jkt !== null && (params.dpop_jkt ?? jkt) !== jkt)
        throw new OAuthError('invalid_dpop_proof', 'dpop_jkt names another key than the proof.')
      if (params.request_uri !== undefined)
        throw new OAuthError('invalid_request', 'A pushed request has no request_uri.')
      const asked = pushed.push({
        ...params,
        ...(jkt === null ? {} : { dpop_jkt: jkt }),
        client_id: client.clientId
      })
      await openid?.checkRequest(asked)
      return { request_uri: asked.pushed.uri, expires_in: pushed.expiresInSeconds }
    }
  })
