import type { FastifySchema } from 'fastify'
import { Type } from '@sinclair/typebox'
import { BODY_LIMIT } from './body.ts'

/** The part of a route that @fastify/swagger reads, if the host has it. */
interface RouteDescription extends FastifySchema {
  summary: string
  consumes?: string[]
  description?: string
  /** Keeps the route out of the host's API document. */
  hide?: true
}

/** Describes access that the `security` of an API document can't express. */
export const FOR_THE_ACCOUNT =
  'Needs an access token of no client or of a first-party one (Authorization: Bearer), or ' +
  'the browser session from a page of the same origin.'

export function describeRoute(description: RouteDescription): FastifySchema {
  return description
}

/** The body of errors on all JSON routes. @see RFC 6749 §5.2 */
export const ErrorResponse = Type.Object(
  {
    error: Type.String({ description: 'A code to act on.' }),
    error_description: Type.String({ description: 'A sentence for the developer.' }),
    error_reason: Type.Optional(
      Type.Literal('email_not_verified', {
        description: 'After a right password, for an account whose email address must be confirmed first.'
      })
    ),
    mfa_token: Type.Optional(Type.String({ description: 'With `mfa_required`: what the second step is made with.' })),
    methods: Type.Optional(
      Type.Array(Type.String(), { description: 'With `mfa_required`: what the second step takes.' })
    ),
    passkey_options: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'With `mfa_required`, where the person has a passkey: for `navigator.credentials.get`.'
        }
      )
    )
  },
  { additionalProperties: true }
)

/** An empty JSON object instead of no content, because several client libraries insist on JSON. */
export const Nothing = Type.Object({}, { additionalProperties: false })

/** An answer that is the same for every person, so that it does not reveal who has an account. */
export const Message = Type.Object({ message: Type.String() })

/** The parameters by which a client identifies and authenticates itself in a form. */
export const CLIENT_FIELDS = {
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String()),
  client_assertion: Type.Optional(Type.String()),
  client_assertion_type: Type.Optional(Type.String())
}

export const Id = Type.Object({ id: Type.String({ maxLength: 128 }) })

export const Empty = Type.Null({ description: 'No content' })

export const Username = Type.String({ minLength: 1, maxLength: 254 })
/** The upper bound of a field: the limit of the whole body. The code that reads a field has the real limit. */
const FIELD_LIMIT = BODY_LIMIT
/** An upper bound only. The password policy has the real limit. */
export const Password = Type.String({ minLength: 1, maxLength: FIELD_LIMIT })
/** A passkey's answer, as JSON. */
export const Credential = Type.String({ maxLength: FIELD_LIMIT })
/** An upper bound only. */
export const EmailAddress = Type.String({ minLength: 1, maxLength: 254 })
export const OneTimeTokenValue = Type.String({ minLength: 1, maxLength: 640 })

/** Longer than the code, because a person may type spaces and hyphens, which are ignored. */
export const SecondFactorCode = Type.String({
  maxLength: 64,
  description: 'Six digits that an authenticator app shows.'
})
/** Longer than the code, because a person may type spaces and hyphens, which are ignored. */
export const EmailCode = Type.String({ maxLength: 64, description: 'Eight digits that were sent by email.' })
export const FactorName = Type.String({
  maxLength: 200,
  description: 'The name that the user gives it. 64 characters of it are kept.'
})
export const RecoveryCode = Type.String({ maxLength: 128, description: 'A recovery code, which works once.' })
/** The password again, where the sign-in is not fresh. */
export const PasswordAgain = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: FIELD_LIMIT,
    description: 'Needed where the sign-in is more than five minutes old.'
  })
)

export const ConnectionList = Type.Object({
  connections: Type.Array(
    Type.Object({
      id: Type.String({ description: 'The id of the link. It shows neither issuer nor subject.' }),
      connection: Type.String({ description: 'The id of the connection through which it was last used.' }),
      name: Type.String({ description: 'The name of that connection.' }),
      email: Type.Union([Type.String(), Type.Null()], { description: 'The address that the provider last verified.' }),
      linked_at: Type.String({ description: 'RFC 3339' }),
      last_used_at: Type.String({ description: 'RFC 3339' })
    })
  )
})

const text = (description: string) => Type.Optional(Type.String({ description }))
const AUTHORIZATION_PARAMETERS = {
  client_id: Type.String(),
  redirect_uri: Type.String({ description: 'One that is registered for the client, character by character.' }),
  response_type: Type.Literal('code'),
  response_mode: Type.Optional(
    Type.Union([Type.Literal('query'), Type.Literal('fragment'), Type.Literal('form_post')], {
      description: 'Default: `query`.'
    })
  ),
  scope: text('Separated by spaces. Default: `openid`.'),
  state: text('Comes back as it was sent.'),
  nonce: text('Comes back in the ID token.'),
  code_challenge: text('The SHA-256 of the code verifier in base64url (RFC 7636). Public clients need it.'),
  code_challenge_method: Type.Optional(Type.Literal('S256')),
  prompt: text('`none` alone, or of `login`, `consent`, `select_account` and `create`, separated by spaces.'),
  screen_hint: text('`signup` shows the sign-up page instead of the sign-in page.'),
  connection: text('The `id` of a connection: leads there at once where nobody is signed in.'),
  max_age: text('The longest time since the person signed in, in seconds.'),
  login_hint: text('The username to fill in.'),
  id_token_hint: text('An ID token of who is expected.'),
  ui_locales: text('Languages as BCP 47 writes them, most wanted first, separated by spaces.'),
  acr_values: text('Separated by spaces.'),
  claims: text('JSON (OpenID Connect Core 1.0 §5.5).')
}

/** For API documents only: lib/protocol reads the real parameters. @see OpenID Connect Core 1.0 §3.1.2.1 */
export const AuthorizationRequestSchema = Type.Object(AUTHORIZATION_PARAMETERS)

/** The parameters of a sign-in page's address. */
export const JourneySchema = Type.Object({
  ...Type.Partial(AuthorizationRequestSchema).properties,
  return_to: text("Without `client_id`: a path of the issuer's origin to go on to.")
})

/** All parameters are optional. @see OpenID Connect RP-Initiated Logout 1.0 §2 */
export const LogoutRequestSchema = Type.Object({
  id_token_hint: Type.Optional(
    Type.String({ description: 'An ID token of this session, expired or not: signs out without asking.' })
  ),
  logout_hint: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  post_logout_redirect_uri: Type.Optional(Type.String({ description: 'One that is registered for the client.' })),
  returnTo: Type.Optional(Type.String({ description: 'The same, as clients that were made for Auth0 call it.' })),
  state: Type.Optional(Type.String()),
  ui_locales: Type.Optional(Type.String())
})
