import { Type } from '@sinclair/typebox'
import type { PushedRequests } from '../../authorize/deps.ts'
import { OAuthError } from '../../errors.ts'
import { rememberClient } from '../../http/edge/cors.ts'
import { readProof, tellNonce } from '../../http/edge/possession.ts'
import { endpoint } from '../../http/edge/endpoint.ts'
import { originOf } from '../../http/edge/request-origin.ts'
import { AuthorizationRequestSchema } from '../../http/edge/schemas.ts'
import { authenticateClient } from '../../oauth/authenticate-client.ts'
import { readAuthorizationParams } from '../../protocol/authorization-params.ts'
import { CLIENT_PARAMS, invalidClient } from '../../protocol/client-authentication.ts'
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
    body: Type.Composite([
      AuthorizationRequestSchema,
      Type.Object({
        client_secret: Type.Optional(Type.String()),
        client_assertion: Type.Optional(Type.String()),
        client_assertion_type: Type.Optional(Type.String())
      })
    ]),
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
      const credentials = readParams(request.body, CLIENT_PARAMS)
      const { possession } = grants
      const caller = await limiter.countFailure(request, reply, async () => {
        const proof = readProof(request, possession)
        if (proof instanceof OAuthError) return proof
        const client = await authenticateClient(request.headers.authorization, credentials, originOf(request), {
          clients: clientsOf(request),
          grants
        })
        if (client === null) throw invalidClient(undefined)
        if (proof !== null) {
          await possession?.spend(proof)
          tellNonce(proof, reply)
        }
        return { client, jkt: proof?.jkt }
      })
      if (caller instanceof OAuthError) throw caller
      const { client, jkt } = caller
      rememberClient(request, client.clientId)
      const params = readAuthorizationParams(request.body)
      // RFC 9449 §10.1: a proof binds the code as dpop_jkt does.
      if (jkt !== undefined && (params.dpop_jkt ?? jkt) !== jkt)
        throw new OAuthError('invalid_dpop_proof', 'dpop_jkt names another key than the proof.')
      if (params.request_uri !== undefined)
        throw new OAuthError('invalid_request', 'A pushed request has no request_uri.')
      const asked = pushed.push({
        ...params,
        ...(jkt === undefined ? {} : { dpop_jkt: jkt }),
        client_id: client.clientId
      })
      await openid?.checkRequest(asked)
      return { request_uri: asked.pushed.uri, expires_in: pushed.expiresInSeconds }
    }
  })
