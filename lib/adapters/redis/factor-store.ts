import type {
  AddedFactor,
  FactorStore,
  PasskeyFactor,
  TotpFactor,
  UsedPasskey,
  UserFactors
} from '../../ports/factor-store.ts'
import { noOthers } from '../../protocol/bounds.ts'
import type { RedisClient } from './connection.ts'
import * as scripts from './factor-scripts.ts'
import { isAppendOnly, requireFactorServer } from './factor-server.ts'
import { namesUnder, ownerOf, requirePartition } from './names.ts'
import { isOne, jsonList, jsonText, jsonTextOrNull, list, text, textOrNull, texts, whole } from './replies.ts'
import type { Script } from './script.ts'
import { sharedConnection } from './shared-connection.ts'

export interface RedisFactorStoreOptions {
  /**
   * What all its keys begin with, after the client's own `keyPrefix`, as of `redisState`, and it may be the same. No
   * braces. Default `authority:`.
   */
  prefix?: string | undefined
}

export interface RedisFactorStore extends FactorStore {
  prepare(): Promise<void>
  /**
   * Whether the server writes each change to its append-only file. Without one, what was added in the last minutes is
   * lost when it crashes. An outage rejects.
   */
  isAppendOnly(): Promise<boolean>
}

/** A string as JSON, so that no two look alike to a script. */
const encoded = (value: string | null): string => JSON.stringify(value)
const flag = (value: boolean): string => (value ? '1' : '0')
const wholeOrNull = (value: unknown): number | null => (value === null ? null : whole(value))

/** The fields of an authenticator app, as the scripts number them. */
const totpFields = ({
  id,
  name,
  lastUsedAt,
  sealedSecret,
  lastStep,
  failures,
  disabled,
  createdAt
}: TotpFactor): string[] => [
  encoded(id),
  JSON.stringify([createdAt]),
  encoded(name),
  String(lastUsedAt ?? ''),
  encoded(sealedSecret),
  String(lastStep),
  String(failures),
  flag(disabled)
]

function totpIn(reply: unknown): TotpFactor {
  const [id, facts, name, lastUsedAt, sealedSecret, lastStep, failures, disabled] = list(reply)
  const [createdAt] = jsonList(facts)
  return {
    id: jsonText(id),
    sealedSecret: jsonText(sealedSecret),
    lastStep: whole(lastStep),
    failures: whole(failures),
    disabled: flagIn(disabled),
    name: jsonTextOrNull(name),
    createdAt: whole(createdAt),
    lastUsedAt: wholeOrNull(lastUsedAt)
  }
}

const passkeyFields = ({
  id,
  name,
  lastUsedAt,
  credentialId,
  signCount,
  backedUp,
  backupEligible,
  ...facts
}: PasskeyFactor): string[] => [
  encoded(id),
  JSON.stringify([
    facts.publicKey,
    facts.alg,
    facts.transports,
    facts.uvInitialized,
    facts.aaguid,
    facts.rpId,
    facts.createdAt
  ]),
  encoded(name),
  String(lastUsedAt ?? ''),
  encoded(credentialId),
  String(signCount),
  flag(backedUp),
  flag(backupEligible)
]

function passkeyIn(reply: unknown): PasskeyFactor {
  const [id, facts, name, lastUsedAt, credentialId, signCount, backedUp, backupEligible] = list(reply)
  const [publicKey, alg, transports, uvInitialized, aaguid, rpId, createdAt] = jsonList(facts)
  return {
    id: jsonText(id),
    credentialId: jsonText(credentialId),
    publicKey: text(publicKey),
    alg: whole(alg),
    signCount: whole(signCount),
    transports: texts(transports),
    backupEligible: flagIn(backupEligible),
    backedUp: flagIn(backedUp),
    uvInitialized: uvInitialized === true,
    aaguid: textOrNull(aaguid),
    rpId: text(rpId),
    name: jsonTextOrNull(name),
    createdAt: whole(createdAt),
    lastUsedAt: wholeOrNull(lastUsedAt)
  }
}

/** `true` of a script is 1, and `false` nothing. */
const flagIn = (value: unknown): boolean => value !== null && isOne(value)

function factorsIn(reply: unknown): UserFactors {
  const [handle, deviceEpoch, totp, passkeys, codes] = list(reply)
  return {
    handle: textOrNull(handle),
    totp: list(totp).map(totpIn),
    passkeys: list(passkeys).map(passkeyIn),
    recoveryCodesLeft: whole(codes),
    deviceEpoch: whole(deviceEpoch)
  }
}

