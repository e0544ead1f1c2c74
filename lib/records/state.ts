import type { RecordStore } from '../ports/record-store.ts'
import type { AssertionStore } from '../ports/assertion-store.ts'
import type { ConsentStore } from '../ports/consent-store.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { OneTimeTokenStore } from '../ports/one-time-token-store.ts'
import type { State } from '../ports/state.ts'
import { checkPerUser, noOthers } from '../protocol/bounds.ts'
import { partitionOf } from '../protocol/partition.ts'
import { checkRecordStore } from './check-store.ts'
import { findConsent, grantConsent, listConsents, revokeConsent } from './consent-rules.ts'
import {
  assertionKey,
  CONSENTS,
  KEYS,
  oneTimeTokenKey,
  OWNER,
  partitionOfName,
  requirePartition,
  SERVICE,
  TRIALS
} from './keys.ts'
import { consumeToken, discardToken, findToken, putToken, redeemSignInCode } from './one-time-token-rules.ts'
import {
  addKeyIfAbsent,
  claimAssertion,
  claimState,
  listKeys,
  removeKey,
  retireKey,
  writeTrial
} from './service-rules.ts'
import { recordSessionStore } from './session-store.ts'
import { recordTokenStore } from './token-store.ts'
import { type Transactor, transactor } from './transact.ts'

export interface RecordStateOptions {
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
  /**
   * How many records this process remembers as it saw them last, which saves most refreshes a trip. Each takes about
   * 1.5 kB. Default 10,000 for a store that is shared, 0 for one that is not; 0: none.
   */
  remembered?: number | undefined
}

/** Records. */
const REMEMBERED = 10_000

/**
 * The state over a store of records, such as one of the host's own. All rules are in this room: the store reads
 * records, and commits them by comparing versions.
 */
export function recordState(
  store: RecordStore,
  { maxFamiliesPerUser = 100, maxSessionsPerUser = 100, remembered, ...others }: RecordStateOptions = {}
): State & Required<Pick<State, 'assertions' | 'claimFor'>> {
  checkRecordStore('recordState', store)
  noOthers('recordState', others)
  checkPerUser({ maxFamiliesPerUser, maxSessionsPerUser })
  const transactions = transactor(store, { remembered: remembered ?? (store.shared ? REMEMBERED : 0) })
  const { transact } = transactions
  return {
    kind: store.kind,
    shared: store.shared,
    tokens: recordTokenStore(transactions, maxFamiliesPerUser),
    browserSessions: recordSessionStore(transactions, maxSessionsPerUser),
    oneTimeTokens: oneTimeTokenStore(transactions),
    consents: consentStore(transactions),
    keys: keyStore(transactions),
    assertions: assertionStore(transactions),
    tryWrite: () => transact(TRIALS, [], writeTrial),
    claimFor: (issuer) => transact(SERVICE, [OWNER], (view) => claimState(view, issuer)),
    ...(store.prepare === undefined ? {} : { prepare: store.prepare }),
    ...(store.time === undefined ? {} : { time: store.time }),
    sweep: (now) => store.sweep(now)
  }
}

const oneTimeTokenStore = ({ transact, look }: Transactor): OneTimeTokenStore => ({
  async put(token) {
    const partition = requirePartition(token.digest, token.userId)
    await transact(partition, [oneTimeTokenKey(token.purpose)], (view) => putToken(view, token))
  },
  find: (purpose, digest, now) =>
    look(partitionOfName(digest), [oneTimeTokenKey(purpose)], (view) => findToken(view, purpose, digest, now)),
  consume: (purpose, digest, now) =>
    transact(partitionOfName(digest), [oneTimeTokenKey(purpose)], (view) => consumeToken(view, purpose, digest, now), {
      now
    }),
  discard: (purpose, userId) =>
    transact(partitionOf(userId), [oneTimeTokenKey(purpose)], (view) => discardToken(view, purpose, userId)),
  redeemCode: (guess) =>
    transact(partitionOf(guess.owner), [oneTimeTokenKey(guess.purpose)], (view) => redeemSignInCode(view, guess), guess)
})

const consentStore = ({ transact, look }: Transactor): ConsentStore => ({
  findConsent: (userId, clientId, now) =>
    look(partitionOf(userId), [CONSENTS], (view) => findConsent(view, userId, clientId, now)),
  grantConsent: (consent) =>
    transact(partitionOf(consent.userId), [CONSENTS], (view) => grantConsent(view, consent), {
      now: consent.grantedAt
    }),
  revokeConsent: (userId, clientId) =>
    transact(partitionOf(userId), [CONSENTS], (view) => revokeConsent(view, userId, clientId)),
  listConsents: (userId, now) => look(partitionOf(userId), [CONSENTS], (view) => listConsents(view, userId, now))
})

const keyStore = ({ transact, look }: Transactor): KeyStore => ({
  list: () => look(SERVICE, [KEYS], listKeys),
  addIfAbsent: (key) => transact(SERVICE, [KEYS], (view) => addKeyIfAbsent(view, key)),
  retire: (kid) => transact(SERVICE, [KEYS], (view) => retireKey(view, kid)),
  remove: (kid) => transact(SERVICE, [KEYS], (view) => removeKey(view, kid))
})

/** An assertion has no user: its partition is made from its digest. Most are new, so nothing is read first. */
const assertionStore = ({ transact }: Transactor): AssertionStore => ({
  claim: (digest, expiresAt) =>
    transact(partitionOfName(digest), [assertionKey(digest)], (view) => claimAssertion(view, digest, expiresAt), {
      fresh: [assertionKey(digest)]
    })
})
