import { invalidOptions, misfit } from '../errors.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import type { Sealer } from '../ports/cryptography.ts'

const CONTEXT = 'seal of the second factors'
const ON_PURPOSE =
  'To go on all the same, remove the record of kind "seal" from the factor store: the authenticator apps of before ' +
  'then answer 503 (docs/deployment.md).'

/**
 * Checks at the start whether `secret` opens the keys of authenticator apps. The first start stores a sealed text that
 * names the issuer. Every later start opens it and seals it again under the first secret. Without this check, the first
 * user with a code would find the fault. Passkeys need no secret: with `seals: false` a start stores no text and only
 * checks an existing one.
 * @throws StartError if `secret` or `issuer` has changed
 */
export async function checkFactorSeal(
  store: Pick<FactorStore, 'keepSeal'>,
  { issuer, sealer, seals }: { issuer: string; sealer: Sealer; seals: boolean }
): Promise<void> {
  if (store.keepSeal === undefined) return
  const next = sealer.seal(issuer, CONTEXT)
  // `''` is never stored, so this call only reads.
  const kept: unknown = await store.keepSeal(next, seals ? null : '')
  if (!seals && (kept === null || kept === undefined)) return
  // A host's store may return any value. A missing text does not count as an opened one.
  if (typeof kept !== 'string')
    throw misfit('store', { source: 'factors.keepSeal', got: kept, takes: 'the text that is kept' })
  if (kept === next) return
  const former = sealer.open(kept, CONTEXT)
  if (former === null)
    throw invalidOptions(
      'secret: it does not open the second factors in the factor store, which were sealed under another one. ' +
        `Give both, as in secret: [new, former]. ${ON_PURPOSE}`
    )
  if (former !== issuer)
    throw invalidOptions(
      `issuer: got ${JSON.stringify(issuer)}, and the second factors in the factor store are sealed for ` +
        `${JSON.stringify(former)}. ${ON_PURPOSE}`
    )
  await store.keepSeal(next, kept)
}
