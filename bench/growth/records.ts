/**
 * The records that the growth benchmark keeps: the same for every store, each made from its number alone, with the
 * lengths and the fields of real ones. Every two families are one user's, as if each user had two devices.
 */
import { hash } from 'node:crypto'
import type { AttemptLimit } from '../../lib/ports/attempt-store.ts'
import type { BrowserSession } from '../../lib/ports/session-store.ts'
import type {
  CodeRedemption,
  NewAuthorizationCode,
  NewRefreshTokenFamily,
  Successor,
  TokenUse
} from '../../lib/ports/token-store.ts'
import { digest } from '../../lib/protocol/digest.ts'
import { newCredentialId, sealSuccessor, sidOf } from '../../lib/protocol/credential.ts'

const DAY_MS = 86_400_000
export const NOW = Date.now()
const USER_AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36'
export const CLIENT = 'web-app-production'
const SCOPE = 'openid profile email offline_access'

/** A string of its own: strings that share their bytes would make memory look cheaper than requests do. */
const own = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

/** 36 characters, as a UUID has. */
export function userId(number: number): string {
  const hex = hash('sha256', `user:${number}`)
  return own([hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-'))
}

const idOf = (kind: string, number: number, user: string): string =>
  newCredentialId(user, hash('sha256', `${kind}:${number}`, 'buffer').toString('base64url', 0, 16))
const secretOf = (kind: string, number: number, generation: number): string =>
  hash('sha256', `secret:${kind}:${number}:${generation}`, 'base64url')

const ownerOf = (number: number): string => userId(Math.floor(number / 2))
const lifetime = { expiresAt: NOW + 30 * DAY_MS, idleExpiresAt: NOW + 14 * DAY_MS }

/** The refresh token itself, as a client presents it. */
export function tokenOf(number: number, generation: number): string {
  return `${idOf('family', number, ownerOf(number))}.${secretOf('family', number, generation)}`
}

export function familyOf(number: number, user = ownerOf(number)): NewRefreshTokenFamily {
  return {
    sid: sidOf(idOf('family', number, user)),
    userId: user,
    clientId: null,
    scope: own(SCOPE),
    authenticatedAt: NOW,
    acr: 'password',
    amr: ['pwd'],
    createdAt: NOW,
    lastUsedAt: NOW,
    ...lifetime,
    userAgent: own(USER_AGENT),
    sessionSid: null,
    offline: true,
    authorization: null,
    tokenDigest: digest(secretOf('family', number, 0))
  }
}

/** A use of the token that `generation` rotations have left. */
export function useOf(number: number, generation: number, user = ownerOf(number)): TokenUse {
  const sid = sidOf(idOf('family', number, user))
  return {
    sid,
    digest: digest(secretOf('family', number, generation)),
    now: NOW + 1000,
    graceMs: 30_000,
    idleExpiresAt: lifetime.idleExpiresAt,
    clientId: null
  }
}

export function successorOf(number: number, generation: number): Successor {
  const next = secretOf('family', number, generation + 1)
  return { digest: digest(next), sealed: sealSuccessor(secretOf('family', number, generation), next) }
}

export function codeOf(number: number, user: string): NewAuthorizationCode {
  return {
    sid: sidOf(idOf('code', number, user)),
    userId: user,
    clientId: own(CLIENT),
    scope: own(SCOPE),
    authenticatedAt: NOW,
    acr: 'password',
    amr: ['pwd'],
    createdAt: NOW,
    sessionSid: sessionOf(number, user).sid,
    offline: true,
    codeDigest: digest(secretOf('code', number, 0)),
    codeExpiresAt: NOW + DAY_MS,
    authorization: JSON.stringify({
      redirectUri: 'https://app.example.com/signed-in',
      codeChallenge: digest(String(number)),
      nonce: secretOf('nonce', number, 0).slice(0, 22)
    })
  }
}

export function redemptionOf(number: number, user: string): CodeRedemption {
  return {
    sid: sidOf(idOf('code', number, user)),
    digest: digest(secretOf('code', number, 0)),
    clientId: CLIENT,
    now: NOW + 1000,
    tokenDigest: digest(secretOf('code', number, 1)),
    ...lifetime,
    onlineExpiresAt: NOW + DAY_MS,
    userAgent: own(USER_AGENT)
  }
}

export function sessionOf(number: number, user = ownerOf(number)): BrowserSession {
  return {
    sid: sidOf(idOf('session', number, user)),
    userId: user,
    authenticatedAt: NOW,
    methods: [{ method: 'password', at: NOW }],
    createdAt: NOW,
    lastUsedAt: NOW,
    ...lifetime,
    userAgent: own(USER_AGENT),
    clientIds: [own(CLIENT)]
  }
}

export const sessionDigest = (number: number): string => digest(secretOf('session', number, 0))

/**
 * One sign-in attempt's three limits, each with a key of its own. Wide enough that nothing is refused, or expires, in a
 * run.
 */
export function limitsOf(number: number): AttemptLimit[] {
  return ['login', 'account', 'device'].map((rule) => ({
    rule,
    key: digest(`${rule}:${number}`),
    windowMs: DAY_MS,
    max: 1000
  }))
}

/** Every number from 0 up to `count`, once, in an order that no cache can guess. `count` is a power of ten. */
export function numberAt(turn: number, count: number): number {
  return ((turn % count) * 618_033) % count
}
