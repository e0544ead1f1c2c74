import type { ProvingDeps } from '../second-factors/deps.ts'
import type { PasskeyFactor, UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { digest, partitionOf } from '../../protocol/digest.ts'
import {
  creationOptions,
  displayNameOf,
  isChallengeFor,
  makeChallenge,
  type PasskeyCreationOptions,
  type PasskeyDescriptor,
  type PasskeyRequestOptions,
  requestOptions
} from '../../protocol/webauthn-options.ts'
import { PASSKEY_ALGS } from '../../protocol/webauthn-key.ts'
import type { Enroller, PasskeyKind, PasskeyPurpose } from '../../accounts/factor-kinds.ts'

type ChallengeDeps = Pick<ProvingDeps, 'service' | 'clock' | 'random'>

/** The option `passkeys`, with the keys for challenges. */
export interface PasskeyConfig {
  rpId: string
  rpName: string
  /** The origins whose pages may use the passkeys: the issuer's and the related ones. */
  origins: readonly string[]
  relatedOrigins: readonly string[]
  prompt: boolean
  maxPerUser: number
  /** The first key makes challenges; all keys verify them. */
  challengeKeys: readonly [Uint8Array, ...Uint8Array[]]
}

type Addition =
  | { to: 'add'; userId: string; sid: string; kind: PasskeyKind; epoch: number }
  | { to: 'set_up'; userId: string; step: string; kind: PasskeyKind; epoch: number }

/** The purpose of a challenge. A challenge is refused for any other purpose, user or sign-in. */
export type ChallengePurpose =
  | { to: 'sign_in' }
  | Addition
  | { to: 'second_factor'; userId: string }
  | { to: 'reauthentication'; userId: string; sid: string }

/**
 * Serializes the purpose for which a challenge is made. The check makes the text again, so the members of a purpose
 * must have the same order both times. So only `additionBy` and `purposeOf` make purposes with several members.
 */
const purposeText = (purpose: ChallengePurpose, { service }: ChallengeDeps): string =>
  JSON.stringify([service, ...Object.entries(purpose)])

function challengeFor(purpose: ChallengePurpose, { challengeKeys: [key] }: PasskeyConfig, deps: ChallengeDeps): string {
  return makeChallenge(purposeText(purpose, deps), {
    key,
    now: deps.clock.now(),
    random: Buffer.from(deps.random.secret(), 'base64url')
  })
}

export function isChallengeOf(
  purpose: ChallengePurpose,
  challenge: string,
  { challengeKeys: keys }: PasskeyConfig,
  deps: ChallengeDeps
): boolean {
  return isChallengeFor(purposeText(purpose, deps), challenge, { keys, now: deps.clock.now() })
}

/** The purpose of adding a passkey: in a session, or with the ticket of a sign-in that must set up a factor first. */
export function additionBy(of: Enroller, kind: PasskeyKind, epoch: number): Addition {
  const userId = of.user.id
  return of.sid === null
    ? { to: 'set_up', userId, step: digest(of.ticket), kind, epoch }
    : { to: 'add', userId, sid: of.sid, kind, epoch }
}

export const purposeOf = (userId: string, of: PasskeyPurpose): ChallengePurpose =>
  of.purpose === 'second_factor' ? { to: 'second_factor', userId } : { to: 'reauthentication', userId, sid: of.sid }

const described = ({ credentialId, transports }: PasskeyFactor): PasskeyDescriptor => ({
  type: 'public-key',
  id: credentialId,
  transports: [...transports]
})

/** The passkeys that can be used here: those that were made for this server's Relying Party ID. */
const usable = (passkeys: readonly PasskeyFactor[], { rpId }: PasskeyConfig): PasskeyFactor[] =>
  passkeys.filter((one) => one.rpId === rpId)

export async function optionsForCreation(
  { kind = 'passkey', ...of }: Enroller & { kind?: PasskeyKind | undefined },
  config: PasskeyConfig,
  deps: ProvingDeps
): Promise<PasskeyCreationOptions> {
  const { user } = of
  const { store } = deps.factors
  const { handle, passkeys, deviceEpoch } = await store.findFactors(user.id)
  const claimed = handle ?? (await store.claimHandle(user.id, `${partitionOf(user.id)}${deps.random.secret()}`))
  return creationOptions({
    rp: { id: config.rpId, name: config.rpName },
    userHandle: Buffer.from(claimed),
    name: user.username,
    displayName: displayNameOf(user),
    challenge: challengeFor(additionBy(of, kind, deviceEpoch), config, deps),
    algs: PASSKEY_ALGS,
    exclude: usable(passkeys, config).map(described),
    isPasskey: kind === 'passkey'
  })
}

export function optionsForSignIn(config: PasskeyConfig, deps: ChallengeDeps): PasskeyRequestOptions {
  return requestOptions({
    rpId: config.rpId,
    challenge: challengeFor({ to: 'sign_in' }, config, deps),
    allow: [],
    userVerification: 'required'
  })
}

export function optionsForKnown(
  { user, found, ...of }: { user: User; found: UserFactors } & PasskeyPurpose,
  config: PasskeyConfig,
  deps: ChallengeDeps
): PasskeyRequestOptions | null {
  const theirs = usable(found.passkeys, config)
  if (theirs.length === 0) return null
  // A security key without a PIN can't verify its user, and would refuse to answer if it were required to.
  const userVerification = theirs.every(({ uvInitialized }) => uvInitialized) ? 'required' : 'preferred'
  return requestOptions({
    rpId: config.rpId,
    challenge: challengeFor(purposeOf(user.id, of), config, deps),
    allow: theirs.map(described),
    userVerification
  })
}
