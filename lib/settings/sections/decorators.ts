import { filled, type Given, section, text } from '../schema-words.ts'

const name = <const Of extends { default?: string; otherwise?: string }>(said: Of) =>
  text({ pattern: '^[A-Za-z_$][\\w$]*$', takes: 'a name', ...said })

export const DECORATORS = {
  /** The hook that verifies the access token or the API key. */
  authenticate: name({ default: 'authenticate' }),
  /** The hook that verifies an access token or an API key if one was sent. */
  authenticateOptional: name({ default: 'authenticateOptional' }),
  /** The hook that refuses tokens of third-party clients. */
  requireFirstParty: name({ default: 'requireFirstParty' }),
  /** The hook for the host's own front end: a token of a user, or the browser session. */
  requireUser: name({ default: 'requireUser' }),
  /** The hook that asks for scopes. */
  requireScope: name({ default: 'requireScope' }),
  /** The hook that asks for roles. */
  requireRole: name({ default: 'requireRole' }),
  /** The hook that refuses tokens with which another person acts for the user. */
  requireNoActor: name({ default: 'requireNoActor' }),
  /** The hook that asks for a recent sign-in, or a stronger one. */
  requireAuth: name({ default: 'requireAuth' }),
  /** The function that makes the guard of an API. */
  protectedResource: name({ default: 'protectedResource' }),
  /** The methods for the host's own code. */
  authority: name({ default: 'authority' }),
  /** On the request: the claims of the access token, of the API key or, after `requireUser`, of the browser session. */
  auth: name({ default: 'auth' }),
  /**
   * On the request: the user who is signed in in this browser, if `app.authority.readSession` or `requireSession` ran.
   */
  authSession: name({ default: 'authSession' })
}

const PREFIX = {
  /**
   * Prefix of every name that is not given: with `staff`, there are `app.staffAuthenticate` and `request.staffAuth`.
   */
  prefix: name({ otherwise: 'none' })
}

export type DecoratorName = keyof typeof DECORATORS

/** Other names for the decorators of the app and its requests. */
export interface DecoratorOptions extends Given<typeof DECORATORS>, Given<typeof PREFIX> {}

export const DECORATORS_OPTION = section<DecoratorOptions>({ ...DECORATORS, ...PREFIX })

export function resolveDecorators({ prefix, ...given }: DecoratorOptions = {}) {
  const names = Object.keys(DECORATORS).map((each) => [
    each,
    `${prefix}${each.charAt(0).toUpperCase()}${each.slice(1)}`
  ])
  return filled(
    DECORATORS,
    given,
    prefix === undefined ? {} : (Object.fromEntries(names) as Record<DecoratorName, string>)
  )
}
