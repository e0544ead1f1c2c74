/**
 * Any history of calls on families and codes, one at a time and several at once, is answered by every store as the
 * model says: memory, SQLite, Redis and PostgreSQL. Of calls at once, the answers must be those of some order of them.
 */
import * as fc from 'fast-check'
import type { RotationUndo } from '../../lib/ports/token-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { FAMILIES, MAX_PER_USER, type World } from './support/family-model.ts'
import { type CallOf, commandsOf, type History as BaseHistory, nthLast, recent, seldom } from './support/histories.ts'
import { property } from './support/property.ts'
import { states } from './support/states.ts'

const MINUTE = 60_000
const GRACE = 10_000
const T0 = Date.UTC(2026, 0, 1)

interface Made {
  sid: string
  userId: string
  digests: string[]
}

type Call = CallOf<typeof FAMILIES>

/** The values that the next calls are made of. */
interface History extends BaseHistory<World> {
  users: string[]
  /** Created records with all of their digests, the newest last. */
  made: Made[]
  undos: RotationUndo[]
}

type MakeCall = (history: History) => Call

const CLIENTS = ['client-1', 'client-2'] as const
const SESSIONS = ['session-1', 'session-2', null] as const
const user = fc.nat(1)
const client = fc.constantFrom(...CLIENTS)
const session = fc.constantFrom(...SESSIONS)

const lifetime = (now: number): { expiresAt: number; idleExpiresAt: number } => ({
  expiresAt: now + 60 * MINUTE,
  idleExpiresAt: now + 30 * MINUTE
})
/** A live family of this kind if there is one. High numbers choose from all families. */
function madeOf({ made, users, worlds, now }: History, at: number, kind?: 'code' | 'family'): Made {
  const alive = worlds[0]?.entries.filter(
    ({ family, current }) =>
      now < Math.min(family.expiresAt, family.idleExpiresAt) &&
      (kind === undefined || (current === null) === (kind === 'code'))
  )
  const sids = new Set(alive?.map(({ family }) => family.sid))
  const of = at < 6 ? made.filter(({ sid }) => sids.has(sid)) : made
  return (
    nthLast(of, at) ??
    nthLast(made, at) ?? { sid: `${partitionOf(users[0] ?? '')}none`, userId: users[0] ?? '', digests: ['none'] }
  )
}
const familyOf = ({ worlds }: History, sid: string): { clientId: string | null } =>
  worlds[0]?.entries.find(({ family }) => family.sid === sid)?.family ?? { clientId: null }

/** A new family or code, and seldom one whose sid is taken. */
function created(history: History, user: number, isTaken: boolean): { sid: string; userId: string; digest: string } {
  const userId = history.users[user] ?? ''
  const taken = isTaken ? history.worlds[0]?.entries.at(-1)?.family : undefined
  if (taken !== undefined && history.now < Math.min(taken.expiresAt, taken.idleExpiresAt))
    return { sid: taken.sid, userId: taken.userId, digest: 'taken' }
  const sid = `${partitionOf(userId)} ${userId} ${history.made.length}`
  history.made.push({ sid, userId, digests: [`${sid} first`] })
  // The order of two with the same creation time does not matter.
  history.now += 1
  return { sid, userId, digest: `${sid} first` }
}

const createFamily = fc
  .record({ user, client: fc.constantFrom(...CLIENTS, null), session, offline: fc.boolean(), isTaken: seldom })
  .map(({ user, client, session, offline, isTaken }): MakeCall => (history) => {
    const { sid, userId, digest } = created(history, user, isTaken)
    const { now } = history
    return {
      method: 'createFamily',
      args: [
        {
          sid,
          userId,
          clientId: client,
          scope: 'read',
          authenticatedAt: now,
          acr: 'password',
          amr: ['pwd'],
          createdAt: now,
          lastUsedAt: now,
          ...lifetime(now),
          userAgent: null,
          sessionSid: session,
          offline,
          authorization: null,
          tokenDigest: digest
        }
      ]
    }
  })
