import { availableParallelism } from 'node:os'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TObject } from '@sinclair/typebox'
import type { RedisClient } from './adapters/redis/connection.ts'
import type { Message } from './accounts/messages.ts'
import type { PageModels, PageName } from './pages/model.ts'
import type { ClaimsFunction } from './grants/deps.ts'
import type { RateLimitOptionsOf } from './limits/rules.ts'
import type { Client, ClientStore } from './ports/client-store.ts'
import type { Clock } from './ports/clock.ts'
import type { JsonWebKeyObject } from './ports/jwt.ts'
import type { PasswordHasher } from './ports/password-hasher.ts'
import type { State } from './ports/state.ts'
import type { UserStore } from './ports/user-store.ts'

export const PATH_NAMES = [
  'token', 'refresh', 'revoke', 'introspect', 'userinfo', 'register', 'password', 'passwordReset', 'passwordResetConfirm', 'emailVerify', 'sessions', 'session',
  'authorize', 'login', 'signup', 'forgotPassword', 'resetPassword', 'verifyEmail', 'consent', 'logout', 'jwks', 'metadata', 'openidConfiguration'
] as const
export type PathName = typeof PATH_NAMES[number]
export type RateLimitOptions = RateLimitOptionsOf<FastifyRequest, FastifyReply>

export interface PasswordOptions {
  /** KiB of memory for one hash. */
  memoryCost?: number
  timeCost?: number
  parallelism?: number
  /** Least number of characters (code points) of a new password. */
  minLength?: number
  /** Most bytes (UTF-8) of any password. */
  maxBytes?: number
  /** Hashes that run at once. */
  concurrency?: number
  /** Hashes that wait; past that a request gets 503. */
  maxQueue?: number
  /** Words that make a new password too easy to guess, beside the username and the issuer's name. */
  contextWords?: string[]
  /** Whether a password is known from a breach. Where it throws or takes longer than 2 s, the password is accepted. */
  isBreached?: (password: string) => boolean | Promise<boolean>
  /** Peppers password hashes with the option `secret`. */
  pepper?: boolean
  hasher?: PasswordHasher
}

export interface RegistrationOptions {
  /** TypeBox schema of extra profile fields. */
  fields?: TObject
  /** Whether an account must confirm its e-mail before it can sign in. */
  verifyEmail?: boolean
}

export interface PagesOptions {
  /** Name of the service, at the top of every page. Default: the issuer's host name. */
  title?: string
  /** An absolute URL or a path. */
  logoUrl?: string
  /** `#rrggbb` */
  accentColor?: string
  /** Where a sign-in leads that came from nowhere. Default: the issuer's root. */
  home?: string
  /** HTML of the host's own for any page; `undefined`: the built-in one. */
  render?: RenderPage
  /** The host has its own sign-in page: an absolute URL or a path. It ends with `app.authority.signIn`. */
  loginUrl?: string
}

/** In it, `page` tells which `model` it is: `if (page === 'login') model.forgotUrl`. */
export type RenderPage = (...args: { [Name in PageName]: [page: Name, model: PageModels[Name]] }[PageName]) => string | undefined | Promise<string | undefined>

/** What `register(authPlugin, …)` takes. `docs/reference/options.md` has the table; it is made from `lib/options-schema.ts`. */
export interface AuthorityOptions {
  issuer: string
  users: UserStore
  prefix?: string
  paths?: Partial<Record<PathName, string>>
  state?: State
  /** `true`: `app.redis` of @fastify/redis; or an ioredis client. Counters live there, and the state where the option `state` names no other. */
  redis?: true | RedisClient
  secret?: string | string[]
  keys?: JsonWebKeyObject[] | { secret: string }
  clients?: Client[] | ClientStore
  passwordGrant?: 'first-party' | 'clients' | false
  scopes?: string[]
  accessToken?: { expiresIn?: number, audience?: string | string[] }
  refreshToken?: { expiresIn?: number, idleTimeout?: number, rotate?: 'oauth' | 'always' | 'never', reuseGraceSeconds?: number }
  idToken?: { expiresIn?: number }
  authorizationCode?: { expiresIn?: number }
  session?: { expiresIn?: number, idleTimeout?: number }
  pages?: false | PagesOptions
  password?: PasswordOptions
  registration?: false | RegistrationOptions
  sendMessage?: (message: Message) => void | Promise<void>
  rateLimit?: false | RateLimitOptions
  decorators?: { authenticate?: string, requireScope?: string, authority?: string, auth?: string, authSession?: string }
  claims?: ClaimsFunction
  /** For tests: `steppedClock()` of `fastify-authority/testing`. Default: the machine's clock. */
  clock?: Clock
}

/** Every default of a plain value, in one place. @see docs/reference/options.md */
export const DEFAULTS = {
  prefix: '/auth',
  passwordGrant: 'first-party',
  scopes: ['openid', 'profile', 'email', 'offline_access'],
  accessToken: { expiresIn: 900 },
  refreshToken: { expiresIn: 2_592_000, idleTimeout: 1_209_600, rotate: 'oauth', reuseGraceSeconds: 10 },
  idToken: { expiresIn: 900 },
  authorizationCode: { expiresIn: 60 },
  session: { expiresIn: 43_200, idleTimeout: 7200 },
  pages: { accentColor: '#1f5fbf' },
  password: { memoryCost: 19_456, timeCost: 2, parallelism: 1, minLength: 8, maxBytes: 1024, concurrency: availableParallelism(), maxQueue: 64, contextWords: [] as string[], pepper: false },
  decorators: { authenticate: 'authenticate', requireScope: 'requireScope', authority: 'authority', auth: 'auth', authSession: 'authSession' }
} as const
