import { Type } from '@sinclair/typebox'
import type { Clock } from '../../ports/clock.ts'
import { type Endpoint, endpoint } from '../../http/edge/endpoint.ts'
import type { Registrations } from './registrations.ts'

const Metadata = {
  redirect_uris: Type.Array(Type.String()),
  token_endpoint_auth_method: Type.String(),
  grant_types: Type.Array(Type.String()),
  response_types: Type.Array(Type.String()),
  client_name: Type.Optional(Type.String()),
  client_uri: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String()),
  application_type: Type.Optional(Type.String()),
  jwks_uri: Type.Optional(Type.String()),
  jwks: Type.Optional(Type.Object({}, { additionalProperties: true }))
}

/** `POST /auth/clients`. @see RFC 7591 §3 */
export function registrationEndpoint(registered: Registrations, clock: Clock): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: 'clients',
      callers: 'anyone',
      fromAnyPage: true,
      isProtocol: true,
      cors: 'anyOrigin',
      summary: 'Register a client',
      what:
        'A program registers itself (RFC 7591). Nothing is stored: the id contains the metadata, and equal metadata ' +
        'gives the equal id. Redirect URIs are `https:`, `http:` on a loopback host, or have a private-use scheme ' +
        'with a dot or of `clientRegistration.redirectSchemes`. A client that asks for a secret is answered ' +
        '`token_endpoint_auth_method: "none"`. Unknown members and `software_statement` are ignored.',
      body: Type.Object({}, { additionalProperties: true }),
      answers: {
        201: Type.Object({ client_id: Type.String(), client_id_issued_at: Type.Integer(), ...Metadata })
      },
      errors: { 400: ['invalid_redirect_uri', 'invalid_client_metadata'] },
      handle: (request) => registered.register(request.body, clock.now())
    })
  ]
}
