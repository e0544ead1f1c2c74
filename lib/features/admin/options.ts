import { Type } from '@sinclair/typebox'
import type { Client } from '../../ports/client-store.ts'
import type { User } from '../../ports/user-store.ts'
import { type Given, option, required, section } from '../../settings/schema-words.ts'

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

const ADMIN = {
  /**
   * `({ user, client, scopes }) => scopes`: which of these scopes the person, or the machine client, may have. It is
   * asked at each issue of a token. A throw, an answer after a second, and an answer that is no array of `authority:`
   * scopes give none.
   */
  allow: required(option<AllowFunction>(aFunction))
}

/** The administrators. */
export interface AdminOptions {
  /** Which of the asked scopes the person, or the machine client, may have. */
  allow: AllowFunction
}

export const ADMIN_OPTIONS = {
  /** Administrators of users: who may have the scopes that begin with `authority:`, which no other option gives. */
  admin: option<AdminOptions>(section(ADMIN, { takes: '{ allow }', otherwise: 'none' }))
}

export interface AdminOption extends Given<typeof ADMIN_OPTIONS> {}
