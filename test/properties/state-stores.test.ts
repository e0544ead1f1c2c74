/**
 * Any history of calls on browser sessions, on consents and on one-time tokens is answered by every store as the model
 * says: memory, SQLite, Redis and PostgreSQL.
 */
import * as fc from 'fast-check'
import type { OneTimeTokenPurpose } from '../../lib/ports/state.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { CONSENTS, type ConsentWorld } from './support/consent-model.ts'
import { type CallOf, commandsOf, type History, nthLast, recent, seldom } from './support/histories.ts'
import { ONE_TIME_TOKENS, type TokenWorld } from './support/one-time-token-model.ts'
import { property } from './support/property.ts'
import { isSessionAlive, MAX_SESSIONS, SESSIONS, type SessionWorld } from './support/session-model.ts'
import { states } from './support/states.ts'

const MINUTE = 60_000
const T0 = Date.UTC(2026, 0, 1)
const LENGTH = { maxCommands: 40, size: 'max' } as const

let runs = 0
/** The common setup of all three. Each run has its own users, so the stores need not be emptied. */
function begin<World>(world: World): History<World> & { users: string[] } {
  runs += 1
  return { worlds: [world], now: T0, outcomes: [], users: [`ann-${runs}`, `bob-${runs}`] }
}

const user = fc.nat(1)
const client = fc.constantFrom('client-1', 'client-2', 'client-3')
const STORES = await states({ maxFamiliesPerUser: 3, maxSessionsPerUser: MAX_SESSIONS })
/** The share of runs: less for slower stores. */
const shareOf = (kind: string): number =>
  ({
    memory: 0.05,
    'memory of two instances': 0.05,
    'evicting memory of two instances': 0.03,
    sqlite: 0.02,
    redis: 0.02
  })[kind] ?? 0.015

// Browser sessions

type SessionCall = CallOf<typeof SESSIONS>
interface SessionHistory extends History<SessionWorld> {
  users: string[]
  /** Created records with all of their digests, the newest last. */
  made: Array<{ sid: string; userId: string; digests: string[] }>
}
type MakeSessionCall = (history: SessionHistory) => SessionCall

const ofSessions = commandsOf<SessionWorld, SessionHistory, typeof SESSIONS>(
  SESSIONS,
  (history, { method }, answer) => {
    history.outcomes.push(
      `${method} ${answer instanceof Error ? 'refused' : answer === null || answer === false ? 'no' : 'yes'}`
    )
  }
)

/** A live session if there is one. High numbers choose from all sessions. */
function madeOf({ made, worlds, users, now }: SessionHistory, at: number): SessionHistory['made'][number] {
  const alive = new Set(
    worlds[0]?.entries.filter(({ session }) => isSessionAlive(session, now)).map(({ session }) => session.sid)
  )
  return (
    nthLast(at < 6 ? made.filter(({ sid }) => alive.has(sid)) : made, at) ??
    nthLast(made, at) ?? { sid: `${partitionOf(users[0] ?? '')}none`, userId: users[0] ?? '', digests: ['none'] }
  )
}
const lifetime = (now: number, idle: number): { expiresAt: number; idleExpiresAt: number } => ({
  expiresAt: now + 60 * MINUTE,
  idleExpiresAt: now + idle * MINUTE
})
const idle = fc.constantFrom(10, 30, 30, 90)

const createSession = fc
  .record({ user, idle, isTaken: seldom, clientIds: fc.subarray(['client-1', 'client-2']) })
  .map(({ user, idle, isTaken, clientIds }): MakeSessionCall => (history) => {
    // The order of two with the same creation time does not matter.
    const now = (history.now += 1)
    const userId = history.users[user] ?? ''
    const taken = isTaken
      ? history.worlds[0]?.entries.find(({ session }) => isSessionAlive(session, now))?.session
      : undefined
    const sid = taken?.sid ?? `${partitionOf(userId)} ${userId} ${history.made.length}`
    const digest = `${sid} first`
    if (taken === undefined) history.made.push({ sid, userId, digests: [digest] })
    return {
      method: 'createSession',
      args: [
        {
          sid,
          userId: taken?.userId ?? userId,
          authenticatedAt: now,
          methods: [{ method: 'password', at: now }],
          createdAt: now,
          lastUsedAt: now,
          ...lifetime(now, idle),
          userAgent: 'agent',
          clientIds
        },
        taken === undefined ? digest : 'taken'
      ]
    }
  })
