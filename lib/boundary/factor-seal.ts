import { misfit, StartError } from '../errors.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import type { Sealer } from '../ports/sealer.ts'

const CONTEXT = 'seal of the second factors'
const ON_PURPOSE =
  'To go on all the same, remove the record of kind "seal" from the factor store: the authenticator apps of before ' +
  'then answer 503 (docs/deployment.md).'

/**
 * Finds out at start if the keys of authenticator apps can be opened. The first start leaves a seal of the issuer in
 * the store, and every later one opens it and seals it again under the first secret. Without it, the first user with a
 * code would notice. Passkeys need no secret: with `seals: false` a start leaves no seal, and only checks an older one.
 * @throws StartError if `secret` or `issuer` has changed
 */
export async function checkFactorSeal(
  store: Pick<FactorStore, 'keepSeal'>,
  { issuer, sealer, seals }: { issuer: string; sealer: Sealer; seals: boolean }
): Promise<void> {
  if (store.keepSeal === undefined) return
  const next = sealer.seal(issuer, CONTEXT)
  // No store has the seal `''`, so that it is a look alone.
  const kept: unknown = await store.keepSeal(next, seals ? null : '')
  if (!seals && (kept === null || kept === undefined)) return
  // A store of the host's may answer anything, and nothing is no seal that was opened.
  if (typeof kept !== 'string')
    throw misfit('store', { source: 'factors.keepSeal', got: kept, takes: 'the text that is kept' })
  if (kept === next) return
  const former = sealer.open(kept, CONTEXT)
  if (former === null)
    throw new StartError(
      'FST_AUTHORITY_INVALID_OPTIONS',
      'secret: it does not open the second factors in the factor store, which were sealed under another one. ' +
        `Give both, as in secret: [new, former]. ${ON_PURPOSE}`
    )
  if (former !== issuer)
    throw new StartError(
      'FST_AUTHORITY_INVALID_OPTIONS',
      `issuer: got ${JSON.stringify(issuer)}, and the second factors in the factor store are sealed for ` +
        `${JSON.stringify(former)}. ${ON_PURPOSE}`
    )
  await store.keepSeal(next, kept)
}
