/** A model of one user's records in a state, and histories of calls on it, in which no time passes. */
import type { State } from '../../../lib/ports/state.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { code, family, GRACE, MINUTE, redemption, T0 } from '../../contract/suites/token-fixtures.ts'
import { session } from '../../contract/suites/session-fixtures.ts'
import type { Chance } from '../../support/random.ts'
import { type Model, type Operation, recorder } from './linearizable.ts'

/** A method with its arguments, in short: names of families, digests, clients. */
export type StateCall = readonly [method: keyof typeof METHODS, ...args: string[]]
export type StateAnswer = string | boolean | null

interface Family {
  current: string
  previous: string | null
  session: string | null
}
interface World {
  /** A code has no current token. */
  families: Readonly<Record<string, Family>>
  codes: Readonly<Record<string, string>>
  sessions: readonly string[]
  token: string | null
  consents: readonly string[]
}

const NOW = T0 + MINUTE
const CALLS_OF_A_CLIENT = 6

/** For each method, its call for the user with the answer as a text, and its effect on the world. */
const METHODS = {
  createFamily: {
    call: async ({ tokens }: State, user: string, sid: string, sessionSid: string) => {
      await tokens.createFamily(
        family({
          userId: user,
          sid: of(user, sid),
          tokenDigest: `${sid} 0`,
          offline: sessionSid === '',
          sessionSid: sessionSid === '' ? null : of(user, sessionSid)
        })
      )
      return 'made'
    },
    step: (world: World, sid: string, sessionSid: string) =>
      [{ ...world, families: { ...world.families, [sid]: begun(sid, sessionSid) } }, 'made'] as const
  },
  rotateToken: {
    call: async ({ tokens }: State, user: string, sid: string, digest: string, next: string) => {
      const found = await tokens.rotateToken(useOf(user, sid, digest), { digest: next, sealed: `sealed ${next}` })
      return found.outcome === 'repeated' ? `repeated ${found.sealed}` : found.outcome
    },
    step(world: World, sid: string, digest: string, next: string) {
      const held = world.families[sid]
      if (held === undefined) return [world, 'unknown'] as const
      if (held.current === digest)
        return [withFamily(world, sid, { ...held, current: next, previous: digest }), 'rotated'] as const
      return held.previous === digest
        ? ([world, `repeated sealed ${held.current}`] as const)
        : ([without(world, sid), 'replayed'] as const)
    }
  },
  useToken: {
    call: async ({ tokens }: State, user: string, sid: string, digest: string) =>
      (await tokens.useToken(useOf(user, sid, digest))).outcome,
    step(world: World, sid: string, digest: string) {
      const held = world.families[sid]
      if (held === undefined) return [world, 'unknown'] as const
      const counts = held.current === digest || held.previous === digest
      return counts ? ([world, 'used'] as const) : ([without(world, sid), 'replayed'] as const)
    }
  },
  peekToken: {
    call: async ({ tokens }: State, user: string, sid: string, digest: string) =>
      (await tokens.peekToken(useOf(user, sid, digest))) !== null,
    step: (world: World, sid: string, digest: string) => {
      const { current, previous } = world.families[sid] ?? {}
      return [world, current === digest || previous === digest] as const
    }
  },
  revokeFamily: {
    call: ({ tokens }: State, user: string, sid: string) => tokens.revokeFamily(of(user, sid), user),
    step: (world: World, sid: string) => [without(world, sid), sid in world.families || sid in world.codes] as const
  },
  revokeFamiliesOfUser: {
    call: async ({ tokens }: State, user: string) => inOrder(user, await tokens.revokeFamiliesOfUser(user)),
    step: (world: World) =>
      [
        { ...world, families: {}, codes: {} },
        [...Object.keys(world.families), ...Object.keys(world.codes)].sort().join()
      ] as const
  },
  listFamiliesOfUser: {
    call: async ({ tokens }: State, user: string) =>
      inOrder(
        user,
        (await tokens.listFamiliesOfUser(user, NOW)).map(({ sid }) => sid)
      ),
    step: (world: World) => [world, Object.keys(world.families).sort().join()] as const
  },
  createCode: {
    call: ({ tokens }: State, user: string, sid: string, sessionSid: string) =>
      tokens.createCode(
        code({
          sid: of(user, sid),
          userId: user,
          offline: false,
          sessionSid: of(user, sessionSid),
          codeDigest: `${sid} code`,
          codeExpiresAt: NOW + MINUTE
        }),
        {
          sid: of(user, sessionSid),
          digest: `${sessionSid} digest`,
          now: NOW,
          idleExpiresAt: NOW + MINUTE,
          clientId: 'client-1'
        }
      ),
    step: (world: World, sid: string, sessionSid: string) =>
      world.sessions.includes(sessionSid)
        ? ([{ ...world, codes: { ...world.codes, [sid]: sessionSid } }, true] as const)
        : ([world, false] as const)
  },
  redeemCode: {
    call: async ({ tokens }: State, user: string, sid: string) =>
      (
        await tokens.redeemCode(
          redemption({ sid: of(user, sid), digest: `${sid} code`, now: NOW, tokenDigest: `${sid} 0` })
        )
      ).outcome,
    step(world: World, sid: string) {
      const sessionSid = world.codes[sid]
      if (sessionSid !== undefined)
        return [withFamily(without(world, sid), sid, begun(sid, sessionSid)), 'redeemed'] as const
      const wasCode = sid.startsWith('code') && sid in world.families
      return wasCode ? ([without(world, sid), 'replayed'] as const) : ([world, 'unknown'] as const)
    }
  },
  createSession: {
    call: async ({ browserSessions }: State, user: string, sid: string) => {
      await browserSessions.createSession(session({ sid: of(user, sid), userId: user, clientIds: [] }), `${sid} digest`)
      return 'made'
    },
    step: (world: World, sid: string) => [{ ...world, sessions: [...world.sessions, sid].sort() }, 'made'] as const
  },
  revokeSession: {
    call: async ({ tokens }: State, user: string, sid: string) => {
      const ended = await tokens.revokeSession(user, of(user, sid))
      return `${ended.session === null ? 'none' : 'ended'} ${inOrder(user, ended.sids)}`
    },
    step(world: World, sid: string) {
      const families = Object.keys(world.families).filter((one) => world.families[one]?.session === sid)
      const codes = Object.keys(world.codes).filter((one) => world.codes[one] === sid)
      const ended = [...families, ...codes].sort()
      const left = ended.reduce(without, { ...world, sessions: world.sessions.filter((one) => one !== sid) })
      return [left, `${world.sessions.includes(sid) ? 'ended' : 'none'} ${ended.join()}`] as const
    }
  },
  putToken: {
    call: async ({ oneTimeTokens }: State, user: string, digest: string) => {
      const token = { purpose: 'verify_email' as const, userId: user, expiresAt: NOW + MINUTE }
      await oneTimeTokens.put({ ...token, digest: of(user, digest) })
      return 'put'
    },
    step: (world: World, digest: string) => [{ ...world, token: digest }, 'put'] as const
  },
  consumeToken: {
    call: async ({ oneTimeTokens }: State, user: string, digest: string) =>
      (await oneTimeTokens.consume('verify_email', of(user, digest), NOW)) !== null,
    step: (world: World, digest: string) =>
      world.token === digest ? ([{ ...world, token: null }, true] as const) : ([world, false] as const)
  },
  findToken: {
    call: async ({ oneTimeTokens }: State, user: string, digest: string) =>
      (await oneTimeTokens.find('verify_email', of(user, digest), NOW)) !== null,
    step: (world: World, digest: string) => [world, world.token === digest] as const
  },
  grantConsent: {
    call: async ({ consents }: State, userId: string, clientId: string) => {
      await consents.grantConsent({ userId, clientId, scopes: ['read'], grantedAt: NOW, expiresAt: NOW + MINUTE })
      return 'granted'
    },
    step: (world: World, clientId: string) =>
      [{ ...world, consents: [...new Set([...world.consents, clientId])].sort() }, 'granted'] as const
  },
  revokeConsent: {
    call: ({ consents }: State, user: string, clientId: string) => consents.revokeConsent(user, clientId),
    step: (world: World, clientId: string) =>
      [
        { ...world, consents: world.consents.filter((one) => one !== clientId) },
        world.consents.includes(clientId)
      ] as const
  },
  listConsents: {
    call: async ({ consents }: State, user: string) =>
      (await consents.listConsents(user, NOW))
        .map(({ clientId }) => clientId)
        .sort()
        .join(),
    step: (world: World) => [world, world.consents.join()] as const
  }
}