function secretOf(history: SessionHistory, { of, digest }: { of: number; digest: number }): SessionCall {
  const { sid, digests } = madeOf(history, of)
  return { method: 'findSession', args: [sid, nthLast(digests, digest) ?? '', history.now] }
}
const findSession = fc.record({ of: recent, digest: recent }).map(
  (which): MakeSessionCall =>
    (history) =>
      secretOf(history, which)
)
const use = fc.record({ of: recent, digest: recent, idle, client: fc.option(client, { nil: undefined }) })
const useOf = (
  history: SessionHistory,
  { of, digest, idle, client }: { of: number; digest: number; idle: number; client: string | undefined }
) => ({
  sid: madeOf(history, of).sid,
  digest: nthLast(madeOf(history, of).digests, digest) ?? '',
  now: history.now,
  idleExpiresAt: history.now + idle * MINUTE,
  ...(client === undefined ? {} : { clientId: client })
})
const useSession = use.map((which): MakeSessionCall => (history) => ({
  method: 'useSession',
  args: [useOf(history, which)]
}))
let codes = 0
const createCode = use.map((which): MakeSessionCall => (history) => {
  const { sid, userId } = madeOf(history, which.of)
  const code = `${partitionOf(userId)} code ${++codes}`
  const { now } = history
  return {
    method: 'createCode',
    args: [
      {
        sid: code,
        userId,
        clientId: 'client-1',
        scope: '',
        authenticatedAt: now,
        acr: 'password',
        amr: ['pwd'],
        createdAt: now,
        sessionSid: sid,
        offline: false,
        authorization: '{}',
        codeDigest: code,
        codeExpiresAt: now + MINUTE
      },
      useOf(history, which)
    ]
  }
})
interface Renewal {
  of: number
  former: number
  idle: number
  isOthers: boolean
}
function renewalOf(history: SessionHistory, { of, former, idle, isOthers }: Renewal): SessionCall {
  const { sid, userId, digests } = madeOf(history, of)
  const { now } = history
  const live = history.worlds[0]?.entries
    .find(({ session }) => session.sid === sid)
    ?.secrets.find(({ replacedAt }) => replacedAt === null)
  const formerDigest = (former < 3 ? live?.digest : nthLast(digests, former)) ?? ''
  const digest = `${sid} ${digests.length}`
  digests.push(digest)
  return {
    method: 'renewSession',
    args: [
      {
        sid,
        userId: isOthers ? 'somebody' : userId,
        formerDigest,
        digest,
        now,
        authenticatedAt: now,
        methods: [
          { method: 'password', at: now },
          { method: 'otp', at: now }
        ],
        ...lifetime(now, idle)
      }
    ]
  }
}
const renewSession = fc.record({ of: recent, former: recent, idle, isOthers: seldom }).map(
  (which): MakeSessionCall =>
    (history) =>
      renewalOf(history, which)
)
/**
 * More renewals in one browser than secrets are kept, each of the live secret, and one of a secret that was replaced.
 */
const renewedOften = recent.map((of) =>
  ofSessions.inTurn([
    ...Array.from(
      { length: 5 },
      (): MakeSessionCall => (history) => renewalOf(history, { of, former: 0, idle: 30, isOthers: false })
    ),
    ...Array.from(
      { length: 5 },
      (_, digest): MakeSessionCall =>
        (history) =>
          secretOf(history, { of, digest })
    )
  ])
)
const revokeSession = fc
  .record({ of: recent, isOthers: seldom })
  .map(({ of, isOthers }): MakeSessionCall => (history) => {
    const { sid, userId } = madeOf(history, of)
    return { method: 'revokeSession', args: [isOthers ? 'somebody' : userId, sid] }
  })
const revokeSessionsOfUser = fc
  .record({ user, except: fc.option(recent), former: fc.option(recent) })
  .map(({ user, except, former }): MakeSessionCall => (history) => {
    const userId = history.users[user] ?? ''
    if (except === null) return { method: 'revokeSessionsOfUser', args: [userId] }
    const { sid, digests } = madeOf(history, except)
    const digest = `${sid} ${digests.length}`
    const secret = former === null ? null : { formerDigest: nthLast(digests, former) ?? '', digest }
    if (former !== null) digests.push(digest)
    return { method: 'revokeSessionsOfUser', args: [userId, { sid, secret }] }
  })
const listSessions = user.map((user): MakeSessionCall => ({ users, now }) => ({
  method: 'listSessionsOfUser',
  args: [users[user] ?? '', now]
}))

const anySessionCall = fc.oneof(
  { arbitrary: createSession, weight: 4 },
  { arbitrary: findSession, weight: 4 },
  { arbitrary: renewSession, weight: 4 },
  { arbitrary: fc.oneof(useSession, createCode), weight: 4 },
  { arbitrary: listSessions, weight: 3 },
  { arbitrary: revokeSession, weight: 1 },
  { arbitrary: revokeSessionsOfUser, weight: 1 }
)
const sessionHistories = fc.commands(
  ofSessions.usual(
    anySessionCall,
    fc.oneof(renewSession, revokeSession, useSession, createSession),
    renewedOften,
    fc.constantFrom(1, MINUTE, 10 * MINUTE - 1, 20 * MINUTE, 30 * MINUTE).map(ofSessions.passed)
  ),
  LENGTH
)

