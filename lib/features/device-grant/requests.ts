import { grantableScopes } from '../../authorize/authorize.ts'
import type { AuthorizeDeps } from '../../authorize/deps.ts'
import { OAuthError, type OAuthErrorCode } from '../../errors.ts'
import type { GrantCall, GrantDeps, Origin, TokenResponse } from '../../oauth/deps.ts'
import { AUTHORIZATION_CODE } from '../../oauth/grants/authorization-code.ts'
import { namedResources, scopesWithin } from '../../oauth/target.ts'
import type { Client } from '../../ports/client-store.ts'
import type { DevicePollOutcome, DeviceRequest, DeviceStore } from '../../ports/device-store.ts'
import type { AuthenticationContext } from '../../protocol/authentication.ts'
import { formatAuthorizationDetails } from '../../protocol/authorization-request.ts'
import { invalidClient } from '../../protocol/client-authentication.ts'
import {
  formatCredential,
  newCredentialId,
  sidOf,
  deviceIdOf,
  formatDeviceCode,
  parseDeviceCode,
  shownUserCode,
  userCodeFrom
} from '../../protocol/credential.ts'
import { digest } from '../../protocol/digest.ts'
import { required, type TokenRequestParams } from '../../protocol/request-params.ts'
import { parseScope } from '../../protocol/scope.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { DeviceSettings } from './options.ts'

/** Maximum number of attempts to find a user code that no live request has. A collision is very rare. */
const TRIES = 5

interface NewDeviceRequest {
  params: { scope?: string; resource?: string; audience?: string }
  client: Client
  /** The thumbprint of the key of the DPoP proof. `null`: the request has no proof. */
  jkt: string | null
  origin: Origin
}

/**
 * Creates a device authorization request, and returns its codes.
 * @throws OAuthError `invalid_scope`, `invalid_target`; `temporarily_unavailable` if no free code was found
 * @see RFC 8628 §3.1, §3.2
 */
export async function askForDevice(
  { params, client, jkt, origin }: NewDeviceRequest,
  { expiresInMs, intervalMs }: DeviceSettings,
  { devices, ...deps }: GrantDeps & { devices: DeviceStore }
): Promise<{ deviceCode: string; userCode: string }> {
  const { clock, random } = deps.accounts
  const resources = namedResources(params, client, deps)
  const asked = { scopes: parseScope(params.scope), prompt: [] }
  // Excludes `authority:` scopes, because a device never gets them.
  const offered = { scopes: deps.scopes, administration: null }
  const scopes = scopesWithin(grantableScopes(asked, client, null, offered), resources, deps)
  if (scopes.length === 0) throw new OAuthError('invalid_scope', 'None of the requested scopes can be granted.')
  const now = clock.now()
  for (let tries = 0; tries < TRIES; tries++) {
    const code = userCodeFrom(random.secret())
    const [id, secret] = [deviceIdOf(code), random.secret()]
    const isCreated = await devices.create({
      id,
      digest: digest(secret),
      clientId: client.clientId,
      scope: scopes.join(' '),
      resources: resources.map(({ resource }) => resource),
      jkt,
      createdAt: now,
      expiresAt: now + expiresInMs,
      ip: origin.ip ?? null,
      userAgent: origin.userAgent ?? null,
      intervalMs
    })
    if (isCreated) return { deviceCode: formatDeviceCode(id, secret), userCode: shownUserCode(code) }
  }
  throw new OAuthError('temporarily_unavailable', 'There is no free code at the moment.')
}

interface Decision {
  request: DeviceRequest
  client: Client
  person: SignedInPerson
  /** The authentication context for the tokens. It satisfies the client's requirements. */
  authentication: AuthenticationContext
  origin: Origin
}

/**
 * Allows the request for this person, in the session that has claimed it. Creates an authorization code whose secret
 * only the device knows. Because the code belongs to the user, an event that ends the user's sign-ins also ends a code
 * that the device has not redeemed yet.
 * @returns `false` if the request has been decided or has expired, or if the session has ended
 */
export async function allowDevice(
  {
    request: { id, digest: codeDigest, scope, resources, jkt, expiresAt },
    client,
    person: { user, session },
    authentication,
    origin
  }: Decision,
  { devices, ...deps }: AuthorizeDeps & { devices: DeviceStore }
): Promise<boolean> {
  const { clock, events, random } = deps.accounts
  const now = clock.now()
  const codeId = newCredentialId(user.id, random.id())
  const sid = sidOf(codeId)
  const isCreated = await deps.tokens.createCode(
    {
      sid,
      userId: user.id,
      clientId: client.clientId,
      scope,
      ...authentication,
      createdAt: now,
      // Independent of the browser session: a person may allow the access on a shared computer and then sign out there.
      sessionSid: null,
      offline: scope.split(' ').includes('offline_access'),
      authorization: formatAuthorizationDetails({
        ...(resources.length === 0 ? {} : { resources }),
        ...(jkt === null ? {} : { dpopJkt: jkt })
      }),
      codeDigest,
      codeExpiresAt: expiresAt
    },
    deps.browserSessions.useOf(session)
  )
  if (!isCreated) return false
  let isDecided = false
  try {
    isDecided = await devices.decide({ id, sid: session.sid, now, codeId })
  } finally {
    if (!isDecided) await deps.sessions.revoke(user.id, sid, 'undone', origin)
  }
  if (isDecided)
    events.emit('device_authorized', { userId: user.id, sid: session.sid, clientId: client.clientId, scope }, origin)
  return isDecided
}

const REFUSALS: Readonly<Record<Exclude<DevicePollOutcome['outcome'], 'granted'>, readonly [OAuthErrorCode, string]>> =
  {
    pending: ['authorization_pending', 'The person has not decided yet.'],
    slow_down: ['slow_down', 'The poll came too early. The interval is five seconds longer now.'],
    denied: ['access_denied', 'The person did not allow it.'],
    expired: ['expired_token', 'The device code has expired.'],
    unknown: ['invalid_grant', 'The device code is invalid, expired or used.']
  }

/**
 * Answers a poll of the device. After the person has allowed the access, one poll gets the authorization code and
 * redeems it like any other.
 * @see RFC 8628 §3.4, §3.5
 */
export async function redeemDeviceCode(
  params: TokenRequestParams<'device_code'>,
  call: GrantCall,
  { devices, ...deps }: GrantDeps & { devices: DeviceStore }
): Promise<Awaited<ReturnType<typeof AUTHORIZATION_CODE.handle>> | TokenResponse> {
  const { client } = call
  if (client === null) throw invalidClient(undefined)
  const presented = parseDeviceCode(required(params, 'device_code'))
  // Checks the resources before the code is handed out, because the code works once.
  namedResources(params, client, deps)
  await deps.accessTokens.ready()
  await deps.idTokens?.ready(client)
  const polled =
    presented === null
      ? ({ outcome: 'unknown' } as const)
      : await devices.poll({
          id: presented.id,
          digest: digest(presented.secret),
          clientId: client.clientId,
          now: deps.accounts.clock.now()
        })
  if (presented === null || polled.outcome !== 'granted') {
    const [code, description] = REFUSALS[polled.outcome as keyof typeof REFUSALS]
    throw new OAuthError(code, description, { statusCode: 400, withoutStack: true })
  }
  const { grant_type, scope, resource, audience } = params
  const asked = Object.fromEntries(
    Object.entries({ scope, resource, audience }).filter(([, value]) => value !== undefined)
  )
  return await AUTHORIZATION_CODE.handle(
    { grant_type, ...asked, code: formatCredential(polled.codeId, presented.secret) },
    call,
    deps
  )
}