/** The names of a user's records begin with the user's partition. */
const of = (user: string, name: string): string => partitionOf(user) + name
const inOrder = (user: string, sids: readonly string[]): string =>
  sids
    .map((sid) => sid.slice(partitionOf(user).length))
    .sort()
    .join()
const useOf = (user: string, sid: string, digest: string) => ({
  sid: of(user, sid),
  digest,
  now: NOW,
  graceMs: GRACE,
  idleExpiresAt: NOW + MINUTE
})
const begun = (sid: string, sessionSid: string): Family => ({
  current: `${sid} 0`,
  previous: null,
  session: sessionSid === '' ? null : sessionSid
})
const withFamily = (world: World, sid: string, held: Family): World => ({
  ...world,
  families: { ...world.families, [sid]: held }
})
function without(world: World, sid: string): World {
  const { [sid]: _family, ...families } = world.families
  const { [sid]: _code, ...codes } = world.codes
  return { ...world, families, codes }
}

type Step = (world: World, ...args: string[]) => readonly [World, StateAnswer]
type Run = (state: State, user: string, ...args: string[]) => Promise<StateAnswer>

export const STATE_MODEL: Model<World, StateCall, StateAnswer> = {
  initial: { families: {}, codes: {}, sessions: [], token: null, consents: [] },
  step(world, [method, ...args], answer) {
    const [next, expected] = (METHODS[method].step as Step)(world, ...args)
    return answer === undefined || answer === expected ? next : null
  },
  textOf: ({ families, codes, sessions, token, consents }) =>
    JSON.stringify([Object.entries(families).sort(), Object.entries(codes).sort(), sessions, token, consents])
}

