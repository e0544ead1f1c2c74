import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Sealer } from '../../ports/sealer.ts'

/** A sealer for what has to be small, such as a cookie: what it seals is deflated first. */
export function deflatingSealer(sealer: Sealer): Sealer {
  return {
    seal: (plain, context) => sealer.seal(deflateRawSync(plain).toString('base64url'), context),
    open(sealed, context) {
      const deflated = sealer.open(sealed, context)
      // It inflates what this service sealed, and nothing else.
      return deflated === null ? null : inflateRawSync(Buffer.from(deflated, 'base64url')).toString('utf8')
    }
  }
}
