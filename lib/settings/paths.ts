/** Every endpoint and page by its name in the option `paths`, with where it is below `prefix`; `null`: `places.ts` decides. */
export const PATHS = {
  token: '/token',
  refresh: '/refresh',
  revoke: '/revoke',
  introspect: '/introspect',
  userinfo: '/userinfo',
  register: '/register',
  password: '/password',
  passwordReset: '/password-reset',
  passwordResetConfirm: '/password-reset/confirm',
  emailVerify: '/email/verify',
  email: '/email',
  emailResend: '/email/resend',
  profile: '/profile',
  account: '/account',
  sessions: '/sessions',
  session: '/session',
  authorize: '/authorize',
  login: '/login',
  signup: '/signup',
  accountProfile: '/account/profile',
  accountEmail: '/account/email',
  accountPassword: '/account/password',
  accountSessions: '/account/sessions',
  accountAccess: '/account/access',
  accountRemove: '/account/remove',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  verifyEmail: '/verify-email',
  consent: '/consent',
  logout: '/logout',
  jwks: '/.well-known/jwks.json',
  metadata: null,
  openidConfiguration: null
} as const

export type PathName = keyof typeof PATHS
export const PATH_NAMES = Object.keys(PATHS) as PathName[]
