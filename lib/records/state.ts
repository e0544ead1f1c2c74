import type { RecordStore } from '../ports/record-store.ts'
import type { DeviceStore } from '../ports/device-store.ts'
import type { AssertionStore, ConsentStore, KeyStore, OneTimeTokenStore, State } from '../ports/state.ts'
import { checkPerUser, noOthers } from '../protocol/bounds.ts'
import { partitionOf } from '../protocol/digest.ts'
import { claimDeviceRequest, createDeviceRequest, decideDeviceRequest, pollDeviceRequest } from './device-rules.ts'
import { checkRecordStore, type Transactor, transactor } from './transact.ts'
import { findConsent, grantConsent, listConsents, revokeConsent } from './consent-rules.ts'
import {
  assertionKey,
  CONSENTS,
  DEVICE_REQUEST,
  familyKey,
  KEYS,
  oneTimeTokenKey,
  OWNER,
  partitionOfName,
  requirePartition,
  SERVICE,
  sessionKey,
  TRIALS
} from './view.ts'
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
import type { SessionStore } from '../ports/session-store.ts'
import {
  createSession,
  findSession,
  listSessionsOfUser,
  renewSession,
  revokeSessionsOfUser,
  useSession
} from './session-rules.ts'
import { generationKeys, indexKeys } from './user-index.ts'
import type { TokenStore } from '../ports/token-store.ts'
import {
  createCode,
  createFamily,
  listFamiliesOfUser,
  peekToken,
  redeemCode,
  revokeFamiliesOfClient,
  revokeFamiliesOfUser,
  revokeFamily,
  revokeSession,
  rotateToken,
  undoRotation,
  useToken
} from './family-rules.ts'
import { aliveFamily } from './family-record.ts'

export interface RecordStateOptions {
  /**
   * The maximum number of devices that a user is signed in on. Refresh token families with and without offline access
   * count separately. A further sign-in signs out the device that signed in first. Default 100; from 1 to 1,000.
   */
  maxFamiliesPerUser?: number | undefined
  /**
   * The maximum number of browsers in which a user is signed in on the hosted pages. A further sign-in ends the session
   * that began first. Default 100; from 1 to 1,000.
   */
  maxSessionsPerUser?: number | undefined
  /**
   * The maximum number of records that this process remembers as it saw them last, which saves a trip for most
   * refreshes. Each record takes about 1.5 kB. Default: 10,000 for a shared store, 0 for any other. 0: none.
   */
  remembered?: number | undefined
}

/** The default of `remembered` for a shared store. */
const REMEMBERED = 10_000

/**
 * The state over a store of records, such as one of the host's own. All rules are in lib/records. The store only reads
 * records, and commits them by comparing versions.
 */