for (const { kind, browserSessions, tokens, sweep } of STORES) {
  const { revokeSession, createCode } = tokens
  property(
    `answers calls on browser sessions as the model does (${kind})`,
    [sessionHistories],
    {
      share: shareOf(kind),
      cases: [
        'findSession yes',
        'findSession no',
        'useSession yes',
        'useSession no',
        'createCode yes',
        'renewSession yes',
        'createSession refused',
        'revokeSessionsOfUser yes'
      ]
    },
    async (commands) => {
      const history: SessionHistory = { ...begin({ entries: [] }), made: [] }
      await fc.asyncModelRun(
        () => ({ model: history, real: { kind, methods: { ...browserSessions, revokeSession, createCode }, sweep } }),
        commands
      )
      return history.outcomes
    }
  )
}

// Consents

type ConsentHistory = ReturnType<typeof begin<ConsentWorld>>
type MakeConsentCall = (history: ConsentHistory) => CallOf<typeof CONSENTS>

const ofConsents = commandsOf<ConsentWorld, ConsentHistory, typeof CONSENTS>(
  CONSENTS,
  (history, { method }, answer) => {
    history.outcomes.push(
      `${method} ` +
        (answer === null || answer === false || (Array.isArray(answer) && answer.length === 0) ? 'no' : 'yes')
    )
  }
)
const whose = { user, client }
const findConsent = fc.record(whose).map(({ user, client }): MakeConsentCall => ({ users, now }) => ({
  method: 'findConsent',
  args: [users[user] ?? '', client, now]
}))
const grantConsent = fc
  .record({
    ...whose,
    scopes: fc.subarray(['openid', 'email', 'profile', 'read']),
    minutes: fc.constantFrom(1, 1, 10, 30)
  })
  .map(({ user, client, scopes, minutes }): MakeConsentCall => (history) => {
    // The port does not define the order of two consents granted at the same time.
    const now = (history.now += 1)
    return {
      method: 'grantConsent',
      args: [
        {
          userId: history.users[user] ?? '',
          clientId: client,
          scopes,
          grantedAt: now,
          expiresAt: now + minutes * MINUTE
        }
      ]
    }
  })
const revokeConsent = fc.record(whose).map(({ user, client }): MakeConsentCall => ({ users }) => ({
  method: 'revokeConsent',
  args: [users[user] ?? '', client]
}))
const listConsents = user.map((user): MakeConsentCall => ({ users, now }) => ({
  method: 'listConsents',
  args: [users[user] ?? '', now]
}))
const anyConsentCall = fc.oneof(
  { arbitrary: grantConsent, weight: 4 },
  { arbitrary: findConsent, weight: 3 },
  { arbitrary: listConsents, weight: 2 },
  revokeConsent
)
const consentHistories = fc.commands(
  ofConsents.usual(
    anyConsentCall,
    fc.oneof(grantConsent, revokeConsent),
    fc.constantFrom(1, MINUTE - 1, MINUTE - 1, MINUTE, 25 * MINUTE).map(ofConsents.passed)
  ),
  LENGTH
)

for (const { kind, consents, sweep } of STORES) {
  property(
    `answers calls on consents as the model does (${kind})`,
    [consentHistories],
    {
      share: shareOf(kind),
      cases: ['findConsent yes', 'findConsent no', 'listConsents yes', 'revokeConsent yes', 'revokeConsent no']
    },
    async (commands) => {
      const history = begin<ConsentWorld>({ consents: [] })
      await fc.asyncModelRun(() => ({ model: history, real: { kind, methods: { ...consents }, sweep } }), commands)
      return history.outcomes
    }
  )
}

// One-time tokens

interface TokenHistory extends History<TokenWorld> {
  users: string[]
  made: Array<{ purpose: OneTimeTokenPurpose; digest: string }>
}
type MakeTokenCall = (history: TokenHistory) => CallOf<typeof ONE_TIME_TOKENS>

