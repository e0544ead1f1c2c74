import { Type } from '@sinclair/typebox'
import type { Client } from '../../ports/client-store.ts'
import type { User } from '../../ports/user-store.ts'
import {
  filled,
  flag,
  type Given,
  option,
  orFalse,
  required,
  seconds,
  section,
  words
} from '../../settings/schema-words.ts'

const aFunction = Type.Function([], Type.Unknown(), { takes: 'a function' })

/** The argument of `admin.allow`: the requested scopes, and the user and client that request them. */
export interface AdminAsk<Account extends User = User> {
  /** The user. `null`: a machine client acts for itself. */
  user: Account | null
  /** The client of the token. `null`: no client is involved, as on the pages of administration. */
  client: Client | null
  /** Scopes that begin with `authority:`. */
  scopes: string[]
}

/** Method syntax, so that TypeScript accepts a function that takes the host's own user type. */
export type AllowFunction<Account extends User = User> = {
  allow(asked: AdminAsk<Account>): readonly string[] | Promise<readonly string[]>
}['allow']

/** Method syntax, so that TypeScript accepts a function that takes the host's own user type. */
type ProtectFunction<Account extends User = User> = {
  isProtected(user: Account): boolean | Promise<boolean>
}['isProtected']

const IMPERSONATION = {
  /** Seconds until an impersonation token expires. The token never outlives an ordinary access token. */
  expiresIn: seconds(60, 900, { default: 900 }),
  /** True to send the user a message for each token. Has no effect without `sendMessage`. */
  notify: flag({ default: false })
}

interface ImpersonationOptions extends Given<typeof IMPERSONATION> {}

const ADMIN = {
  /**
   * `({ user, client, scopes }) => scopes`: returns those of the requested scopes that the user or the machine client
   * may have. The service calls the function before it issues a token with `authority:` scopes, and when an
   * administrator uses a route or a page of administration. It grants no scope if the function throws, takes longer
   * than a second, or does not return an array of `authority:` scopes.
   */
  allow: required(option<AllowFunction>(aFunction)),
  /**
   * `(user) => boolean`: true for a user on whom only administrators with the scope `authority:protected` may act. If
   * the function fails or returns no boolean, the user is protected.
   */
  isProtected: option<ProtectFunction>({
    ...aFunction,
    otherwise: 'people to whom `allow` gives a scope that the administrator lacks'
  }),
  /** Fields of the user rows to show to administrators, besides those of `registration.fields`. */
  fields: words({ uniqueItems: true, takes: 'names of fields, each once', otherwise: 'none' }),
  /** Access tokens with which administrators use the service as a user. `false`: impersonation is off. */
  impersonation: orFalse(option<ImpersonationOptions>(section(IMPERSONATION, { takes: '{ expiresIn, notify }' })), {
    otherwise: 'on'
  }),
  /** True to serve the pages below `/auth/admin` for signed-in administrators. Requires the hosted pages. */
  pages: flag({ default: true })
}

/** The options of `admin`. */
export interface AdminOptions extends Given<Omit<typeof ADMIN, 'allow'>> {
  /**
   * Returns those of the requested scopes that the user or the machine client may have. The service grants no scope if
   * the function throws, takes longer than a second, or does not return an array of `authority:` scopes.
   */
  allow: AllowFunction
}

export const ADMIN_OPTIONS = {
  /**
   * The administration of users, with the routes below `/auth/admin`. Decides who gets the scopes that begin with
   * `authority:`. No other option grants these scopes. Requires `audit`. See the guide on administration.
   */
  admin: option<AdminOptions>(
    section(ADMIN, { takes: '{ allow, isProtected, fields, impersonation, pages }', otherwise: 'none' })
  )
}

export type AdminSettings = ReturnType<typeof adminSettings>

export type ImpersonationSettings = Exclude<AdminSettings['impersonation'], null>

export const adminSettings = ({ impersonation = {}, ...given }: AdminOptions) => ({
  ...filled(ADMIN, given),
  allow: given.allow,
  isProtected: given.isProtected ?? null,
  fields: given.fields ?? [],
  impersonation: impersonation === false ? null : filled(IMPERSONATION, impersonation)
})

export interface AdminOption extends Given<typeof ADMIN_OPTIONS> {}
