/** The exports of the package `fastify-authority`. */
import { authPlugin } from './plugin.ts'

export default authPlugin
export { authPlugin }

export { IdentityTakenError, MisfitError, OAuthError, StartError, UsernameTakenError } from './errors.ts'
export type {
  Misfit,
  OAuthErrorCode,
  OAuthErrorOptions,
  OAuthErrorReason,
  PasswordRefusalReason,
  StartErrorCode,
  UpstreamFailure
} from './errors.ts'
export type {
  Actor,
  AuthorityEventHandler,
  AuthorityEventName,
  AuthorityEvents,
  ClientFailure,
  EventFacts,
  Events,
  FirstFactorKind,
  LoginFailure,
  Origin as EventOrigin
} from './events.ts'
export type { AuthRequirements } from './settings/auth-requirements.ts'
export type { AuthorityOptions } from './settings/options.ts'
export type { DecoratorName, DecoratorOptions } from './settings/sections/decorators.ts'
export type * from './features/options.ts'
export type { PagesOptions } from './settings/sections/pages.ts'
export type { PasswordOptions } from './settings/sections/password.ts'
export type { CountingRuleOption, RateLimitOptions, RuleOption } from './settings/sections/rate-limit.ts'
export type { RegistrationOptions } from './settings/sections/registration.ts'
export type { ProtectedResourceOptions, ResourceOptions, ScopeDescriptions } from './settings/sections/resources.ts'
export type { TokenOptions } from './settings/sections/tokens.ts'
export type { MovablePath } from './settings/paths.ts'
export type { AuthorityDecorators, AuthPlugin } from './plugin.ts'
export type { ImportedTotp } from './protocol/totp.ts'
export type {
  ImpersonationAnswer,
  ManagedUser,
  ManagedUsers,
  UserAct,
  UserChanges,
  UserExport
} from './accounts/managed-users.ts'
export type { HostLink } from './accounts/identities.ts'
export type { Authority } from './composition/authority.ts'
export type {
  ConnectionLink,
  EnrolmentLink,
  UserApiKey,
  UserApiKeys,
  UserConsent,
  UserFactor,
  UserIdentity
} from './composition/authority-answers.ts'
export type { Health } from './composition/health.ts'
export type { Session } from './sessions/browser-sessions.ts'
export type { ClaimsFunction, TokenResponse } from './oauth/deps.ts'
export type { ClaimsContext } from './tokens/disclosure.ts'
export type { Hook } from './http/edge/hook.ts'
export type { ProtectedResource } from './composition/protected-resources.ts'
export type { McpAuth } from './resource/resource-guards.ts'
export type { TokenGuards } from './composition/guards.ts'
export type { AuthSession } from './http/edge/session-hook.ts'
export type { AccountAccess, AccountModel, AccountModels, AccountNote, AccountSession } from './pages/account-models.ts'
export type {
  CommonModel,
  ConnectButton,
  FormModel,
  PageError,
  PasskeyForm,
  PasskeySignals,
  ProfileField,
  ShownEnrolment,
  ShownOptions,
  ShownScope
} from './pages/common-model.ts'
export type { PageModels, PageName, RenderPage } from './pages/model.ts'
export type { SignInModels } from './pages/sign-in-models.ts'
export type { OwnTexts, ScopeTexts } from './pages/own-texts.ts'
export type { Locale, MessageKey, Messages } from './pages/texts.ts'
export type { AccessTokenClaims, ActClaim } from './protocol/access-token.ts'
export type { AuthenticationMethod, AuthenticationProof } from './protocol/authentication.ts'
export type { AddressRuleName, ApiKeyOption, LimitInfo, RuleName } from './limits/rules.ts'