const createCode = fc
  .record({ user, client, session, offline: fc.boolean(), isTaken: seldom })
  .map(({ user, client, session, offline, isTaken }): MakeCall => (history) => {
    const { sid, userId, digest } = created(history, user, isTaken)
    const { now } = history
    return {
      method: 'createCode',
      args: [
        {
          sid,
          userId,
          clientId: client,
          scope: 'read',
          authenticatedAt: now,
          acr: 'password',
          amr: ['pwd'],
          createdAt: now,
          sessionSid: session,
          offline,
          authorization: '{}',
          codeDigest: digest,
          codeExpiresAt: now + 10 * MINUTE
        }
      ]
    }
  })
const redeemCode = fc
  .record({ of: recent, wrong: fc.constantFrom('', '', '', '', '', 'digest', 'client') })
  .map(({ of, wrong }): MakeCall => (history) => {
    const { sid, digests } = madeOf(history, of, of % 3 === 2 ? 'family' : 'code')
    const clientId = wrong === 'client' ? 'client-x' : (familyOf(history, sid).clientId ?? 'client-1')
    const { now } = history
    const tokenDigest = `${sid} ${digests.length} redeemed`
    digests.push(tokenDigest)
    return {
      method: 'redeemCode',
      args: [
        {
          sid,
          digest: wrong === 'digest' ? 'wrong' : (digests[0] ?? ''),
          clientId,
          now,
          tokenDigest,
          ...lifetime(now),
          onlineExpiresAt: now + 15 * MINUTE,
          userAgent: 'agent'
        }
      ]
    }
  })

const presented = fc.record({
  of: recent,
  digest: fc.oneof(
    { arbitrary: fc.constant('current'), weight: 10 },
    { arbitrary: fc.constant('replaced'), weight: 6 },
    fc.constantFrom('older', 'unknown')
  ),
  graceMs: fc.constantFrom(0, GRACE, GRACE, GRACE, GRACE),
  client: fc.constantFrom('any', 'any', 'own', 'own', 'own', 'other', 'none')
})
type Presented = typeof presented extends fc.Arbitrary<infer Value> ? Value : never
function useOf(history: History, { of, digest, graceMs, client }: Presented) {
  const { sid, digests } = madeOf(history, of, 'family')
  const entry = history.worlds[0]?.entries.find(({ family }) => family.sid === sid)
  const shown =
    digest === 'current'
      ? entry?.current
      : digest === 'replaced'
        ? entry?.replaced?.digest
        : digest === 'older'
          ? digests[0]
          : 'unknown'
  const clientId = client === 'own' ? familyOf(history, sid).clientId : client === 'other' ? 'client-x' : null
  return {
    sid,
    digest: shown ?? 'unknown',
    now: history.now,
    graceMs,
    idleExpiresAt: history.now + 30 * MINUTE,
    ...(client === 'any' ? {} : { clientId })
  }
}
const useToken = presented.map((which): MakeCall => (history) => ({
  method: 'useToken',
  args: [useOf(history, which)]
}))
const peekToken = presented.map((which): MakeCall => (history) => {
  const { sid, digest, now, graceMs } = useOf(history, which)
  return { method: 'peekToken', args: [{ sid, digest, now, graceMs }] }
})
const rotateToken = presented.map((which): MakeCall => (history) => {
  const { digests } = madeOf(history, which.of, 'family')
  const use = useOf(history, which)
  const digest = `${use.sid} ${digests.length}`
  digests.push(digest)
  return { method: 'rotateToken', args: [use, { digest, sealed: `sealed ${digest}` }] }
})
const undo =
  (at: number): MakeCall =>
  ({ undos }) => ({
    method: 'undoRotation',
    args: [nthLast(undos, at) ?? { sid: 'none', digest: 'none', replacedDigest: 'none', former: null }]
  })
