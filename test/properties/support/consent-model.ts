import { deepEqual } from 'node:assert/strict'
import type { Consent } from '../../../lib/ports/state.ts'
import { anything, type Expectation, is } from './histories.ts'

/** A model of consents, written from the prose of their port. */
export interface ConsentWorld {
  consents: Consent[]
  /** The time of the last grant. A consent that has expired by then may be gone, also for a call at once with an earlier time. */
  latest?: number
}

const mayBeGone = ({ latest = 0 }: ConsentWorld, { expiresAt }: Consent): boolean => expiresAt <= latest

const isOf =
  (userId: string, clientId: string) =>
  (consent: Consent): boolean =>
    consent.userId === userId && consent.clientId === clientId
/** The port says nothing of the order of scopes, or of consents that were granted at the same time. */
const inOrder = (consents: ReadonlyArray<Consent | null>): unknown =>
  consents.map((consent) => consent && { ...consent, scopes: consent.scopes.toSorted() })

export const CONSENTS = {
  findConsent(world: ConsentWorld, _now: number, userId: string, clientId: string, now: number): Expectation {
    const found = world.consents.find((consent) => isOf(userId, clientId)(consent) && now < consent.expiresAt) ?? null
    return (actual) => {
      if (actual === null && found !== null && mayBeGone(world, found)) return
      deepEqual(inOrder([actual as Consent | null]), inOrder([found]))
    }
  },

  grantConsent(world: ConsentWorld, _now: number, consent: Consent): Expectation {
    const { userId, clientId, scopes, grantedAt } = consent
    const former = world.consents.find(isOf(userId, clientId))
    const kept =
      former !== undefined && grantedAt < former.expiresAt && former.client === consent.client ? former.scopes : []
    world.latest = grantedAt
    world.consents = [
      ...world.consents.filter((one) => one !== former),
      { ...consent, scopes: [...new Set([...kept, ...scopes])] }
    ]
    return is(undefined)
  },

  /** An expired consent may be present or not, because a store removes it at any time. */
  revokeConsent(world: ConsentWorld, now: number, userId: string, clientId: string): Expectation {
    const consent = world.consents.find(isOf(userId, clientId))
    world.consents = world.consents.filter((one) => one !== consent)
    return consent !== undefined && now >= consent.expiresAt ? anything : is(consent !== undefined)
  },

  listConsents(world: ConsentWorld, _now: number, userId: string, now: number): Expectation {
    const valid = world.consents.filter((consent) => consent.userId === userId && now < consent.expiresAt)
    const newestFirst = (consents: readonly Consent[]): unknown =>
      inOrder(
        consents.toSorted((one, other) => other.grantedAt - one.grantedAt || (one.clientId < other.clientId ? -1 : 1))
      )
    return (answer) => {
      const actual = answer as Consent[]
      const isThere = ({ clientId }: Consent): boolean => actual.some((one) => one.clientId === clientId)
      const right = valid.filter((consent) => isThere(consent) || !mayBeGone(world, consent))
      deepEqual(newestFirst(actual), newestFirst(right))
      deepEqual(
        actual.map(({ grantedAt }) => grantedAt),
        right.map(({ grantedAt }) => grantedAt).toSorted((one, other) => other - one)
      )
    }
  }
}
