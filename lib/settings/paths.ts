/**
 * The paths below `prefix` of all pages and endpoints that other code links to or that an option moves. All other
 * endpoints declare their own path. A path with `/.well-known/` is not below `prefix`. `null`: `places.ts` or an option
 * decides.
 */
export const PATHS = {
  token: '/token',
  clients: '/clients',
  refresh: '/refresh',
  revoke: '/revoke',
  introspect: '/introspect',
  par: '/par',
  userinfo: '/userinfo',
  account: '/account',
  passkeyChallenge: '/passkey-challenge',
  session: '/session',
  authorize: '/authorize',
  login: '/login',
  secondFactor: '/second-factor',
  passkeyPrompt: '/passkey-prompt',
  reauthenticate: '/reauthenticate',
  emailCode: '/email-code',
  emailLink: '/email-link',
  secondFactorLink: '/second-factor/link',
  secondFactorSetUp: '/second-factor/set-up',
  signup: '/signup',
  checkEmail: '/check-email',
  device: '/device',
  accountProfile: '/account/profile',
  accountEmail: '/account/email',
  accountPassword: '/account/password',
  accountSessions: '/account/sessions',
  accountAccess: '/account/access',
  accountApiKeys: '/account/api-keys',
  accountConnections: '/account/connections',
  accountRemove: '/account/remove',
  security: '/security',
  securityTotp: '/security/totp',
  securityPasskeys: '/security/passkeys',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  verifyEmail: '/verify-email',
  acceptInvitation: '/accept-invitation',
  undo: '/undo',
  admin: '/admin',
  consent: '/consent',
  logout: '/logout',
  connect: '/connect',
  jwks: '/.well-known/jwks.json',
  webauthn: '/.well-known/webauthn',
  changePassword: '/.well-known/change-password',
  devicePage: null,
  metadata: null,
  openidConfiguration: null
} as const

export type PathName = keyof typeof PATHS

/** The usual paths of the endpoints for which `PATHS` has none. */
const ELSEWHERE: { [Name in PathName as (typeof PATHS)[Name] extends null ? Name : never]: string } = {
  devicePage: '/device',
  metadata: '/.well-known/oauth-authorization-server',
  openidConfiguration: '/.well-known/openid-configuration'
}

/** The path of each route with the default options. */
export const USUAL_PATHS = {
  ...Object.fromEntries(
    Object.entries(PATHS).map(([name, path]) => [
      name,
      path?.startsWith('/.well-known/') === true ? path : `/auth${path}`
    ])
  ),
  ...ELSEWHERE
} as Readonly<Record<PathName, string>>

/** The endpoints that the option `paths` moves, for a host that replaces another provider. */
export const MOVABLE = [
  'token',
  'refresh',
  'revoke',
  'introspect',
  'userinfo',
  'authorize',
  'logout',
  'login',
  'jwks'
] as const satisfies readonly PathName[]
export type MovablePath = (typeof MOVABLE)[number]
