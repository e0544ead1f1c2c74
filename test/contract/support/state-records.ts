import type { Consent, State } from '../../../lib/ports/state.ts'
import type { BrowserSession } from '../../../lib/ports/session-store.ts'
import type {
  CodeRedemption,
  NewAuthorizationCode,
  NewRefreshTokenFamily,
  TokenUse
} from '../../../lib/ports/token-store.ts'
import { digest } from '../../../lib/protocol/digest.ts'
import { newCredentialId, oneTimeToken, sidOf, deviceIdOf } from '../../../lib/protocol/credential.ts'

/** Records of real sizes. Every string of a person or a client contains `bytes-of`. */
export const MINUTE = 60_000
export const NOW = Date.UTC(2026, 5, 1)
export const END = NOW + 60 * MINUTE

export const userOf = (name: string): string => `bytes-of-user-6f1c0a4e-9b2d-${name.padStart(8, '0')}`
export const sidFor = (userId: string, name: string): string =>
  sidOf(newCredentialId(userId, digest(`${userId} ${name}`).slice(0, 22)))
export const secretOf = (name: string): string => digest(`secret ${name}`)

const USER_AGENT =
  'Mozilla/5.0 (bytes-of Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'
const CLIENT = 'bytes-of-client'
const SCOPE = 'openid email bytes-of offline_access'
const authorization = JSON.stringify({
  redirectUri: 'https://bytes-of.example.com/callback',
  codeChallenge: digest('verifier'),
  nonce: digest('nonce').slice(0, 22)
})

/** The common fields of a family and a code. */
const granted = (userId: string, name: string) => ({
  sid: sidFor(userId, name),
  userId,
  clientId: CLIENT,
  scope: SCOPE,
  authenticatedAt: NOW,
  acr: 'password',
  amr: ['pwd'],
  createdAt: NOW,
  sessionSid: sidFor(userId, 'session'),
  offline: true
})
export const family = (
  userId: string,
  name: string,
  fields: Partial<NewRefreshTokenFamily> = {}
): NewRefreshTokenFamily => ({
  ...granted(userId, name),
  lastUsedAt: NOW,
  expiresAt: END,
  idleExpiresAt: END,
  userAgent: USER_AGENT,
  authorization: null,
  tokenDigest: secretOf(name),
  ...fields
})
export const code = (
  userId: string,
  name: string,
  fields: Partial<NewAuthorizationCode> = {}
): NewAuthorizationCode => ({
  ...granted(userId, name),
  authorization,
  codeDigest: secretOf(name),
  codeExpiresAt: NOW + MINUTE,
  ...fields
})
export const redemption = (userId: string, name: string, fields: Partial<CodeRedemption> = {}): CodeRedemption => ({
  sid: sidFor(userId, name),
  digest: secretOf(name),
  clientId: CLIENT,
  now: NOW,
  tokenDigest: secretOf(`${name} token`),
  expiresAt: END,
  idleExpiresAt: END,
  onlineExpiresAt: NOW + 15 * MINUTE,
  userAgent: USER_AGENT,
  ...fields
})
export const use = (userId: string, name: string, fields: Partial<TokenUse> = {}): TokenUse => ({
  sid: sidFor(userId, name),
  digest: secretOf(name),
  now: NOW,
  graceMs: 10_000,
  idleExpiresAt: END,
  clientId: CLIENT,
  ...fields
})
export const session = (userId: string, name: string, fields: Partial<BrowserSession> = {}): BrowserSession => ({
  sid: sidFor(userId, name),
  userId,
  authenticatedAt: NOW,
  methods: [{ method: 'password', at: NOW }],
  createdAt: NOW,
  lastUsedAt: NOW,
  expiresAt: END,
  idleExpiresAt: END,
  userAgent: USER_AGENT,
  clientIds: [CLIENT],
  ...fields
})
export const consent = (userId: string, fields: Partial<Consent> = {}): Consent => ({
  userId,
  clientId: CLIENT,
  scopes: SCOPE.split(' '),
  grantedAt: NOW,
  expiresAt: END,
  ...fields
})

const DEVICE = deviceIdOf('WDJBMJHT')