const ofTokens = commandsOf<TokenWorld, TokenHistory, typeof ONE_TIME_TOKENS>(
  ONE_TIME_TOKENS,
  (history, { method }, answer) => {
    history.outcomes.push(typeof answer === 'string' ? answer : `${method} ${answer === null ? 'no' : 'yes'}`)
  }
)
/** Mostly codes, which are tried until they are spent. */
const purpose = fc.constantFrom<OneTimeTokenPurpose[]>('sign_in_code', 'sign_in_code', 'password_reset', 'verify_email')
function putFor(
  { users, made, now }: TokenHistory,
  user: number,
  purpose: OneTimeTokenPurpose
): CallOf<typeof ONE_TIME_TOKENS> {
  const userId = users[user] ?? ''
  const digest = `${partitionOf(userId)} ${userId} ${made.length}`
  made.push({ purpose, digest })
  // Lifetimes come from an option, so a user's newer token never ends first.
  return { method: 'put', args: [{ purpose, digest, userId, expiresAt: now + 10 * MINUTE }] }
}
const put = fc.record({ user, purpose }).map(
  ({ user, purpose }): MakeTokenCall =>
    (history) =>
      putFor(history, user, purpose)
)
const looked = fc.record({ of: recent, as: fc.option(purpose) })
const tokenOf = (
  { made }: TokenHistory,
  { of, as }: { of: number; as: OneTimeTokenPurpose | null },
  which = made
): [OneTimeTokenPurpose, string] => {
  const { purpose, digest } = nthLast(which, of) ?? { purpose: 'verify_email', digest: '---none' }
  return [of === 0 ? (as ?? purpose) : purpose, digest]
}
const find = looked.map((which): MakeTokenCall => (history) => ({
  method: 'find',
  args: [...tokenOf(history, which), history.now]
}))
// Only `redeemCode` uses up a code.
const consume = looked.map((which): MakeTokenCall => (history) => {
  const [purpose, digest] = tokenOf(
    history,
    which,
    history.made.filter(({ purpose }) => purpose !== 'sign_in_code')
  )
  return { method: 'consume', args: [purpose === 'sign_in_code' ? 'verify_email' : purpose, digest, history.now] }
})
const discard = fc.record({ user, purpose }).map(({ user, purpose }): MakeTokenCall => ({ users }) => ({
  method: 'discard',
  args: [purpose, users[user] ?? '']
}))
function guessFor(
  { users, made, worlds, now }: TokenHistory,
  user: number,
  guess: string
): CallOf<typeof ONE_TIME_TOKENS> {
  const owner = users[user] ?? ''
  const right = worlds[0]?.entries.find(({ token }) => token.purpose === 'sign_in_code' && token.userId === owner)
    ?.token.digest
  const former = made.findLast(
    ({ purpose, digest }) => purpose === 'sign_in_code' && digest !== right && digest.includes(` ${owner} `)
  )?.digest
  return {
    method: 'redeemCode',
    args: [
      {
        purpose: 'sign_in_code',
        owner,
        codeDigest:
          (guess === 'right' ? right : guess === 'former' ? former : undefined) ?? `${partitionOf(owner)} wrong`,
        now
      }
    ]
  }
}
const redeemCode = fc.record({ user, guess: fc.constantFrom('wrong', 'wrong', 'wrong', 'former', 'right') }).map(
  ({ user, guess }): MakeTokenCall =>
    (history) =>
      guessFor(history, user, guess)
)
/** Wrong codes until no further one is checked, with a new code between them. */
const guessedOften = fc.record({ user, times: fc.integer({ min: 1, max: 4 }) }).map(({ user, times }) =>
  ofTokens.inTurn([
    ...Array.from(
      { length: 7 },
      (_, at): MakeTokenCall =>
        (history) =>
          at === times ? putFor(history, user, 'sign_in_code') : guessFor(history, user, 'wrong')
    ),
    (history) => guessFor(history, user, 'right')
  ])
)
const anyTokenCall = fc.oneof(
  { arbitrary: put, weight: 3 },
  { arbitrary: redeemCode, weight: 9 },
  { arbitrary: find, weight: 2 },
  { arbitrary: consume, weight: 3 },
  discard
)
const tokenHistories = fc.commands(
  ofTokens.usual(
    anyTokenCall,
    fc.oneof(redeemCode, consume, put),
    guessedOften,
    fc.constantFrom(1, MINUTE, 5 * MINUTE, 10 * MINUTE - 1).map(ofTokens.passed)
  ),
  LENGTH
)

for (const { kind, oneTimeTokens, sweep } of STORES) {
  property(
    `answers calls on one-time tokens as the model does (${kind})`,
    [tokenHistories],
    {
      share: 2 * shareOf(kind),
      cases: ['redeemed', 'wrong', 'spent', 'unknown', 'find yes', 'find no', 'consume yes', 'consume no']
    },
    async (commands) => {
      const history: TokenHistory = { ...begin<TokenWorld>({ entries: [] }), made: [] }
      await fc.asyncModelRun(
        () => ({ model: history, real: { kind, methods: oneTimeTokens as Required<typeof oneTimeTokens>, sweep } }),
        commands
      )
      return history.outcomes
    }
  )
}