export { renderMessage } from './composition/render-message.ts'
export type { RenderedMessage, RenderMessageOptions } from './composition/render-message.ts'
export type { MailLinks } from './mail/content.ts'
export { argon2Hasher } from './adapters/argon2/argon2-hasher.ts'
export { nodeRsHasher } from './adapters/argon2/node-rs-hasher.ts'
export { memoryApiKeyStore } from './adapters/memory/record-store.ts'
export { memoryAudit } from './adapters/memory/audit-log.ts'
export { memoryFactorStore } from './adapters/memory/record-store.ts'
export { memoryState } from './adapters/memory/record-store.ts'
export { memoryUserStore, type SeededUser } from './composition/seeded-users.ts'
export { postgresApiKeyStore } from './adapters/postgres/record-store.ts'
export { postgresAudit, type PostgresAuditOptions } from './adapters/postgres/audit-log.ts'
export { postgresFactorStore } from './adapters/postgres/record-store.ts'
export { postgresState } from './adapters/postgres/record-store.ts'
export { postgresUserStore } from './adapters/postgres/user-store.ts'
export { redisApiKeyStore } from './adapters/redis/record-store.ts'
export { redisFactorStore } from './adapters/redis/record-store.ts'
export { redisState } from './adapters/redis/record-store.ts'
export { sqliteApiKeyStore } from './adapters/sqlite/record-store.ts'
export { sqliteAudit } from './adapters/sqlite/audit-log.ts'
export { sqliteFactorStore } from './adapters/sqlite/record-store.ts'
export { sqliteState } from './adapters/sqlite/record-store.ts'
export { sqliteUserStore } from './adapters/sqlite/user-store.ts'
export { recordApiKeyStore } from './records/api-key-store.ts'
export { recordFactorStore } from './records/factor-store.ts'
export { recordState } from './records/state.ts'
export type { RecordFactorStoreOptions } from './records/factor-store.ts'
export type { RecordStateOptions } from './records/state.ts'
export type { ApiKeyRecord, ApiKeyStore, OwnedApiKey } from './ports/api-key-store.ts'
export type {
  AuditActor,
  AuditCheckpoint,
  AuditFault,
  AuditEntry,
  AuditHead,
  AuditLog,
  AuditOutcome,
  AuditPage,
  AuditQuery,
  AuditTarget,
  AuditVerdict
} from './ports/audit-log.ts'
export { ANY, NEVER, VERSION_LENGTH } from './ports/record-store.ts'
export type { NewRecord, RecordStore, RecordWrite, StoredRecord } from './ports/record-store.ts'
export type { MemoryStateOptions } from './adapters/memory/record-store.ts'
export type { PostgresDatabase } from './adapters/postgres/database.ts'
export type { PostgresFactorStoreOptions } from './adapters/postgres/record-store.ts'
export type { PostgresStateOptions } from './adapters/postgres/record-store.ts'
export type { PostgresUserStore, PostgresUserStoreOptions } from './adapters/postgres/user-store.ts'
export type { RedisFactorStoreOptions } from './adapters/redis/record-store.ts'
export type { RedisStateOptions } from './adapters/redis/record-store.ts'
export type { SqliteStateOptions } from './adapters/sqlite/record-store.ts'
export type { Migrated } from './adapters/sql/migration-steps.ts'
export type { SqliteUserStore, SqliteUserStoreOptions } from './adapters/sqlite/user-store.ts'
export type { RedisClient } from './adapters/redis/connection.ts'
export type { SqliteDatabase, SqliteStatement, SqliteValue } from './adapters/sqlite/database.ts'

export type {
  AttemptLimit,
  AttemptOutcome,
  AttemptStanding,
  AttemptStore,
  OnStoreError
} from './ports/attempt-store.ts'
export type { Client, ClientPages, ClientStore, GrantType } from './ports/client-store.ts'
export type { Clock } from './ports/clock.ts'
export type {
  Assertion,
  ConnectionOption,
  ConnectionOptions,
  OauthProvider,
  OpenidProvider,
  Provider,
  ProviderBase,
  ProviderEndpoints,
  ProviderGet,
  ProviderMistake
} from './ports/provider.ts'
export type { ConnectionSignIn, Linking, UpstreamTokens, UpstreamWishes } from './ports/upstream.ts'
export type { JsonWebKeyObject } from './ports/cryptography.ts'
export type {
  AccountRemovedMessage,
  ImpersonatedMessage,
  CodeMessage,
  FactorAddedMessage,
  FactorRemovedMessage,
  IdentityLinkedMessage,
  LinkKind,
  ConfirmationMessage,
  LinkMessage,
  Message,
  MessageCommon,
  MessageKind,
  MessageUser,
  NewSignInMessage,
  NoticeKind,
  NoticeMessage,
  PasswordChangedMessage,
  UndoableMessage,
  SendMessage
} from './ports/message.ts'
export type { MessageTokenPurpose } from './ports/state.ts'
export type { Argon2Parameters, PasswordHasher } from './ports/cryptography.ts'
export { NotSupportedError } from './ports/user-store.ts'
export type {
  Identity,
  LinkedIdentity,
  NewUser,
  User,
  UserListQuery,
  UserPatch,
  UserStore
} from './ports/user-store.ts'
export type { ImportOutcome, UserImporter, UserToImport } from './ports/user-store.ts'