export function recordState(
  store: RecordStore,
  { maxFamiliesPerUser = 100, maxSessionsPerUser = 100, remembered, ...others }: RecordStateOptions = {}
): State & Required<Pick<State, 'assertions' | 'claimFor' | 'devices'>> {
  checkRecordStore('recordState', store)
  noOthers('recordState', others)
  checkPerUser({ maxFamiliesPerUser, maxSessionsPerUser })
  const transactions = transactor(store, { remembered: remembered ?? (store.shared ? REMEMBERED : 0) })
  const { transact } = transactions
  return {
    kind: store.kind,
    shared: store.shared,
    tokens: tokenStore(transactions, maxFamiliesPerUser),
    browserSessions: sessionStore(transactions, maxSessionsPerUser),
    oneTimeTokens: oneTimeTokenStore(transactions),
    consents: consentStore(transactions),
    keys: keyStore(transactions),
    assertions: assertionStore(transactions),
    devices: deviceStore(transactions),
    tryWrite: () => transact(TRIALS, [], writeTrial),
    claimFor: (issuer) => transact(SERVICE, [OWNER], (view) => claimState(view, issuer)),
    ...(store.prepare === undefined ? {} : { prepare: store.prepare }),
    ...(store.pending === undefined ? {} : { pending: store.pending }),
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

/** An assertion has no user, so its partition comes from its digest. Reads nothing first, because most are new. */
const assertionStore = ({ transact }: Transactor): AssertionStore => ({
  claim: (digest, expiresAt) =>
    transact(partitionOfName(digest), [assertionKey(digest)], (view) => claimAssertion(view, digest, expiresAt), {
      fresh: [assertionKey(digest)]
    })
})

/** The device knows the device code of a request, and the user its user code. Each code gives the id of the request. */
const deviceStore = ({ transact }: Transactor): DeviceStore => ({
  create: (request) =>
    transact(partitionOfName(request.id), [DEVICE_REQUEST], (view) => createDeviceRequest(view, request), {
      now: request.createdAt,
      fresh: [DEVICE_REQUEST]
    }),
  claim: (id, sid, now) =>
    transact(partitionOfName(id), [DEVICE_REQUEST], (view) => claimDeviceRequest(view, id, sid, now), { now }),
  decide: (decision) =>
    transact(partitionOfName(decision.id), [DEVICE_REQUEST], (view) => decideDeviceRequest(view, decision), decision),
  poll: (poll) => transact(partitionOfName(poll.id), [DEVICE_REQUEST], (view) => pollDeviceRequest(view, poll), poll)
})

/** Browser sessions. A user has at most `max` sessions. A further session ends the one created first. */
function sessionStore({ transact, look, evicts }: Transactor, max: number): SessionStore {
  const index = indexKeys({ evicts })
  const generation = generationKeys({ evicts })

  return {
    async createSession(session, digest) {
      const { sid, userId, createdAt: now } = session
      const keys = [sessionKey(sid), ...index]
      const options = { now, fresh: keys }
      const partition = requirePartition(sid, userId)
      await transact(partition, keys, (view) => createSession(view, session, digest, max), options)
    },
    findSession: (sid, digest, now) =>
      look(partitionOfName(sid), [sessionKey(sid), ...generation], (view) => findSession(view, sid, digest, now)),
    useSession: (use) =>
      transact(partitionOfName(use.sid), [sessionKey(use.sid), ...generation], (view) => useSession(view, use), use),
    renewSession: (renewal) =>
      transact(
        partitionOfName(renewal.sid),
        [sessionKey(renewal.sid), ...index],
        (view) => renewSession(view, renewal),
        renewal
      ),
    revokeSessionsOfUser: (userId, stays) =>
      transact(partitionOf(userId), index, (view) => revokeSessionsOfUser(view, userId, stays)),
    listSessionsOfUser: (userId, now) =>
      look(partitionOf(userId), index, (view) => listSessionsOfUser(view, userId, now))
  }
}

/**
 * Refresh token families and authorization codes. A user has at most `max` offline families, `max` online families and
 * `max` codes that are not redeemed. A further family or code ends the one of its kind that was created first.
 */
function tokenStore({ transact, look, evicts }: Transactor, max: number): TokenStore {
  const index = indexKeys({ evicts })
  const generation = generationKeys({ evicts })
  const ofOne = (sid: string): string[] => [familyKey(sid), ...generation]
  const ofOneAndIndex = (sid: string): string[] => [familyKey(sid), ...index]

  return {
    async createFamily(family) {
      const { sid, userId, createdAt: now } = family
      const keys = ofOneAndIndex(sid)
      const options = { now, fresh: keys }
      const partition = requirePartition(sid, userId)
      await transact(partition, keys, (view) => createFamily(view, family, max), options)
    },
    async createCode(code, use) {
      const { sid, userId, createdAt: now } = code
      const keys = [...ofOneAndIndex(sid), ...(use === undefined ? [] : [sessionKey(use.sid)])]
      const options = { now, fresh: ofOneAndIndex(sid) }
      return await transact(requirePartition(sid, userId), keys, (view) => createCode(view, code, use, max), options)
    },
    redeemCode: (redemption) =>
      transact(
        partitionOfName(redemption.sid),
        ofOneAndIndex(redemption.sid),
        (view) => redeemCode(view, redemption, max),
        redemption
      ),

    findFamily: (sid, now) =>
      look(partitionOfName(sid), ofOne(sid), (view) => aliveFamily(view, sid, now)?.family ?? null),
    peekToken: (use) => look(partitionOfName(use.sid), ofOne(use.sid), (view) => peekToken(view, use)),
    useToken: (use) => transact(partitionOfName(use.sid), ofOne(use.sid), (view) => useToken(view, use), use),
    rotateToken: (use, next) =>
      transact(partitionOfName(use.sid), ofOne(use.sid), (view) => rotateToken(view, use, next), use),
    undoRotation: (undo) => transact(partitionOfName(undo.sid), ofOne(undo.sid), (view) => undoRotation(view, undo)),

    revokeFamily: (sid, userId) =>
      transact(partitionOfName(sid), ofOneAndIndex(sid), (view) => revokeFamily(view, sid, userId)),
    revokeFamiliesOfUser: (userId, exceptSid) =>
      transact(partitionOf(userId), index, (view) => revokeFamiliesOfUser(view, userId, exceptSid)),
    revokeFamiliesOfClient: (userId, clientId) =>
      transact(partitionOf(userId), index, (view) => revokeFamiliesOfClient(view, userId, clientId)),
    revokeSession: (userId, sid, clientId) =>
      transact(partitionOf(userId), [...index, sessionKey(sid)], (view) => revokeSession(view, userId, sid, clientId)),
    listFamiliesOfUser: (userId, now) =>
      look(partitionOf(userId), index, (view) => listFamiliesOfUser(view, userId, now))
  }
}
