/** The types of the options of features. Types alone, so that a host's compiler reads no more of a feature. */
import type { EmailCodeOptions } from './email-codes/options.ts'

export type { EmailCodeOptions, EmailSignInOptions } from './email-codes/options.ts'

export type FeatureOptions = EmailCodeOptions
