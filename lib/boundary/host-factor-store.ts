import type { Clock } from '../ports/clock.ts'
import type {
  AddedFactor,
  FactorsByHandle,
  FactorStore,
  PasskeyFactor,
  RemovedFactor,
  TotpFactor,
  UsedPasskey,
  UserFactors
} from '../ports/factor-store.ts'
import { HOST_BUDGET_MS, isNone, outcomeFrom, within } from './answers.ts'
import { misfit, MisfitError } from '../errors.ts'

// Browsers send these values. The store is not asked for a value that it can't hold, because a database would reject
// such a value, which would look like an outage.
const isHandle = (text: string): boolean => /^[A-Za-z0-9_-]{1,86}$/.test(text)
const isCredentialId = (text: string): boolean => /^[A-Za-z0-9_-]{1,1364}$/.test(text)
const isFactorId = ([{ factorId }]: readonly [{ factorId: string }]): boolean =>
  /^[^\0\p{Cs}]{1,10000}$/u.test(factorId)

/**
 * Wraps the host's factor store: every call settles within five seconds, and every answer is checked. An invalid answer
 * rejects with `MisfitError`. If it counted as "this user has no factor", a password alone would be enough.
 */
export function hostFactorStore(store: FactorStore, clock: Clock): FactorStore {
  /**
   * Makes the checked version of a method. `canBe`: false if no record can exist for the arguments. Then the result is
   * `none`, and the store is not called.
   */
  function asked<Args extends unknown[], Answer>(
    name: keyof FactorStore,
    read: (source: string, answer: unknown, args: NoInfer<Args>) => Answer,
    canBe?: (args: NoInfer<Args>) => boolean,
    none?: Answer
  ): (...args: Args) => Promise<Answer> {
    return async (...args) => {
      if (canBe?.(args) === false) return none as Answer
      const method = store[name] as (...args: Args) => unknown
      return read(
        `factors.${name}`,
        await within<unknown>(HOST_BUDGET_MS, clock, () => method.apply(store, args)),
        args
      )
    }
  }
  const outcomes =
    <Outcome extends string>(...all: Outcome[]) =>
    (source: string, answer: unknown): Outcome =>
      outcomeFrom(source, answer, all)

  return {
    kind: store.kind,
    durable: store.durable,
    findFactors: asked('findFactors', (source, answer) => userFactorsFrom(source, answer)),
    findByHandle: asked(
      'findByHandle',
      factorsByHandleFrom,
      ([handle, credentialId]) => isHandle(handle) && isCredentialId(credentialId),
      null
    ),
    claimHandle: asked('claimHandle', handleFrom),
    addTotp: asked('addTotp', addedFrom),
    addPasskey: asked('addPasskey', addedFrom),
    useTotp: asked('useTotp', outcomes('used', 'replayed', 'disabled', 'unknown'), isFactorId, 'unknown'),
    usePasskey: asked('usePasskey', usedPasskeyFrom, ([{ credentialId }]) => isCredentialId(credentialId), {
      outcome: 'unknown'
    }),
    useRecoveryCode: asked('useRecoveryCode', usedRecoveryCodeFrom),
    replaceRecoveryCodes: asked('replaceRecoveryCodes', flagFrom),
    setTwoStep: asked('setTwoStep', outcomes('changed', 'unchanged', 'refused')),
    countFailure: asked('countFailure', outcomes('counted', 'disabled', 'forgotten', 'unknown')),
    removeFactor: asked('removeFactor', outcomes('removed', 'last', 'unknown'), isFactorId, 'unknown'),
    removeProvisional: asked('removeProvisional', removedFrom),
    renameFactor: asked('renameFactor', flagFrom, isFactorId, false),
    forgetDevices: asked('forgetDevices', countFrom),
    removeFactorsOfUser: asked('removeFactorsOfUser', countFrom)
  }
}

/** The rule for one field of an answer. */
interface Kind {
  fits(value: unknown): boolean
  takes: string
}

const isWhole = (value: unknown): boolean => Number.isSafeInteger(value)
const orNone = ({ fits, takes }: Kind): Kind => ({
  fits: (value) => isNone(value) || fits(value),
  takes: `${takes}, null or left out`
})

const TEXT: Kind = { fits: (value) => typeof value === 'string' && value !== '', takes: 'a string that is not empty' }
const NAME: Kind = { fits: (value) => typeof value === 'string', takes: 'a string' }
const BASE64URL: Kind = {
  fits: (value) => typeof value === 'string' && /^[A-Za-z0-9_-]+$/.test(value),
  takes: 'a string of base64url'
}
const WHOLE: Kind = { fits: isWhole, takes: 'a whole number: Number(value) makes one of a bigint, a string or a Date' }
const COUNT: Kind = {
  fits: (value) => isWhole(value) && Number(value) >= 0,
  takes: 'a whole number from 0: Number(value) makes one of a bigint or a string'
}
const FLAG: Kind = {
  fits: (value) => typeof value === 'boolean',
  takes: 'true or false: Boolean(value) makes one of 0 and 1'
}
const TEXTS: Kind = {
  fits: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  takes: 'an array of strings'
}
const LIST: Kind = { fits: Array.isArray, takes: 'an array' }

type Fields<Answer> = Record<keyof Answer, Kind>

