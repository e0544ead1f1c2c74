import { Type } from '@sinclair/typebox'
import { optional, section } from '../schema-words.ts'

export type DecoratorName =
  | 'authenticate'
  | 'authenticateOptional'
  | 'requireFirstParty'
  | 'requireUser'
  | 'requireScope'
  | 'requireAuth'
  | 'authority'
  | 'auth'
  | 'authSession'

/** Other names for the decorators of the app and its requests. */
export type DecoratorOptions = { [Name in DecoratorName]?: string | undefined } & {
  /** Prefix of every name that is not given: `staff` makes `app.staffAuthenticate`. */
  prefix?: string | undefined
}

export const DECORATOR_DEFAULTS = {
  authenticate: 'authenticate',
  authenticateOptional: 'authenticateOptional',
  requireFirstParty: 'requireFirstParty',
  requireUser: 'requireUser',
  requireScope: 'requireScope',
  requireAuth: 'requireAuth',
  authority: 'authority',
  auth: 'auth',
  authSession: 'authSession'
} as const satisfies Record<DecoratorName, string>

const MEANINGS: Readonly<Record<DecoratorName, string>> = {
  authenticate: 'The hook that verifies the access token.',
  authenticateOptional: 'The hook that verifies an access token where one was sent.',
  requireFirstParty: "The hook that refuses the tokens of other people's programs.",
  requireUser: "The hook for the host's own front end: a token of a user, or the browser session.",
  requireScope: 'The hook that asks for scopes.',
  requireAuth: 'The hook that asks for a recent sign-in, or a stronger one.',
  authority: 'What the host can do from its own code.',
  auth: 'Of the request: the claims of the access token.',
  authSession: 'Of the request: who is signed in in this browser, where `app.authority.readSession` ran.'
}

const NAMES = Object.keys(DECORATOR_DEFAULTS) as DecoratorName[]

const name = { pattern: '^[A-Za-z_$][\\w$]*$', takes: 'a name' }

export const DECORATORS_SCHEMA = optional(
  section(
    {
      ...Object.fromEntries(
        NAMES.map((each) => [
          each,
          optional(Type.String({ ...name, default: DECORATOR_DEFAULTS[each], description: MEANINGS[each] }))
        ])
      ),
      prefix: optional(
        Type.String({
          ...name,
          default: 'none',
          description:
            'Begins every name that is not given: with `staff`, there are `app.staffAuthenticate` and ' +
            '`request.staffAuth`.'
        })
      )
    },
    'Other names for what the plugin adds, for a host that has these already or registers the ' +
      'plugin twice. A second service without a `prefix` that names no `authenticateOptional`, ' +
      '`requireFirstParty`, `requireUser` and `requireAuth` of its own leaves those of the first, ' +
      'which take tokens of the first alone.'
  )
)

export function resolveDecorators({ prefix, ...given }: DecoratorOptions = {}): Readonly<
  Record<DecoratorName, string>
> {
  const usual = (each: DecoratorName): string => {
    const word = DECORATOR_DEFAULTS[each]
    return prefix === undefined ? word : `${prefix}${word.charAt(0).toUpperCase()}${word.slice(1)}`
  }
  return Object.fromEntries(NAMES.map((each) => [each, given[each] ?? usual(each)])) as Record<DecoratorName, string>
}
