import type { Kernel, Parts } from '../../feature.ts'
import { DPOP_ALGS, proofReader, provenUrl, usedProof, type Nonces } from '../../protocol/dpop.ts'
import type { DpopSettings } from './options.ts'
import { createHmac } from 'node:crypto'

const STEP_MS = 60_000
/** The number of past time steps whose nonces are still valid. */
const FORMER_STEPS = 3

/**
 * Creates DPoP nonces without storage. A nonce is a MAC of a time step of one minute, so that all processes with the
 * same secret accept it. The nonce of the next step is valid too, because the clock of another process may be ahead.
 * @param keys one for each secret, the newest first
 */
export function dpopNonces(issuer: string, keys: readonly [Uint8Array, ...Uint8Array[]]): Nonces {
  let known = { step: -1, newest: '', ends: new Map<unknown, number>() }

  const nonceOf = (key: Uint8Array, step: number): string =>
    createHmac('sha256', key).update(`${issuer}\n${step}`).digest('base64url')

  function at(now: number): typeof known {
    const step = Math.floor(now / STEP_MS)
    if (known.step !== step) {
      const ends = new Map<unknown, number>()
      for (let good = step - FORMER_STEPS; good <= step + 1; good++)
        for (const key of keys) ends.set(nonceOf(key, good), (good + FORMER_STEPS + 1) * STEP_MS)
      known = { step, newest: nonceOf(keys[0], step), ends }
    }
    return known
  }

  return {
    newest: (now) => at(now).newest,
    goodUntil: (nonce, now) => at(now).ends.get(nonce) ?? null
  }
}

/**
 * Checks the DPoP proofs of requests. The state remembers used proofs, so that no process that shares it accepts a
 * replay.
 */
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
