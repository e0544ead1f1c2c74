import { OAuthError } from '../errors.ts'

/** The number of tries of a write if other requests change the user in between. */
export const MAX_TRIES = 4

/** The error if other requests changed the user in between. */
export const changedMeanwhile = (): OAuthError =>
  new OAuthError('temporarily_unavailable', 'The account was changed meanwhile. Try again.')
