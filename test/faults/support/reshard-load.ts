/** A user whose client compares the store's answers with former ones. It makes one call at a time. */
import type { RedisState } from '../../../lib/adapters/redis/record-store.ts'
import { digest } from '../../../lib/protocol/digest.ts'
import { oneTimeToken } from '../../../lib/protocol/credential.ts'
import { END, NOW, consent, family, secretOf, session, sidFor, use } from '../../contract/support/state-records.ts'

export interface Tally {
  answered: number
  /** Calls that rejected: 503 to a caller. */
  refused: number
  revocations: number
  wrong: string[]
  /** Revoked families that are alive after the load. */
  lost: string[]
  reasons: Set<string>
}

export interface Person {
  begin(): Promise<void>
  /** The next operation, always in the same order. */
  step(): Promise<void>
  /** Checks after the load that the records match the answers. */
  settle(): Promise<void>
}

interface Device {
  name: string
  token: number
  isUnsure: boolean
}

const DEVICES = 3

export function person(state: RedisState, userId: string, tally: Tally): Person {
  const { tokens, browserSessions, consents, oneTimeTokens } = state
  const devices: Device[] = []
  const revoked: string[] = []
  const { clientId } = consent(userId)
  let count = 0
  let steps = 0

  /** The answer, or `null` if none arrived. */
  async function ask<Answer>(call: () => Promise<Answer>): Promise<{ answer: Answer } | null> {
    try {
      const answer = await call()
      tally.answered++
      return { answer }
    } catch (error) {
      tally.refused++
      tally.reasons.add(error instanceof Error ? error.message : 'unknown')
      return null
    }
  }
  /** Repeats repeatable calls. The second result is true if an answer was lost before. */
  async function persist<Answer>(call: () => Promise<Answer>): Promise<[answer: Answer, isRepeated: boolean]> {
    for (let tries = 0; ; tries++) {
      const result = await ask(call)
      if (result !== null) return [result.answer, tries > 0]
    }
  }
  const expect = (holds: boolean, what: string, found: unknown): void => {
    if (!holds) tally.wrong.push(`${what}: ${JSON.stringify(found)} (${userId})`)
  }
  const tokenOf = ({ name, token }: Device): string => (token === 0 ? secretOf(name) : secretOf(`${name} ${token}`))

  async function signIn(): Promise<void> {
    const device = { name: `device ${count++}`, token: 0, isUnsure: false }
    // The sid exists if the answer to the first attempt was lost.
    if (
      (await ask(async () => {
        await tokens.createFamily(family(userId, device.name))
      })) !== null
    )
      devices.push(device)
    else await persist(async () => await tokens.revokeFamily(sidFor(userId, device.name)))
  }

  async function rotate(device: Device): Promise<void> {
    const next = {
      digest: secretOf(`${device.name} ${device.token + 1}`),
      sealed: digest(`sealed ${device.name} ${device.token + 1}`)
    }
    const [{ outcome }, isRepeated] = await persist(
      async () => await tokens.rotateToken(use(userId, device.name, { digest: tokenOf(device) }), next)
    )
    expect(outcome === 'rotated' || (isRepeated && outcome === 'repeated'), 'rotateToken', outcome)
    device.token++
  }

  async function revoke(): Promise<void> {
    const device = devices.shift() as Device
    const [isRevoked, isRepeated] = await persist(
      async () => await tokens.revokeFamily(sidFor(userId, device.name), userId)
    )
    expect(isRevoked || isRepeated, 'revokeFamily', isRevoked)
    tally.revocations++
    revoked.push(device.name)
    const found = await ask(async () => await tokens.useToken(use(userId, device.name, { digest: tokenOf(device) })))
    expect(found === null || found.answer.outcome === 'unknown', 'useToken after revokeFamily', found?.answer.outcome)
  }

  async function revokeAll(): Promise<void> {
    const sids = devices.map(({ name }) => sidFor(userId, name))
    const [ended, isRepeated] = await persist(async () => await tokens.revokeFamiliesOfUser(userId))
    expect(isRepeated || ended.toSorted().join() === sids.toSorted().join(), 'revokeFamiliesOfUser', [
      ended.length,
      sids.length
    ])
    tally.revocations += sids.length
    for (const { name } of devices.splice(0)) revoked.push(name)
  }

  async function list(): Promise<void> {
    const result = await ask(async () => await tokens.listFamiliesOfUser(userId, NOW))
    expect(result === null || result.answer.length === devices.length, 'listFamiliesOfUser', [
      result?.answer.length,
      devices.length
    ])
  }

  async function look(): Promise<void> {
    const found = await ask(
      async () => await browserSessions.findSession(sidFor(userId, 'browser'), secretOf('browser'), NOW)
    )
    expect(found === null || found.answer !== null, 'findSession', found?.answer)
    const consented = await ask(async () => await consents.findConsent(userId, clientId, NOW))
    expect(consented === null || consented.answer !== null, 'findConsent', consented?.answer)
  }

  async function mail(): Promise<void> {
    const token = oneTimeToken(userId, secretOf(`mail ${steps} of ${userId}`)).digest
    if (
      (await ask(async () => {
        await oneTimeTokens.put({ purpose: 'verify_email', digest: token, userId, expiresAt: END })
      })) === null
    )
      return
    const first = await ask(async () => await oneTimeTokens.consume('verify_email', token, NOW))
    expect(first === null || first.answer !== null, 'consume', first?.answer)
    if (first === null) return
    const second = await ask(async () => await oneTimeTokens.consume('verify_email', token, NOW))
    expect(second === null || second.answer === null, 'consume again', second?.answer)
  }

  return {
    async begin() {
      while (devices.length < DEVICES) await signIn()
      await persist(async () => {
        await browserSessions.createSession(session(userId, 'browser'), secretOf('browser'))
      })
      await persist(async () => {
        await consents.grantConsent(consent(userId))
      })
    },

    async step() {
      const all = [
        rotateAny,
        rotateAny,
        list,
        rotateAny,
        look,
        rotateAny,
        revoke,
        signIn,
        rotateAny,
        mail,
        rotateAny,
        revokeAll,
        signIn,
        signIn,
        signIn
      ]
      while (devices.length < 1) await signIn()
      await all[steps++ % all.length]?.()
    },

    async settle() {
      for (const name of revoked) {
        const found = await tokens.findFamily(sidFor(userId, name), NOW)
        if (found !== null) tally.lost.push(`${name} of ${userId}`)
      }
      for (const device of devices) {
        const { outcome } = await tokens.useToken(use(userId, device.name, { digest: tokenOf(device) }))
        expect(outcome === 'used', 'a family that nobody revoked', outcome)
      }
      const listed = await tokens.listFamiliesOfUser(userId, NOW)
      expect(
        listed
          .map(({ sid }) => sid)
          .toSorted()
          .join() ===
          devices
            .map(({ name }) => sidFor(userId, name))
            .toSorted()
            .join(),
        'the list',
        [listed.length, devices.length]
      )
      expect(
        (await browserSessions.findSession(sidFor(userId, 'browser'), secretOf('browser'), NOW)) !== null,
        'the browser session',
        null
      )
      expect((await consents.findConsent(userId, clientId, NOW)) !== null, 'the consent', null)
    }
  }

  async function rotateAny(): Promise<void> {
    const device = devices[steps % devices.length]
    if (device !== undefined) await rotate(device)
  }
}
