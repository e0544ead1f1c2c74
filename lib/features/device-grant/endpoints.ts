import { Type } from '@sinclair/typebox'
import { isPublic } from '../../clients/rights.ts'
import { type Endpoint, endpoint } from '../../http/edge/endpoint.ts'
import { clientAlone, provenClient } from '../../http/edge/proven-client.ts'
import { CLIENT_FIELDS } from '../../http/edge/schemas.ts'
import { originOf } from '../../http/edge/request-origin.ts'
import { checkGrantAllowed, findGrant } from '../../oauth/grants/registry.ts'
import type { DeviceStore } from '../../ports/device-store.ts'
import { MAX_COUNTED } from '../../protocol/bounds.ts'
import { DEVICE_CODE_GRANT, parseDeviceRequest, serializeParams } from '../../protocol/request-params.ts'
import type { DeviceSettings } from './options.ts'
import { askForDevice } from './requests.ts'

/**
 * Multiplies the limit of the rule `device` for the requests of public clients from one IP address. The rule itself is
 * meant for wrong codes.
 */
const REQUESTS_OF_ADDRESS = 20

const DeviceRequestBody = Type.Object({
  scope: Type.Optional(Type.String()),
  resource: Type.Optional(Type.String({ description: 'An API (RFC 8707). May be repeated.' })),
  audience: Type.Optional(Type.String({ description: 'The same as `resource`.' })),
  ...CLIENT_FIELDS
})

/** `POST /auth/device`. @see RFC 8628 §3.1, §3.2 */
export function deviceEndpoint(
  on: DeviceSettings,
  { devices, pageUrl }: { devices: DeviceStore; pageUrl: string }
): Endpoint {
  return endpoint({
    method: 'POST',
    path: 'device',
    callers: 'anyone',
    proof: 'client_secret',
    isProtocol: true,
    cors: 'ofClients',
    takes: 'form',
    summary: 'Ask for a device code',
    what:
      'Begins the device grant (RFC 8628) for a client that lists it. The device shows `user_code` and ' +
      '`verification_uri`, and polls the token endpoint with `device_code`. The page at `verification_uri_complete` ' +
      'has the code filled in, and a person still sends it. Clients authenticate as at the token endpoint. Without ' +
      '`scope` it is `openid`, and scopes that cannot be granted are left out. A proof ' +
      'in the header `DPoP` binds the code to its key. Exists with the option `deviceGrant`.',
    body: DeviceRequestBody,
    answers: {
      200: Type.Object({
        device_code: Type.String(),
        user_code: Type.String({ description: 'Eight letters with a hyphen in the middle.' }),
        verification_uri: Type.String(),
        verification_uri_complete: Type.String(),
        expires_in: Type.Integer({ description: 'Seconds.' }),
        interval: Type.Integer({ description: 'Seconds between two polls.' })
      })
    },
    errors: {
      400: ['invalid_scope', 'invalid_target', 'unauthorized_client', 'invalid_dpop_proof', 'use_dpop_nonce'],
      401: 'invalid_client',
      429: { too_many_requests: 'rule `device`, and `refresh` for failed client authentication' }
    },
    handle: async (request, reply, { clientsOf, grants, limiter }) => {
      const params = parseDeviceRequest(request.body)
      const origin = originOf(request)
      const { client, jkt } = await provenClient(request, reply, params, { clientsOf, grants, limiter }, clientAlone)
      checkGrantAllowed(findGrant(DEVICE_CODE_GRANT, grants), client)
      const apart = {
        name: 'device requests',
        together: MAX_COUNTED,
        ofAddress: isPublic(client) ? REQUESTS_OF_ADDRESS : 0
      }
      const { deviceCode, userCode } = await limiter.reserve(
        request,
        reply,
        { rule: 'device', kept: true, apart },
        async () => await askForDevice({ params, client, jkt, origin }, on, { ...grants, devices })
      )
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: pageUrl,
        verification_uri_complete: `${pageUrl}?${serializeParams({ user_code: userCode })}`,
        expires_in: on.expiresInMs / 1000,
        interval: on.intervalMs / 1000
      }
    }
  })
}
