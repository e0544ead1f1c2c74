import { CONNECTION_DEFAULTS } from './sections/connections.ts'
import { DECORATOR_DEFAULTS } from './sections/decorators.ts'
import { PAGES_DEFAULTS } from './sections/pages.ts'
import { PASSWORD_SCHEMA } from './sections/password.ts'
import { RATE_LIMIT_DEFAULTS } from './sections/rate-limit.ts'
import { REGISTRATION_DEFAULTS } from './sections/registration.ts'
import { filled } from './schema-words.ts'
import { filledTokens } from './sections/tokens.ts'

/**
 * Defaults of plain values that the schema does not hold yet. The schema and the reference show them, and `resolve`
 * applies them. No other code reads them, because a second place could leave one out.
 * @see docs/reference/options.md
 */
export const DEFAULTS = {
  allowInsecureIssuer: false,
  prefix: '/auth',
  passwordGrant: 'first-party',
  scopes: ['openid', 'profile', 'email', 'offline_access'],
  ...filledTokens({}),
  pages: PAGES_DEFAULTS,
  password: filled(PASSWORD_SCHEMA, {}),
  registration: REGISTRATION_DEFAULTS,
  connections: CONNECTION_DEFAULTS,
  rateLimit: RATE_LIMIT_DEFAULTS,
  decorators: DECORATOR_DEFAULTS
} as const
