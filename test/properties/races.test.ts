/**
 * Parallel refreshes and sign-outs in one process. fast-check's scheduler orders the store calls, and prints the order
 * of a failure.
 */
import { equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { bearer, signIn, signUp, testApp, type Tokens } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'
import { property } from './support/property.ts'

/** The scheduler of the current run; `null`: calls pass directly. */
let scheduler: fc.Scheduler | null = null
/** Decides for each coming read of a user if it fails. */
let failures: boolean[] = []

/** Wraps the store so that each call waits for its turn before it runs and before it answers. */
function scheduled<Store extends object>(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member === 'object' && member !== null) return scheduled(member)
      if (typeof member !== 'function') return member
      return async (...args: unknown[]): Promise<unknown> => {
        await scheduler?.schedule(Promise.resolve(), `${String(name)} is called`)
        if (name === 'findById' && failures.shift() === true) throw new Error('the user store is down')
        const answer: unknown = await Reflect.apply(member, target, args)
        await scheduler?.schedule(Promise.resolve(), `${String(name)} answers`)
        return answer
      }
    }
  })
}

const { app, close } = await testApp({ state: scheduled(memoryState()), users: scheduled(memoryUserStore()) })
t.teardown(close)
const { sub } = await signUp(app)

type Answer =
  | { did: 'refreshed'; tokens: Pick<Tokens, 'access_token' | 'refresh_token'> }
  | { did: 'ended' | 'refused' | 'failed' }
type Act = (first: Tokens, sid: string) => Promise<Answer>

const refreshed = async (token: string): Promise<Answer> => {
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'refresh_token', refresh_token: token }
  })
  if (reply.statusCode === 200) return { did: 'refreshed', tokens: reply.json() }
  ok(reply.statusCode === 400 || reply.statusCode === 503, reply.body)
  return { did: reply.statusCode === 400 ? 'refused' : 'failed' }
}

const ACTS: Record<string, Act> = {
  refresh: async ({ refresh_token: token }) => await refreshed(token),
  'refresh and again': async ({ refresh_token: token }) => {
    const first = await refreshed(token)
    return first.did === 'refreshed' ? await refreshed(first.tokens.refresh_token) : first
  },
  revoke: async ({ refresh_token: token }) => {
    equal((await app.inject({ method: 'POST', url: '/auth/revoke', payload: { token } })).statusCode, 200)
    return { did: 'ended' }
  },
  'end the session': async ({ access_token: token }, sid) => {
    const { statusCode } = await app.inject({ method: 'DELETE', url: `/auth/sessions/${sid}`, headers: bearer(token) })
    ok([204, 401, 404, 503].includes(statusCode), String(statusCode))
    return { did: statusCode === 204 ? 'ended' : 'failed' }
  },
  'revoke the user': async () => {
    await app.authority.revokeUser(sub)
    return { did: 'ended' }
  }
}

const refreshes = fc.array(fc.constantFrom('refresh', 'refresh', 'refresh and again'), { minLength: 1, maxLength: 3 })
const signOuts = fc.array(fc.constantFrom('revoke', 'end the session', 'revoke the user'), { maxLength: 2 })
const fails = fc.oneof(fc.constant([]), fc.array(fc.boolean(), { maxLength: 3 }))

property(
  'ends a session at a sign-out or a replay during refreshes, and keeps it otherwise',
  [fc.scheduler(), refreshes, signOuts, fails],
  {
    share: 0.1,
    cases: ['signed in', 'signed out', 'ended', 'refreshed', 'refused', 'failed']
  },
  async (order, refreshes, signOuts, fails) => {
    const first = await signIn(app)
    const { sid } = decodeJwt(first.access_token).claims as { sid: string }
    ;[scheduler, failures] = [order, [...fails]]
    let answers: Answer[]
    try {
      answers = await order.waitFor(
        Promise.all([...refreshes, ...signOuts].map(async (name) => await (ACTS[name] as Act)(first, sid)))
      )
    } finally {
      ;[scheduler, failures] = [null, []]
    }

    const given = [first, ...answers.flatMap((answer) => (answer.did === 'refreshed' ? [answer.tokens] : []))]
    const met = answers.map(({ did }) => did)
    // A token that was replaced twice meanwhile is a replay, and ends the session too.
    const isReplay = !met.includes('ended') && met.includes('refused')
    ok(!isReplay || (refreshes.includes('refresh and again') && refreshes.length > 1), met.join(', '))
    const isOver = met.includes('ended') || isReplay
    for (const { access_token: token } of given)
      equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, isOver ? 401 : 200)
    if (isOver) {
      for (const { refresh_token: token } of given) equal((await refreshed(token)).did, 'refused')
      return ['signed out', ...met]
    }
    // Without a sign-out, the session stays: a failed refresh has used nothing up, and the client with the newest token
    // can continue.
    const rotations = await Promise.all(
      given.toReversed().map(async ({ refresh_token: token }) => await refreshed(token))
    )
    ok(rotations.some(({ did }) => did === 'refreshed'))
    return ['signed in', ...met]
  }
)
