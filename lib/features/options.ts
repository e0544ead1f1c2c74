/** The options of features and the models of their pages. Only types, so that a host's compiler reads no other code. */
import type { AdminOption } from './admin/options.ts'
import type { ApiKeyFeatureOptions, ApiKeyModels } from './api-keys/options.ts'
import type { AuditOption } from './audit/options.ts'
import type { ConnectionsOption, ConnectModels } from './connections/options.ts'
import type { DpopOption } from './dpop/options.ts'
import type { DeviceModels, DeviceOption } from './device-grant/options.ts'
import type { EmailCodeModels, EmailCodeOptions } from './email-codes/options.ts'
import type { InvitationModels } from './invitations/options.ts'
import type { ParOption } from './par/options.ts'
import type { PasskeyModels, PasskeyOption } from './passkeys/options.ts'
import type { SecondFactorModels, SecondFactorOptions } from './second-factors/options.ts'
import type { UnknownClientOptions } from './unknown-clients/options.ts'

export type { AdminAsk, AdminOption, AdminOptions, AllowFunction } from './admin/options.ts'
export type { AccountApiKey, ApiKeyFeatureOptions, ApiKeyModels, ApiKeyOptions } from './api-keys/options.ts'
export type { AuditOption, AuditOptions } from './audit/options.ts'
export type { AccountLink, ConnectionsOption, ConnectModels } from './connections/options.ts'
export type { DpopOption, DpopOptions } from './dpop/options.ts'
export type { DeviceGrantOptions, DeviceModels, DeviceOption } from './device-grant/options.ts'
export type { EmailCodeModels, EmailCodeOptions, EmailSignInOptions } from './email-codes/options.ts'
export type { InvitationModels } from './invitations/options.ts'
export type { ParOption } from './par/options.ts'
export type { PasskeyModels, PasskeyOption, PasskeyOptions } from './passkeys/options.ts'
export type {
  ClientIdMetadataOptions,
  ClientRegistrationOptions,
  UnknownClientOptions
} from './unknown-clients/options.ts'
export type {
  AccountFactor,
  AccountPasskey,
  MfaContext,
  MfaOptions,
  SecondFactorModels,
  SecondFactorOptions
} from './second-factors/options.ts'

export type FeatureOptions = AdminOption &
  ApiKeyFeatureOptions &
  AuditOption &
  ConnectionsOption &
  DpopOption &
  DeviceOption &
  EmailCodeOptions &
  ParOption &
  PasskeyOption &
  SecondFactorOptions &
  UnknownClientOptions

export type FeatureModels = ApiKeyModels &
  ConnectModels &
  DeviceModels &
  EmailCodeModels &
  InvitationModels &
  PasskeyModels &
  SecondFactorModels
