import type { AccountsDeps } from './accounts/deps.ts'
import type { AccountSlots } from './accounts/slots.ts'
import type { AuthorizeSlots, PushedRequests } from './authorize/deps.ts'
import type { Endpoint } from './http/edge/endpoint.ts'
import type { PageSlots } from './http/pages/deps.ts'
import type { Administration } from './oauth/target.ts'
import type { TokenSlots, Grant, GrantDeps, GrantDeclaration, Possession } from './oauth/deps.ts'
import type { Authority } from './composition/authority.ts'
import type { Clients, ClientSource } from './ports/client-store.ts'
import type { FactorStore } from './ports/factor-store.ts'
import type { State } from './ports/state.ts'
import type { Log } from './ports/log.ts'
import type { User } from './ports/user-store.ts'
import type { Outbound } from './ports/outbound.ts'
import type { Sealer } from './ports/cryptography.ts'
import type { AuthorityOptions, FeatureSection, SharedSettings } from './settings/options.ts'
import type { PathName } from './settings/paths.ts'
import type { Settings } from './settings/settings.ts'

/**
 * An optional part of the service: one folder of `features`, and one line in `features/index.ts`. The kernel is the
 * code outside of `features`: it knows this interface and no feature. `On`: the settings of the feature.
 */
export interface Feature<On = unknown> extends FeatureSection {
  /** The names of the features that must be created before this one. */
  needs?: readonly string[]
  /** The grants that the feature may turn on. */
  grants?: readonly GrantDeclaration[]
  resolve(given: AuthorityOptions): On | null
  answersByPost?(on: On): boolean
  shares?(on: On): SharedSettings
  /** The methods of `app.authority` while the feature is off. */
  off?: Partial<Authority>
  /** Imports the rest of the feature. Called only if the feature is on. */
  load(): Promise<{ create(on: On, kernel: Kernel): Parts | Promise<Parts> }>
}

/** The kernel, as a feature sees it. */
export interface Kernel {
  accounts: AccountsDeps
  /** Derives keys for this purpose and this registration of the plugin: one for each secret, newest first. */
  keysFor(purpose: string): readonly [Uint8Array, ...Uint8Array[]]
  /** Like `keysFor`, but the keys survive a new issuer and prefix: for values in the host's stores. */
  storedKeysFor(purpose: string): readonly [Uint8Array, ...Uint8Array[]]
  /**
   * Makes a sealer for this purpose and this registration of the plugin. The sealer also opens texts that a former
   * secret sealed.
   */
  sealerFor(purpose: string): Sealer
  /** The URL of an endpoint, made from the issuer, never from a request. */
  url(name: PathName): string
  settings: Pick<Settings, 'accessToken' | 'apis' | 'registration' | 'scopes' | 'session'>
  /** Prepares a store at the start, within a time limit. An outage is logged, and the start continues. */
  prepare(name: string, prepare: () => Promise<void>): Promise<void>
  outbound: Outbound
  assertions: State['assertions']
  devices: State['devices']
  clients: Clients
  /** The store of the option `factors`, and the sealer of its records. `null`: there are no second factors. */
  factors: { store: FactorStore; sealer: Sealer } | null
  /** The dependencies of grants. Call it only after all features are created. */
  grants(): GrantDeps
  log: Log<'info' | 'warn' | 'error'>
}

/** The additions of a feature to the kernel. */
export interface Parts {
  account?: AccountSlots
  authorize?: AuthorizeSlots
  tokens?: TokenSlots
  /** Checks DPoP proofs. At most one feature sets this. */
  possession?: Possession
  /** At most one feature sets this. */
  pushed?: PushedRequests
  /** At most one feature sets this. */
  administration?: Administration
  grants?: readonly Grant[]
  pages?: PageSlots
  endpoints?: readonly Endpoint[]
  /** Clients that nobody registered. */
  clients?: readonly ClientSource[]
  /** Members of the metadata of the server. */
  metadata?: Readonly<Record<string, unknown>>
  /** Methods of `app.authority`. */
  authority?(calls: AuthorityCalls): Partial<Authority>
  /** Removes expired records. Called once a minute. */
  sweep?(now: number): Promise<void>
  /** Finishes background work when the server closes. */
  close?(): Promise<void>
}

/** Checks for arguments of `app.authority` methods. */
export interface AuthorityCalls {
  /** Returns the id of a user unchanged. @throws TypeError for any other value, such as the user */
  idOf(userId: unknown): string
  /**
   * Finds the user. @throws TypeError for a value that is no id, OAuthError `invalid_grant` if there is no such user
   */
  existing(userId: string): Promise<User>
  /** Returns the name of the acting admin, if `by` gives one. @throws TypeError for invalid options */
  adminOf(options: { by?: string | undefined } | undefined): string | undefined
  /** The URL of a hosted page. @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with `pages: false` */
  pageFor(method: string, name: PathName): string
}
