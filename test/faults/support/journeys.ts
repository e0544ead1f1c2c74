/** The journeys of virtual users, each a few requests in a fixed order. */
import type { Answer } from './http-client.ts'
import type { Schedule } from './schedule.ts'
import { type Device, isLost, isYes, statusOf, type VirtualUser } from './virtual-user.ts'

export interface JourneyDeps {
  user: VirtualUser
  choices: Schedule
  /** Waits as a client does after `Retry-After`. Resolves to `false` when the load is over. */
  waitAfter(answer: Answer): Promise<boolean>
}

type Journey = (device: Device, deps: JourneyDeps) => Promise<void>

/** Rotates with the same token until there is an answer, as a client does after a lost answer. */
async function rotateUntilAnswered(device: Device, { user, waitAfter }: JourneyDeps, first?: Answer): Promise<void> {
  let answer = first ?? (await user.rotate(device))
  while ((isLost(answer) || statusOf(answer) === 429) && (await waitAfter(answer))) answer = await user.rotate(device)
}

/** A request that can safely be repeated. */
async function untilAnswered(ask: () => Promise<Answer>, { waitAfter }: JourneyDeps): Promise<Answer> {
  let answer = await ask()
  while ((isLost(answer) || statusOf(answer) === 429) && (await waitAfter(answer))) answer = await ask()
  return answer
}

/** Tries a revoked token at every endpoint. */
async function tryRevoked(device: Device, user: VirtualUser): Promise<void> {
  await Promise.all([
    user.rotate({ ...device }),
    user.refresh({ ...device }),
    user.look('userinfo', device),
    user.introspect(device)
  ])
}

const looks = ['userinfo', 'sessions', 'me'] as const

export const JOURNEYS = {
  async rotate(device, deps) {
    await rotateUntilAnswered(device, deps)
  },

  async rotateTwice(device, deps) {
    const answers = await Promise.all([deps.user.rotate(device), deps.user.rotate({ ...device })])
    if (!answers.some(isYes)) await rotateUntilAnswered(device, deps, answers.find(isLost))
  },

  async rotateAndLoseTheAnswer(device, deps) {
    await deps.user.rotate(device, { abandonAfterMs: deps.choices.upTo(6) })
    await rotateUntilAnswered(device, deps)
  },

  /** The thief of a token comes after its owner: the family ends. */
  async replay(device, deps) {
    const stolen = { ...device }
    await rotateUntilAnswered(device, deps)
    await rotateUntilAnswered(device, deps)
    const answer = await deps.user.rotate(stolen)
    if (statusOf(answer) === 400) {
      // Neither the thief nor the owner has a valid token now.
      await tryRevoked(device, deps.user)
      deps.user.drop(device)
    }
  },

  async refresh(device, deps) {
    await untilAnswered(() => deps.user.refresh(device), deps)
  },

  async look(device, { user, choices }) {
    await user.look(looks[choices.upTo(looks.length - 1)] ?? 'userinfo', device)
  },

  async introspect(device, { user }) {
    await user.introspect(device)
  },

  async signIn(_device, { user, waitAfter }) {
    const device = await user.signIn()
    if (device !== null) await user.look('userinfo', device)
    await waitAfter(NOTHING)
  },

  async code(_device, { user }) {
    const code = await user.authorize()
    const device = code === null ? null : await user.redeem(code)
    if (device !== null) await user.look('userinfo', device)
  },

  async codeTwice(_device, { user }) {
    const code = await user.authorize()
    if (code === null) return
    for (const device of await Promise.all([user.redeem(code), user.redeem(code)])) {
      if (device === null) continue
      await tryRevoked(device, user)
      user.drop(device)
    }
  },

  /** With an unredeemed and a redeemed code: nothing that depends on the session remains. */
  async signOut(_device, deps) {
    const { user } = deps
    const used = await user.authorize('openid')
    const device = used === null ? null : await user.redeem(used)
    const waits = await user.authorize('openid')
    const answer = await untilAnswered(async () => (await user.signOut()) ?? NOTHING, deps)
    if (!isYes(answer)) return
    if (device !== null) await Promise.all([user.look('userinfo', device), user.introspect(device)])
    if (waits !== null) await user.redeem(waits)
  },

  async revoke(device, deps) {
    const { user } = deps
    const answer = await untilAnswered(() => user.revoke(device), deps)
    if (isYes(answer)) await tryRevoked(device, user)
    user.drop(device)
  },

  async endSession(device, deps) {
    const { user } = deps
    const other = user.devices.find((other) => other !== device)
    if (other === undefined) return
    const answer = await untilAnswered(() => user.endSession(other, device), deps)
    if (isYes(answer)) await tryRevoked(device, user)
    user.drop(device)
  },

  async changePassword(device, { user }) {
    if (!user.canBeSignedIn) return
    const others = user.devices.filter((other) => other !== device)
    const answer = await user.changePassword(device)
    if (!isYes(answer) && !isLost(answer)) return
    if (isYes(answer)) for (const other of others.slice(0, 2)) await tryRevoked(other, user)
    for (const other of others) user.drop(other)
    await user.signInWithOldPassword()
    await user.look('userinfo', device)
  },

  async resetPassword(_device, { user }) {
    const before = [...user.devices]
    // One code is unredeemed, and one is requested while the password is set.
    const codes = [await user.authorize()]
    const answer = await user.resetPassword(async () => {
      if (user.hasBrowser) codes.push(await user.authorize())
    })
    if (isYes(answer ?? NOTHING)) for (const code of codes) if (code !== null) await user.redeem(code)
    if (answer === null || (!isYes(answer) && !isLost(answer))) return
    if (isYes(answer)) for (const device of before.slice(0, 2)) await tryRevoked(device, user)
    for (const device of before) user.drop(device)
    await user.signInWithOldPassword()
  }
} satisfies Record<string, Journey>

const NOTHING: Answer = { outcome: { kind: 'answer', status: 200 }, headers: {}, body: {} }

/** The weights of the journeys, which sum to about 100. */
export const MIX: Readonly<Record<keyof typeof JOURNEYS, number>> = {
  rotate: 24,
  rotateTwice: 8,
  rotateAndLoseTheAnswer: 6,
  replay: 4,
  refresh: 8,
  look: 16,
  introspect: 6,
  signIn: 8,
  code: 8,
  codeTwice: 3,
  signOut: 4,
  revoke: 5,
  endSession: 2,
  changePassword: 2,
  resetPassword: 5
}
