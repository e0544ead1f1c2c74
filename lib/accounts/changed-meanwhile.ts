import { OAuthError } from '../errors.ts'

/** The maximum number of tries of a write while other requests change the user in between. */
export const MAX_TRIES = 4

/** Makes the error for a write that failed because other requests changed the user in between. */
export const changedMeanwhile = (): OAuthError =>
  new OAuthError('temporarily_unavailable', 'The account was changed meanwhile. Try again.')
