import type { FastifySchema } from 'fastify'
import { Type } from '@sinclair/typebox'

/** What @fastify/swagger reads of a route, where the host has it. */
interface RouteDescription extends FastifySchema {
  summary: string
  consumes?: string[]
  description?: string
  tags?: string[]
}

/**
 * In words: a `security` requirement would name a scheme that the host's document must define, and @fastify/swagger throws where
 * it does not.
 */
export const NEEDS_ACCESS_TOKEN = 'Needs an access token: Authorization: Bearer.'

export function describeRoute (description: RouteDescription): FastifySchema {
  const schema: RouteDescription = { tags: ['auth'], ...description }
  return schema
}

/** Every error of every route. @see RFC 6749 §5.2 */
export const ErrorResponse = Type.Object({
  error: Type.String({ description: 'A code to act on.' }),
  error_description: Type.String({ description: 'A sentence for the developer.' })
}, { additionalProperties: true })

export const TokenRequest = Type.Object({
  grant_type: Type.String(),
  username: Type.Optional(Type.String()),
  password: Type.Optional(Type.String()),
  refresh_token: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String())
})

export const TokenResponse = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  refresh_token: Type.Optional(Type.String()),
  scope: Type.String()
})

export const TokenQuery = Type.Object({
  token: Type.String(),
  token_type_hint: Type.Optional(Type.String({ description: 'Not needed: a token is found whatever the hint.' })),
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String())
})

/** `{}`: several client libraries insist on JSON. */
export const Nothing = Type.Object({}, { additionalProperties: false })

export const RefreshResponse = Type.Object({
  access_token: Type.String(),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  refresh_token: Type.Optional(Type.String())
})

export const Empty = Type.Null({ description: 'No content' })

export const Username = Type.String({ minLength: 1, maxLength: 254 })
/** Only a bound for the parser's sake: the password policy says what is too long. */
export const Password = Type.String({ minLength: 1, maxLength: 16_384 })
export const OneTimeTokenValue = Type.String({ minLength: 1, maxLength: 512 })

export const SessionList = Type.Object({
  sessions: Type.Array(Type.Object({
    id: Type.String(),
    client_id: Type.Union([Type.String(), Type.Null()]),
    user_agent: Type.Union([Type.String(), Type.Null()]),
    scope: Type.String(),
    created_at: Type.String({ description: 'RFC 3339' }),
    last_used_at: Type.String({ description: 'RFC 3339' }),
    expires_at: Type.String({ description: 'RFC 3339' }),
    current: Type.Boolean({ description: 'Whether this request belongs to it.' })
  }))
})