/**
 * Second factors in Redis 6.2 or later, or Valkey: any number of instances. `client` is a `Redis` or a `Cluster` of
 * ioredis, and may be that of the state; it stays the host's, who closes it. What a user has lies in one hash slot and
 * has no TTL. Every operation is one script, and rejects within 250 ms where there is no answer. The start fails unless
 * the server's `maxmemory-policy` is `noeviction`; without an append-only file, what was added last is lost when the
 * server crashes, and a code that was used counts again.
 */
export function redisFactorStore(
  client: RedisClient,
  { prefix = 'authority:', ...others }: RedisFactorStoreOptions = {}
): RedisFactorStore {
  noOthers('redisFactorStore', others)
  const names = namesUnder(prefix, 'redisFactorStore')
  const connection = sharedConnection(client)
  const ask = (script: Script, userId: string, ...args: Array<string | number>): Promise<unknown> =>
    connection.run(script, names.factorsOf(userId), args)
  const handleKey = (handle: string): string => `${names.rootOf(handle)}:h:${handle}`
  const add = async (
    script: Script,
    userId: string,
    limit: number,
    fields: readonly string[],
    digests: readonly string[] = []
  ): Promise<AddedFactor> => {
    const outcome = text(await ask(script, userId, limit, ...fields, ...digests))
    return outcome.startsWith('added')
      ? { outcome: 'added', codesStored: outcome !== 'added' }
      : ({ outcome } as AddedFactor)
  }

  return {
    kind: 'redis',
    durable: true,

    findFactors: async (userId) => factorsIn(await ask(scripts.FIND, userId)),
    async findByHandle(handle, credentialId) {
      const reply = await connection.run(scripts.FIND_BY_HANDLE, names.rootOf(handle), [handle])
      if (reply === null) return null
      const [user, held] = list(reply)
      const factors = factorsIn(held)
      const passkey = factors.passkeys.find((one) => one.credentialId === credentialId)
      return passkey === undefined ? null : { userId: jsonText(user), passkey, factors }
    },
    async claimHandle(userId, candidate) {
      requirePartition(candidate, userId)
      const reply = await connection.run(
        scripts.CLAIM_HANDLE,
        [names.factorsOf(userId), handleKey(candidate)],
        [candidate, ownerOf(userId) + encoded(userId)]
      )
      if (reply === null) throw new TypeError('Another user has this handle.')
      return text(reply)
    },

    addTotp: ({ userId, factor, limit, recoveryDigests }) =>
      add(scripts.ADD_TOTP, userId, limit, totpFields(factor), recoveryDigests),
    addPasskey: ({ userId, factor: passkey, limit, recoveryDigests }) =>
      add(scripts.ADD_PASSKEY, userId, limit, passkeyFields(passkey), recoveryDigests),

    async useTotp({ userId, factorId, step, now, sealedSecret }) {
      return text(
        await ask(
          scripts.USE_TOTP,
          userId,
          encoded(factorId),
          step,
          now,
          ...(sealedSecret === undefined ? [] : [encoded(sealedSecret)])
        )
      ) as Awaited<ReturnType<FactorStore['useTotp']>>
    },
    async usePasskey({ userId, credentialId, claim, claimExpiresAt, signCount, backedUp, now }) {
      const keys = [names.factorsOf(userId), `${names.factorsOf(userId)}:${claim}`]
      const outcome = text(
        await connection.run(scripts.USE_PASSKEY, keys, [
          encoded(credentialId),
          claimExpiresAt,
          signCount,
          flag(backedUp),
          now
        ])
      )
      return outcome.startsWith('used')
        ? { outcome: 'used', regressed: outcome !== 'used' }
        : ({ outcome } as UsedPasskey)
    },
    async useRecoveryCode({ userId, digest }) {
      const left = whole(await ask(scripts.USE_RECOVERY_CODE, userId, digest))
      return left < 0 ? { outcome: 'unknown' } : { outcome: 'used', left }
    },
    replaceRecoveryCodes: async (userId, digests) =>
      isOne(await ask(scripts.REPLACE_RECOVERY_CODES, userId, ...digests)),
    async countFailure({ userId, max }) {
      return text(await ask(scripts.COUNT_FAILURE, userId, max)) as Awaited<ReturnType<FactorStore['countFailure']>>
    },

    async removeFactor({ userId, factorId, keepOne }) {
      return text(await ask(scripts.REMOVE, userId, encoded(factorId), flag(keepOne))) as Awaited<
        ReturnType<FactorStore['removeFactor']>
      >
    },
    renameFactor: async ({ userId, factorId, name }) =>
      isOne(await ask(scripts.RENAME, userId, encoded(factorId), encoded(name))),
    forgetDevices: async (userId) => whole(await ask(scripts.FORGET_DEVICES, userId)),
    removeFactorsOfUser: async (userId) => whole(await ask(scripts.REMOVE_ALL, userId)),

    prepare: () => requireFactorServer(connection, names),
    isAppendOnly: () => isAppendOnly(connection, names)
  }
}
