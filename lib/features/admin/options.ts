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

/** A question for scopes. */
export interface AdminAsk<Account extends User = User> {
  /** The person. `null`: the client asks for a token of its own. */
  user: Account | null
  /** The client of the token. `null`: none. */
  client: Client | null
  /** Scopes that begin with `authority:`. */
  scopes: string[]
}

/** Written as a method, so that a function over the host's own user type fits. */
export type AllowFunction<Account extends User = User> = {
  allow(asked: AdminAsk<Account>): readonly string[] | Promise<readonly string[]>
}['allow']

/** Written as a method, so that a function over the host's own user type fits. */
type ProtectFunction<Account extends User = User> = {
  isProtected(user: Account): boolean | Promise<boolean>
}['isProtected']

const IMPERSONATION = {
  /** Seconds that a token is good for, and at most as long as another access token. */
  expiresIn: seconds(60, 900, { default: 900 }),
  /** The user gets a message for each token. */
  notify: flag({ default: false })
}

interface ImpersonationOptions extends Given<typeof IMPERSONATION> {}

const ADMIN = {
  /**
   * `({ user, client, scopes }) => scopes`: which of these scopes the person, or the machine client, may have. It is
   * asked at each issue of a token and at each use. A throw, an answer after a second, and an answer that is no array
   * of `authority:` scopes give none.
   */
  allow: required(option<AllowFunction>(aFunction)),
  /**
   * `(user) => boolean`: nobody acts on such a user without the scope `authority:protected`. A failure counts as
   * `true`.
   */
  isProtected: option<ProtectFunction>({
    ...aFunction,
    otherwise: 'people to whom `allow` gives a scope that the administrator lacks'
  }),
  /** Fields of the rows of users that administrators see, besides those of `registration.fields`. */
  fields: words({ uniqueItems: true, takes: 'names of fields, each once', otherwise: 'none' }),
  /** Tokens with which administrators see the service as a user. `false`: there are none. */
  impersonation: orFalse(option<ImpersonationOptions>(section(IMPERSONATION, { takes: '{ expiresIn, notify }' })), {
    otherwise: 'on'
  }),
  /** The pages below `/auth/admin`, for a browser in which such a person is signed in. They need the hosted pages. */
  pages: flag({ default: true })
}

/** The administrators. */
export interface AdminOptions extends Given<Omit<typeof ADMIN, 'allow'>> {
  /** Which of the asked scopes the person, or the machine client, may have. */
  allow: AllowFunction
}

export const ADMIN_OPTIONS = {
  /**
   * Administrators of users: who may have the scopes that begin with `authority:`, which no other option gives, and the
   * routes below `/auth/admin`. Needs `audit`. The guide on administration explains it.
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
