import type { Kernel, Parts } from '../../feature.ts'
import { DPOP_ALGS, proofReader, provenUrl, usedProof } from '../../protocol/dpop.ts'
import { dpopNonces } from './nonces.ts'
import type { DpopSettings } from './options.ts'

/** The proofs of requests to this service. Their uses are in the state: a proof counts once in all processes. */
export function create(
  { requireNonce, maxAgeSeconds }: DpopSettings,
  { accounts: { clock, issuer }, assertions, keysFor }: Kernel
): Parts {
  const own = new URL(issuer).origin
  const read = proofReader(maxAgeSeconds, requireNonce ? dpopNonces(issuer, keysFor('dpop nonces')) : null)
  return {
    possession: {
      algs: DPOP_ALGS,
      read: (request, accessToken, origin = own) =>
        read({
          header: request.headers['dpop'],
          method: request.method,
          url: provenUrl(origin, request),
          accessToken,
          now: clock.now()
        }),
      async spend({ replayKey, replayUntil }) {
        if ((await assertions?.claim(replayKey, replayUntil)) !== 'fresh') throw usedProof()
      }
    }
  }
}