/** Uses few names, so that calls conflict. Each new record has a new name. */
function callOf(
  { integer, one, pick }: Chance,
  made: { families: string[]; sessions: string[]; count: number }
): StateCall {
  const sid = pick(made.families.slice(-3)) ?? 'none'
  const sessionSid = pick(made.sessions.slice(-2)) ?? 'none'
  const digest = `${sid} ${integer(3)}`
  const add = (kind: 'family' | 'code' | 'session'): string => {
    const name = `${kind}-${++made.count}`
    if (kind === 'session') made.sessions.push(name)
    else made.families.push(name)
    return name
  }
  return pick<() => StateCall>([
    () => ['createFamily', add('family'), one(2) ? '' : sessionSid],
    () => ['createSession', add('session')],
    () => ['createCode', add('code'), sessionSid],
    () => ['redeemCode', sid],
    () => ['redeemCode', sid],
    () => ['rotateToken', sid, digest, `${sid} ${Number(digest.split(' ')[1]) + 1}`],
    () => ['rotateToken', sid, digest, `${sid} ${Number(digest.split(' ')[1]) + 1}`],
    () => ['rotateToken', sid, `${sid} 0`, `${sid} 1`],
    () => ['useToken', sid, digest],
    () => ['peekToken', sid, digest],
    () => ['revokeFamily', sid],
    () => ['revokeSession', sessionSid],
    () => ['revokeFamiliesOfUser'],
    () => ['listFamiliesOfUser'],
    () => ['listFamiliesOfUser'],
    () => ['putToken', `token-${integer(2)}`],
    () => ['consumeToken', `token-${integer(2)}`],
    () => ['findToken', `token-${integer(2)}`],
    () => ['grantConsent', `client-${integer(2)}`],
    () => ['revokeConsent', `client-${integer(2)}`],
    () => ['listConsents']
  ])()
}

/** Clients on instances of one state, for a user without records. */
export async function stateHistory(
  states: readonly State[],
  user: string,
  chance: Chance
): Promise<Array<Operation<StateCall, StateAnswer>>> {
  const { history, note } = recorder<StateCall, StateAnswer>()
  const made = { families: [] as string[], sessions: [] as string[], count: 0 }
  await Promise.all(
    states.map(async (state, client) => {
      for (let turn = 0; turn < CALLS_OF_A_CLIENT; turn++) {
        const [method, ...args] = callOf(chance, made)
        await note(client, [method, ...args], () => (METHODS[method].call as Run)(state, user, ...args))
      }
    })
  )
  return history
}
