import * as oauth from 'oauth4webapi'
import { UpstreamError, type UpstreamFailure } from '../../errors.ts'

/**
 * What the engine, or a host's `identify`, refuses, as the error of this port. What they say holds what was answered;
 * only words of ours and the engine's go on.
 */
export async function failing<Answer>(reason: UpstreamFailure, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    const code =
      error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError
        ? [error.code, claimOf(error)].filter((word) => word !== null).join(' ')
        : 'unexpected'
    const what =
      reason === 'id_token'
        ? 'ID token'
        : reason === 'userinfo'
          ? 'answer about the person'
          : 'answer of the token endpoint'
    throw new UpstreamError(reason, `The ${what} was refused (${code}).`)
  }
}

/** Which claim did not fit, in the engine's words. */
function claimOf({ cause }: Error): string | null {
  const { claim } = (typeof cause === 'object' && cause !== null ? cause : {}) as { claim?: unknown }
  return typeof claim === 'string' && /^[a-z_]{1,20}$/.test(claim) ? claim : null
}