/** Every operation of every store once, by its name, so that most find something to do. */
export function operations(
  { tokens, oneTimeTokens, browserSessions, consents, keys, assertions, devices, time }: State,
  user: string
): Array<[name: string, call: () => Promise<unknown>]> {
  const mail = oneTimeToken(user, secretOf('mail')).digest
  const key = {
    kid: 'kid',
    alg: 'ES256',
    sequence: 1,
    signsFrom: NOW,
    createdAt: NOW,
    publicJwk: { kty: 'EC' },
    sealed: 'sealed'
  }
  return [
    ['tokens.createFamily', () => tokens.createFamily(family(user, 'phone'))],
    ['tokens.createCode', () => tokens.createCode(code(user, 'code'))],
    ['tokens.redeemCode', () => tokens.redeemCode(redemption(user, 'code'))],
    ['tokens.findFamily', () => tokens.findFamily(sidFor(user, 'phone'), NOW)],
    ['tokens.peekToken', () => tokens.peekToken(use(user, 'phone'))],
    ['tokens.useToken', () => tokens.useToken(use(user, 'phone'))],
    [
      'tokens.rotateToken',
      () => tokens.rotateToken(use(user, 'phone'), { digest: secretOf('next'), sealed: secretOf('sealed') })
    ],
    [
      'tokens.undoRotation',
      () =>
        tokens.undoRotation({
          sid: sidFor(user, 'phone'),
          digest: secretOf('next'),
          replacedDigest: secretOf('phone'),
          former: null
        })
    ],
    ['tokens.listFamiliesOfUser', () => tokens.listFamiliesOfUser(user, NOW)],
    ['tokens.revokeFamily', () => tokens.revokeFamily(sidFor(user, 'code'), user)],
    ['tokens.revokeSession', () => tokens.revokeSession(user, sidFor(user, 'browser'), CLIENT)],
    ['tokens.revokeFamiliesOfClient', () => tokens.revokeFamiliesOfClient(user, CLIENT)],
    ['tokens.revokeFamiliesOfUser', () => tokens.revokeFamiliesOfUser(user)],
    [
      'oneTimeTokens.put',
      () => oneTimeTokens.put({ purpose: 'verify_email', digest: mail, userId: user, expiresAt: END })
    ],
    ['oneTimeTokens.find', () => oneTimeTokens.find('verify_email', mail, NOW)],
    ['oneTimeTokens.consume', () => oneTimeTokens.consume('verify_email', mail, NOW)],
    ['oneTimeTokens.discard', () => oneTimeTokens.discard('verify_email', user)],
    [
      'oneTimeTokens.redeemCode',
      async () => await oneTimeTokens.redeemCode?.({ purpose: 'sign_in_code', owner: user, codeDigest: mail, now: NOW })
    ],
    [
      'browserSessions.createSession',
      () => browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
    ],
    [
      'browserSessions.findSession',
      () => browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW)
    ],
    [
      'browserSessions.useSession',
      () =>
        browserSessions.useSession({
          sid: sidFor(user, 'browser'),
          digest: secretOf('browser'),
          now: NOW,
          idleExpiresAt: END,
          clientId: 'bytes-of-another'
        })
    ],
    [
      'browserSessions.renewSession',
      () =>
        browserSessions.renewSession({
          sid: sidFor(user, 'browser'),
          userId: user,
          formerDigest: secretOf('browser'),
          digest: secretOf('renewed'),
          now: NOW,
          authenticatedAt: NOW,
          methods: [{ method: 'password', at: NOW }],
          expiresAt: END,
          idleExpiresAt: END
        })
    ],
    ['browserSessions.listSessionsOfUser', () => browserSessions.listSessionsOfUser(user, NOW)],
    ['browserSessions.revokeSessionsOfUser', () => browserSessions.revokeSessionsOfUser(user)],
    ['consents.grantConsent', () => consents.grantConsent(consent(user))],
    ['consents.findConsent', () => consents.findConsent(user, CLIENT, NOW)],
    ['consents.listConsents', () => consents.listConsents(user, NOW)],
    ['consents.revokeConsent', () => consents.revokeConsent(user, CLIENT)],
    ['keys.addIfAbsent', () => keys.addIfAbsent(key)],
    ['keys.list', () => keys.list()],
    ['keys.retire', () => keys.retire('kid')],
    ['keys.remove', () => keys.remove('kid')],
    ['assertions.claim', async () => await assertions?.claim(secretOf('assertion'), END)],
    [
      'devices.create',
      async () =>
        await devices?.create({
          id: DEVICE,
          digest: secretOf('device'),
          clientId: CLIENT,
          scope: SCOPE,
          resources: [],
          createdAt: NOW,
          expiresAt: END,
          ip: null,
          userAgent: USER_AGENT,
          jkt: null,
          intervalMs: 5000
        })
    ],
    ['devices.claim', async () => await devices?.claim(DEVICE, sidFor(user, 'browser'), NOW)],
    [
      'devices.decide',
      async () => await devices?.decide({ id: DEVICE, sid: sidFor(user, 'browser'), now: NOW, codeId: 'code' })
    ],
    [
      'devices.poll',
      async () => await devices?.poll({ id: DEVICE, digest: secretOf('device'), clientId: CLIENT, now: NOW })
    ],
    ['time', async () => await time?.()]
  ]
}