const TOTP: Fields<TotpFactor> = {
  id: TEXT,
  sealedSecret: TEXT,
  lastStep: COUNT,
  failures: COUNT,
  knownFailures: COUNT,
  disabled: FLAG,
  name: orNone(NAME),
  createdAt: WHOLE,
  lastUsedAt: orNone(WHOLE),
  provisional: FLAG
}
const PASSKEY: Fields<PasskeyFactor> = {
  id: TEXT,
  credentialId: BASE64URL,
  publicKey: BASE64URL,
  alg: WHOLE,
  signCount: COUNT,
  transports: TEXTS,
  backupEligible: FLAG,
  backedUp: FLAG,
  uvInitialized: FLAG,
  aaguid: orNone(NAME),
  rpId: TEXT,
  name: orNone(NAME),
  createdAt: WHOLE,
  lastUsedAt: orNone(WHOLE),
  provisional: FLAG
}
const FACTORS: Fields<UserFactors> = {
  handle: orNone(BASE64URL),
  totp: LIST,
  passkeys: LIST,
  recoveryCodesLeft: COUNT,
  twoStepChosen: FLAG,
  deviceEpoch: COUNT
}

/** Checks and copies these fields and no others. `undefined` becomes `null`. @throws MisfitError */
function read<Answer>(source: string, answer: unknown, fields: Fields<Answer>, path = ''): Answer {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    throw misfit('store', {
      source,
      ...(path === '' ? {} : { field: path.slice(0, -1) }),
      got: answer,
      takes: 'an object'
    })
  return Object.fromEntries(
    Object.entries<Kind>(fields).map(([name, { fits, takes }]) => {
      const got = (answer as Record<string, unknown>)[name]
      if (!fits(got)) throw misfit('store', { source, field: `${path}${name}`, got, takes })
      return [name, got ?? null]
    })
  ) as Answer
}

/** Requires a set of factors, an empty one for a user without factors. `null` and `undefined` are misfits. */
function userFactorsFrom(source: string, answer: unknown, path = ''): UserFactors {
  const factors = read(source, answer, FACTORS, path)
  return {
    ...factors,
    totp: factors.totp.map((one, index) => read(source, one, TOTP, `${path}totp[${index}].`)),
    passkeys: factors.passkeys.map((one, index) => read(source, one, PASSKEY, `${path}passkeys[${index}].`))
  }
}

/** The answer of `findByHandle`. `null` and `undefined` mean that there is no such passkey. */
function factorsByHandleFrom(
  source: string,
  answer: unknown,
  [handle, credentialId]: readonly [handle: string, credentialId: string]
): FactorsByHandle | null {
  if (isNone(answer)) return null
  const { userId, passkey, factors } = read<FactorsByHandle>(source, answer, {
    userId: TEXT,
    passkey: { fits: () => true, takes: '' },
    factors: { fits: () => true, takes: '' }
  })
  const found = {
    userId,
    passkey: read(source, passkey, PASSKEY, 'passkey.'),
    factors: userFactorsFrom(source, factors, 'factors.')
  }
  // A query without one of its conditions would answer with another user's factors.
  for (const [field, got, asked] of [
    ['passkey.credentialId', found.passkey.credentialId, credentialId],
    ['factors.handle', found.factors.handle, handle]
  ] as const) {
    if (got !== asked) throw new MisfitError('store', { source, field, problem: 'not the one that was asked for' })
  }
  return found
}

function removedFrom(source: string, answer: unknown): RemovedFactor[] {
  if (!Array.isArray(answer)) throw misfit('store', { source, got: answer, takes: 'an array of factors' })
  return answer.map((one: unknown, index) => {
    const { id, kind } = read<RemovedFactor>(source, one, { id: TEXT, kind: NAME }, `[${index}].`)
    return { id, kind: outcomeFrom(source, kind, ['totp', 'passkey'], `[${index}].kind`) }
  })
}

/** Reads an object with an `outcome`. For the outcome `of`, reads `field` too. @throws MisfitError */
function objectFrom(
  source: string,
  answer: unknown,
  outcomes: readonly string[],
  [of, field, kind]: readonly [outcome: string, field: string, kind: Kind]
): unknown {
  const { outcome: given } = read<{ outcome: unknown }>(source, answer, { outcome: { fits: () => true, takes: '' } })
  const outcome = outcomeFrom(source, given, outcomes, 'outcome')
  return outcome === of ? { outcome, ...read<Record<string, unknown>>(source, answer, { [field]: kind }) } : { outcome }
}

const addedFrom = (source: string, answer: unknown): AddedFactor =>
  objectFrom(source, answer, ['added', 'duplicate', 'not_first', 'full'], ['added', 'codesStored', FLAG]) as AddedFactor

const usedPasskeyFrom = (source: string, answer: unknown): UsedPasskey =>
  objectFrom(source, answer, ['used', 'replayed', 'regressed', 'unknown'], ['used', 'regressed', FLAG]) as UsedPasskey

const usedRecoveryCodeFrom = (
  source: string,
  answer: unknown
): { outcome: 'used'; left: number } | { outcome: 'unknown' } =>
  objectFrom(source, answer, ['used', 'unknown'], ['used', 'left', COUNT]) as
    | { outcome: 'used'; left: number }
    | { outcome: 'unknown' }

const plain =
  <Answer>({ fits, takes }: Kind) =>
  (source: string, answer: unknown): Answer => {
    if (!fits(answer)) throw misfit('store', { source, got: answer, takes })
    return answer as Answer
  }
const handleFrom = plain<string>(BASE64URL)
const countFrom = plain<number>(COUNT)
const flagFrom = plain<boolean>(FLAG)
