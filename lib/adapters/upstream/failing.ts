import * as oauth from 'oauth4webapi'
import { UpstreamError, type UpstreamFailure } from '../../errors.ts'

/**
 * Turns every error of the engine or of a host's `identify` into the error of this port. Their messages quote what was
 * answered, so only words of ours and the engine's go on. `onForeign` is told of an error of anybody else.
 */
export async function failing<Answer>(
  reason: UpstreamFailure,
  work: () => Promise<Answer>,
  onForeign?: (error: unknown) => void
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    onForeign?.(error)
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
    throw new UpstreamError(reason, `The ${what} was refused (${code}).`, causeOf(error))
  }
}

/**
 * The cause of a refusal by the issuer, for the log alone: the issuer that was expected and the one that came, because
 * a wrong option `issuer` is found by nothing else.
 */
export function otherIssuer(expected: unknown, got: unknown): ErrorOptions {
  const show = (issuer: unknown): string =>
    typeof issuer === 'string'
      ? JSON.stringify(issuer.replaceAll(/\/\/[^/?#\s]*@/g, '//…@').slice(0, 200))
      : typeof issuer
  return { cause: new Error(`iss: expected ${show(expected)}, got ${show(got)}`) }
}

function causeOf(error: unknown): ErrorOptions | undefined {
  if (!(error instanceof Error) || claimOf(error) !== 'iss') return undefined
  const { expected, claims } = error.cause as { expected?: unknown; claims?: { iss?: unknown } }
  return otherIssuer(expected, claims?.iss)
}

/** Which claim did not fit, in the engine's words. */
function claimOf({ cause }: Error): string | null {
  const { claim } = (typeof cause === 'object' && cause !== null ? cause : {}) as { claim?: unknown }
  return typeof claim === 'string' && /^[a-z_]{1,20}$/.test(claim) ? claim : null
}