const undoRotation = recent.map(undo)
const findFamily = recent.map((of): MakeCall => (history) => ({
  method: 'findFamily',
  args: [madeOf(history, of).sid, history.now]
}))
const listFamilies = user.map((user): MakeCall => ({ users, now }) => ({
  method: 'listFamiliesOfUser',
  args: [users[user] ?? '', now]
}))
const revokeFamily = fc
  .record({ of: recent, whose: fc.constantFrom('', 'own', 'other') })
  .map(({ of, whose }): MakeCall => (history) => {
    const { sid, userId } = madeOf(history, of)
    return { method: 'revokeFamily', args: whose === '' ? [sid] : [sid, whose === 'own' ? userId : 'somebody'] }
  })
const revokeOfUser = fc.record({ user, except: fc.option(recent) }).map(({ user, except }): MakeCall => (history) => ({
  method: 'revokeFamiliesOfUser',
  args: except === null ? [history.users[user] ?? ''] : [history.users[user] ?? '', madeOf(history, except).sid]
}))
const revokeOfSession = fc
  .record({ user, session: fc.constantFrom('session-1', 'session-2'), client: fc.option(client) })
  .map(({ user, session, client }): MakeCall => ({ users }) => ({
    method: 'revokeSession',
    args: client === null ? [users[user] ?? '', session] : [users[user] ?? '', session, client]
  }))
const revokeOfClient = fc.record({ user, client }).map(({ user, client }): MakeCall => ({ users }) => ({
  method: 'revokeFamiliesOfClient',
  args: [users[user] ?? '', client]
}))

const anyCall = fc.oneof(
  { arbitrary: fc.oneof(createFamily, createCode), weight: 4 },
  { arbitrary: redeemCode, weight: 3 },
  { arbitrary: rotateToken, weight: 6 },
  { arbitrary: fc.oneof(useToken, peekToken), weight: 2 },
  { arbitrary: undoRotation, weight: 3 },
  { arbitrary: fc.oneof(findFamily, listFamilies), weight: 2 },
  { arbitrary: fc.oneof(revokeFamily, revokeOfUser, revokeOfSession, revokeOfSession, revokeOfClient), weight: 2 }
)

const { called, passed, usual } = commandsOf<World, History, typeof FAMILIES>(FAMILIES, (history, _call, answer) => {
  const { outcome, undo } = (answer ?? {}) as { outcome?: string; undo?: RotationUndo }
  if (undo !== undefined) history.undos.push(undo)
  if (outcome !== undefined) history.outcomes.push(outcome)
})

/** Every history starts with some records. */
const beginning = fc
  .array(fc.oneof({ arbitrary: createFamily, weight: 2 }, createCode), { minLength: 3, maxLength: 6 })
  .map((makes) => makes.map((make) => called([make])))
const histories = fc.commands(
  usual(
    anyCall,
    fc.oneof(rotateToken, redeemCode, revokeFamily, undoRotation),
    // All calls that got a successor give it back, or all but one.
    fc.constantFrom([0, 1], [1, 0], [0, 1, 2]).map((last) => called(last.map(undo))),
    fc.constantFrom(1, 1, GRACE, GRACE, GRACE + 1, MINUTE, 20 * MINUTE).map(passed)
  ),
  { maxCommands: 60, size: 'max' }
)

/** The share of runs: less for slower stores. */
const shareOf = (kind: string): number => (kind === 'memory' ? 0.2 : 0.1)
let runs = 0
for (const store of await states({ maxFamiliesPerUser: MAX_PER_USER, maxSessionsPerUser: 1 })) {
  property(
    `answers calls on token families and codes as the model does (${store.kind})`,
    [beginning, histories],
    { share: shareOf(store.kind), cases: ['rotated', 'repeated', 'replayed', 'redeemed', 'used', 'unknown'] },
    async (first, then) => {
      runs += 1
      const history: History = {
        worlds: [{ entries: [] }],
        now: T0,
        users: [`ann-${runs}`, `bob-${runs}`],
        made: [],
        undos: [],
        outcomes: []
      }
      await fc.asyncModelRun(
        () => ({ model: history, real: { kind: store.kind, methods: store.tokens, sweep: store.sweep } }),
        [...first, ...then]
      )
      return history.outcomes
    }
  )
}
