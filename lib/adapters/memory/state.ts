import type { State } from '../../ports/state.ts'
import { checkPerUser, noOthers } from '../../protocol/bounds.ts'
import { memoryAssertionStore } from './assertion-store.ts'
import { memoryConsentStore } from './consent-store.ts'
import { memoryKeyStore } from './key-store.ts'
import { memoryOneTimeTokenStore } from './one-time-token-store.ts'
import { memorySessionStore } from './session-store.ts'
import { inSlices } from './slices.ts'
import { memoryTokenStore } from './token-store.ts'

export interface MemoryStateOptions {
  /**
   * How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100; from 1
   * to 1,000.
   */
  maxFamiliesPerUser?: number | undefined
  /**
   * How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100; from 1
   * to 1,000.
   */
  maxSessionsPerUser?: number | undefined
}

/**
 * State in this process's memory: for tests, development, and a single process that may forget who is signed in.
 * Several processes don't share it.
 */
export function memoryState({
  maxFamiliesPerUser = 100,
  maxSessionsPerUser = 100,
  ...others
}: MemoryStateOptions = {}): State {
  noOthers('memoryState', others)
  checkPerUser({ maxFamiliesPerUser, maxSessionsPerUser })
  let owner: string | null = null
  const browserSessions = memorySessionStore(maxSessionsPerUser)
  const tokens = memoryTokenStore(maxFamiliesPerUser, browserSessions)
  const oneTimeTokens = memoryOneTimeTokenStore()
  const consents = memoryConsentStore()
  const assertions = memoryAssertionStore()
  return {
    kind: 'memory',
    shared: false,
    tokens,
    oneTimeTokens,
    browserSessions,
    consents,
    keys: memoryKeyStore(),
    assertions,
    async claimFor(issuer) {
      owner ??= issuer
      return owner
    },
    async sweep(now) {
      await inSlices(tokens.sids(), (sid) => {
        tokens.sweepFamily(sid, now)
      })
      await inSlices(oneTimeTokens.names(), (name) => {
        oneTimeTokens.sweepToken(name, now)
      })
      await inSlices(browserSessions.sids(), (sid) => {
        browserSessions.sweepSession(sid, now)
      })
      await inSlices(consents.keys(), (key) => {
        consents.sweepConsent(key, now)
      })
      await inSlices(assertions.digests(), (digest) => {
        assertions.sweepAssertion(digest, now)
      })
    }
  }
}
