import { jwtEngine } from '../../../lib/adapters/jwt/jwt-engine.ts'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { memoryUserStore } from '../../../lib/adapters/memory/user-store.ts'
import { systemRandom } from '../../../lib/adapters/node/system.ts'
import { createEvents } from '../../../lib/events/emitter.ts'
import { fixedKeyRing, type KeyRing } from '../../../lib/keys/key-ring.ts'
import { admittedFor } from '../../support/admitted.ts'
import type { Client, ClientStore } from '../../../lib/ports/client-store.ts'
import type { LoadedKey } from '../../../lib/ports/cryptography.ts'
import type { RefreshTokenFamily } from '../../../lib/ports/token-store.ts'
import type { User } from '../../../lib/ports/user-store.ts'
import { digest } from '../../../lib/protocol/digest.ts'
import { formatCredential, newCredentialId, sidOf } from '../../../lib/protocol/credential.ts'
import { delayed, steppedClock } from '../../../lib/testing/index.ts'
import { accessTokens } from '../../../lib/tokens/access-tokens.ts'
import { verifiedTokenCache } from '../../../lib/tokens/verified-token-cache.ts'
import { idTokens } from '../../../lib/tokens/id-tokens.ts'
import type { ClaimsFunction } from '../../../lib/tokens/disclosure.ts'
import { revocations, sessions as createSessions } from '../../../lib/sessions/sessions.ts'

export const ISSUER = 'https://auth.example.com'
export const SECRET = 'a'.repeat(32)
export const SCOPES = ['openid', 'profile', 'email', 'phone', 'address', 'offline_access', 'read']

export const ann: User = {
  id: 'u1',
  username: 'ann',
  passwordHash: null,
  email: 'ann@example.com',
  emailVerified: true,
  name: 'Ann',
  phone_number: '+41'
}
export const clients: Client[] = [
  { clientId: 'spa' },
  { clientId: 'own', clientSecret: SECRET },
  { clientId: 'api', clientSecret: SECRET, firstParty: false },
  { clientId: 'other', clientSecret: SECRET, firstParty: false }
]

/** Caches the keys, so that each test does not generate its own. */
const keys = new Map<string, Promise<LoadedKey>>()
export function keyOf(alg: string): Promise<LoadedKey> {
  const key = keys.get(alg) ?? jwtEngine.generate(alg).then(jwtEngine.load)
  keys.set(alg, key)
  return key
}

export interface WorldOptions {
  algs?: string[]
  audience?: string | string[]
  claims?: ClaimsFunction
  ring?: (ring: KeyRing) => KeyRing
}

/** The parts that make and judge tokens, in memory and over stores that answer late. */
export async function world({
  algs = ['ES256', 'RS256'],
  audience = ISSUER,
  claims,
  ring: change = (ring) => ring
}: WorldOptions = {}) {
  const clock = steppedClock()
  const random = systemRandom()
  const state = memoryState()
  const users = memoryUserStore([{ ...ann }, { ...ann, id: 'gone', username: 'gone', disabled: true }])
  const tokens = delayed(state.tokens)
  const ring = change(fixedKeyRing(await Promise.all(algs.map(keyOf))))
  const revoked = revocations(900_000, clock)
  const sessions = createSessions({
    tokens,
    browserSessions: delayed(state.browserSessions),
    oneTimeTokens: delayed(state.oneTimeTokens),
    revocations: revoked,
    events: createEvents(
      () => clock.now(),
      (error) => {
        throw error
      }
    ),
    clock,
    onSessionsEnded() {}
  })
  const access = accessTokens(
    { issuer: ISSUER, audience, clockSkewSeconds: 60, expiresInSeconds: 900, typ: 'at+jwt' },
    { ring, cache: verifiedTokenCache(100), revocations: revoked, clock, random, resources: [] }
  )
  const clientStore: ClientStore = {
    findById: async (clientId) => clients.find((client) => client.clientId === clientId) ?? null
  }
  return {
    clock,
    state,
    users,
    tokens,
    ring,
    sessions,
    accessTokens: access,
    clients: clientStore,
    claims: claims ?? null,
    issuer: ISSUER,
    audience: [audience].flat(),
    resources: [],
    scopes: SCOPES,
    idTokens: idTokens(
      { issuer: ISSUER, expiresInSeconds: 900, claims: 'requested' },
      { ring, clock, random, claims: claims ?? null, scopes: SCOPES }
    ),
    /** A sign-in: its family, refresh token and access token. */
    async signIn({
      userId = 'u1',
      clientId = null,
      scope = 'openid',
      ...rest
    }: Partial<RefreshTokenFamily> = {}): Promise<{ sid: string; refreshToken: string; accessToken: string }> {
      const familyId = newCredentialId(userId, random.id())
      const secret = random.secret()
      const sid = sidOf(familyId)
      const now = clock.now()
      await state.tokens.createFamily({
        sid,
        userId,
        clientId,
        scope,
        authenticatedAt: now,
        acr: 'password',
        amr: ['pwd'],
        createdAt: now,
        lastUsedAt: now,
        expiresAt: now + 86_400_000,
        idleExpiresAt: now + 3_600_000,
        userAgent: null,
        sessionSid: null,
        offline: true,
        authorization: null,
        ...rest,
        tokenDigest: digest(secret)
      })
      const accessToken = access.mint({
        sub: userId,
        scopes: admittedFor(scope),
        sid,
        ...(clientId === null ? {} : { client_id: clientId }),
        authentication: { acr: 'password', amr: ['pwd'], authenticatedAt: now },
        extra: { email: 'ann@example.com' }
      })
      return { sid, refreshToken: formatCredential(familyId, secret), accessToken }
    }
  }
}

export type World = Awaited<ReturnType<typeof world>>
