import type { Clock } from '../ports/clock.ts'
import type { ConsentStore } from '../ports/consent-store.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { OneTimeTokenStore } from '../ports/one-time-token-store.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { State } from '../ports/state.ts'
import type { TokenStore, TokenUse } from '../ports/token-store.ts'
import { within } from './within.ts'

/** How long any one operation may take. A store may have a shorter limit of its own. */
const BUDGET_MS = 2000
/** No longer outage than this is made up for: whoever was away for longer signs in again. */
const LONGEST_OUTAGE_MS = 3_600_000

export interface StateOutageDeps {
  /** How long a replaced token counts. */
  graceMs: number
  clock: Clock
  /** Once an outage. */
  onDegraded: (error: unknown) => void
  onRecovered: () => void
}

/**
 * The state with an answer or a rejection within two seconds, whatever becomes of its server.
 *
 * The grace time of a replaced refresh token does not run while the server is out of reach. A rotation may have happened whose
 * answer was lost on the way; its client tries again when the outage is over, later than any grace time, and must not be taken for a thief.
 */
export function surviveStateOutages (state: State, { graceMs, clock, onDegraded, onRecovered }: StateOutageDeps): State {
  /** `endedAt`: when it was first seen to answer a call that began after the last failure; `null` before that. */
  let outage: { beganAt: number, failedAt: number, endedAt: number | null } | null = null

  function failed (error: unknown, beganAt: number): void {
    if (outage === null || isMadeUpFor(outage)) {
      outage = { beganAt, failedAt: clock.monotonic(), endedAt: null }
      onDegraded(error)
      return
    }
    outage.failedAt = clock.monotonic()
    outage.endedAt = null
  }

  function answered (beganAt: number): void {
    if (outage === null || outage.endedAt !== null || beganAt <= outage.failedAt) return
    outage.endedAt = clock.monotonic()
    onRecovered()
  }

  async function guarded<Answer> (call: () => Promise<Answer>): Promise<Answer> {
    const beganAt = clock.monotonic()
    try {
      const answer = await (state.punctual === true ? call() : within(BUDGET_MS, clock, call))
      answered(beganAt)
      return answer
    } catch (error) {
      failed(error, beganAt)
      throw error
    }
  }

  const isMadeUpFor = ({ endedAt }: { endedAt: number | null }): boolean => endedAt !== null && clock.monotonic() - endedAt > graceMs
  /** The time of the outage, as long after its end as a replaced token counts. */
  const madeUp = (usual: number): number => outage === null || usual === 0 || isMadeUpFor(outage) ? usual : usual + Math.ceil(Math.min(clock.monotonic() - outage.beganAt, LONGEST_OUTAGE_MS))
  const patient = <Use extends Pick<TokenUse, 'graceMs'>>(use: Use): Use => outage === null ? use : { ...use, graceMs: madeUp(use.graceMs) }

  const tokens = guardAll(state.tokens, TOKEN_METHODS, guarded)
  return {
    kind: state.kind,
    shared: state.shared,
    tokens: {
      ...tokens,
      peekToken: (use) => tokens.peekToken(patient(use)),
      useToken: (use) => tokens.useToken(patient(use)),
      rotateToken: (use, next) => tokens.rotateToken(patient(use), next)
    },
    oneTimeTokens: guardAll(state.oneTimeTokens, ONE_TIME_TOKEN_METHODS, guarded),
    browserSessions: guardAll(state.browserSessions, SESSION_METHODS, guarded),
    consents: guardAll(state.consents, CONSENT_METHODS, guarded),
    keys: guardAll(state.keys, KEY_METHODS, guarded),
    ...(state.prepare === undefined ? {} : { prepare: state.prepare.bind(state) }),
    ...(state.time === undefined ? {} : { time: async () => await within(BUDGET_MS, clock, async () => await (state.time as () => Promise<number>)()) }),
    sweep: async (now) => { await state.sweep(now) }
  }
}

type Guard = <Answer>(call: () => Promise<Answer>) => Promise<Answer>

/** The same store, each method behind the guard. A host's store may be a class, so methods are called on it. */
function guardAll<Store extends object, Name extends keyof Store & string> (store: Store, names: Readonly<Record<Name, true>>, guard: Guard): Pick<Store, Name> {
  const methods = Object.keys(names).map((name) => [name, (...args: unknown[]): Promise<unknown> => {
    const method = (store as Record<string, (...given: unknown[]) => Promise<unknown>>)[name] as (...given: unknown[]) => Promise<unknown>
    return guard(() => method.apply(store, args))
  }])
  return Object.fromEntries(methods) as Pick<Store, Name>
}

/** Every method by name: a port that gets one more does not compile before it stands here too. */
const TOKEN_METHODS: Record<keyof TokenStore, true> = {
  createFamily: true, createCode: true, redeemCode: true, findFamily: true, peekToken: true, useToken: true, rotateToken: true, undoRotation: true,
  revokeFamily: true, revokeFamiliesOfUser: true, revokeFamiliesOfSession: true, revokeFamiliesOfClient: true, listFamiliesOfUser: true
}
const ONE_TIME_TOKEN_METHODS: Record<keyof OneTimeTokenStore, true> = { put: true, find: true, consume: true, discard: true }
const SESSION_METHODS: Record<keyof SessionStore, true> = {
  createSession: true, findSession: true, useSession: true, renewSession: true, revokeSession: true, revokeSessionsOfUser: true, listSessionsOfUser: true
}
const CONSENT_METHODS: Record<keyof ConsentStore, true> = { findConsent: true, grantConsent: true, revokeConsent: true, listConsents: true }
const KEY_METHODS: Record<keyof KeyStore, true> = { list: true, addIfAbsent: true, remove: true }
