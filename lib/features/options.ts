/** The options of features and the models of their pages: types alone, so that a host's compiler reads no more. */
import type { ApiKeyFeatureOptions } from './api-keys/options.ts'
import type { ConnectionsOption, ConnectModels } from './connections/options.ts'
import type { EmailCodeModels, EmailCodeOptions } from './email-codes/options.ts'

export type { ApiKeyFeatureOptions, ApiKeyOptions } from './api-keys/options.ts'
export type { AccountLink, ConnectionsOption, ConnectModels } from './connections/options.ts'
export type { EmailCodeModels, EmailCodeOptions, EmailSignInOptions } from './email-codes/options.ts'

export type FeatureOptions = ApiKeyFeatureOptions & ConnectionsOption & EmailCodeOptions

export type FeatureModels = ConnectModels & EmailCodeModels
