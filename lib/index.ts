/** The public door of `fastify-authority`. */
import { authPlugin } from './plugin.ts'

export default authPlugin
export { authPlugin }

export { OAuthError, StartError, UsernameTakenError } from './errors.ts'
export type { OAuthErrorCode, StartErrorCode } from './errors.ts'
export type { AuthorityEventHandler, AuthorityEventName, AuthorityEvents, LoginFailure } from './events.ts'
export type { AuthorityOptions, PasswordOptions, PathName, RateLimitOptions, RegistrationOptions } from './options.ts'
export type { AuthorityDecorators } from './plugin.ts'
export type { Authority, Session } from './authority.ts'
export type { ClaimsFunction, TokenResponse } from './grants/deps.ts'
export type { Message } from './accounts/messages.ts'
export type { Hook } from './http/guard.ts'
export type { AccessTokenClaims } from './protocol/access-token.ts'
export type { ApiKeyOption, LimitInfo, OnStoreError, RuleOption } from './limits/rules.ts'

export { argon2Hasher } from './adapters/argon2/argon2-hasher.ts'
export { nodeRsHasher } from './adapters/argon2/node-rs-hasher.ts'
export { memoryState } from './adapters/memory/state.ts'
export { memoryUserStore } from './adapters/memory/user-store.ts'
export { sqliteState } from './adapters/sqlite/state.ts'
export { sqliteUserStore } from './adapters/sqlite/user-store.ts'
export type { SqliteDatabase } from './adapters/sqlite/database.ts'

export type { AttemptLimit, AttemptOutcome, AttemptStanding, AttemptStore } from './ports/attempt-store.ts'
export type { Client, ClientStore, GrantType } from './ports/client-store.ts'
export type { Clock } from './ports/clock.ts'
export type { KeyStore, StoredKey } from './ports/key-store.ts'
export type { OneTimeToken, OneTimeTokenPurpose, OneTimeTokenStore } from './ports/one-time-token-store.ts'
export type { Argon2Parameters, PasswordHasher } from './ports/password-hasher.ts'
export type { State } from './ports/state.ts'
export type { NewRefreshTokenFamily, RefreshTokenFamily, RotateOutcome, Successor, TokenStore, TokenUse, UseOutcome } from './ports/token-store.ts'
export type { NewUser, User, UserStore } from './ports/user-store.ts'
