import { Type } from '@sinclair/typebox'
import { optional, section } from '../schema-words.ts'

export type DecoratorName =
  | 'authenticate'
  | 'authenticateOptional'
  | 'requireFirstParty'
  | 'requireScope'
  | 'requireAuth'
  | 'authority'
  | 'auth'
  | 'authSession'

/** Other names for what the plugin adds to the app and its requests. */
export type DecoratorOptions = { [Name in DecoratorName]?: string | undefined }

export const DECORATOR_DEFAULTS = {
  authenticate: 'authenticate',
  authenticateOptional: 'authenticateOptional',
  requireFirstParty: 'requireFirstParty',
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
  requireScope: 'The hook that asks for scopes.',
  requireAuth: 'The hook that asks for a recent sign-in, or a stronger one.',
  authority: 'What the host can do from its own code.',
  auth: 'Of the request: the claims of the access token.',
  authSession: 'Of the request: who is signed in in this browser, where `app.authority.readSession` ran.'
}

const NAMES = Object.keys(DECORATOR_DEFAULTS) as DecoratorName[]

export const DECORATORS_SCHEMA = optional(
  section(
    Object.fromEntries(
      NAMES.map((name) => [
        name,
        optional(
          Type.String({
            pattern: '^[A-Za-z_$][\\w$]*$',
            default: DECORATOR_DEFAULTS[name],
            takes: 'a name',
            description: MEANINGS[name]
          })
        )
      ])
    ),
    'Other names for what the plugin adds, for a host that has these already or registers the ' +
      'plugin twice. A second service that names no `authenticateOptional`, `requireFirstParty` ' +
      'and `requireAuth` of its own leaves those of the first, which take tokens of the first ' +
      'alone.'
  )
)

export function resolveDecorators(given: DecoratorOptions = {}): Readonly<Record<DecoratorName, string>> {
  return Object.fromEntries(NAMES.map((name) => [name, given[name] ?? DECORATOR_DEFAULTS[name]])) as Record<
    DecoratorName,
    string
  >
}
