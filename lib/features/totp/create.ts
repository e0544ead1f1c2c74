import type { Kernel, Parts } from '../../feature.ts'
import type { FactorSettings } from '../second-factors/options.ts'
import { withFactors, type ProvingDeps } from '../second-factors/deps.ts'
import { confirmEnrolment, reopenEnrolment, startEnrolment, MAX_APPS } from './enrol.ts'
import { totpEndpoints } from './endpoints.ts'
import { totpPage } from './pages.ts'
import { appsFor, proveByCode, readCode, openTotpSecret, sealTotpSecret } from './prove.ts'
import { nameOf } from '../second-factors/manage-factors.ts'
import { type ImportedTotp, fromBase32 } from '../../protocol/totp.ts'
import { createHmac } from 'node:crypto'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { User } from '../../ports/user-store.ts'
import { equalSecrets } from '../../protocol/digest.ts'
import { appEndsOthers } from '../../protocol/second-factors.ts'
import { orInBackground } from '../second-factors/addition.ts'

/**
 * The size of an imported key, in bytes. RFC 4226 §4 R6 asks for at least 16 bytes, but many systems have made keys of
 * 10 bytes. No app makes a key of more than 128 bytes.
 */
const BYTES = { least: 10, most: 128 }

/**
 * The only supported parameters of an app, as in `otpauth:` URIs. The codes of an app with other parameters would not
 * match.
 */
const KIND = { algorithm: 'SHA1', digits: 6, period: 30 }

/** Adds an app whose key the host has from another system. @throws OAuthError as `Apps.import` describes */
export async function importTotp(user: User, app: ImportedTotp, deps: ProvingDeps): Promise<'added' | 'already_added'> {
  const {
    issuer,
    clock,
    events,
    users,
    factors: { store, sealer, importKey }
  } = deps
  const { key, name } = read(app)
  const found = await store.findFactors(user.id)
  // Looks for the same key, because a host may repeat an interrupted import from the start.
  const same = found.totp.some((one) => {
    const opened = openTotpSecret(one, { issuer, userId: user.id }, sealer)
    return opened !== null && equalSecrets(opened.toString('base64url'), key.toString('base64url'))
  })
  if (same) return 'already_added'
  // Derives the id from the key, so that of parallel imports of the same key only one is stored.
  const id = createHmac('sha256', importKey)
    .update(JSON.stringify([issuer, user.id, key.toString('base64url')]))
    .digest('base64url')
  const factor = {
    id,
    sealedSecret: sealTotpSecret(key, { issuer, userId: user.id, factorId: id }, sealer),
    lastStep: 0,
    failures: 0,
    knownFailures: 0,
    disabled: false,
    name,
    createdAt: clock.now(),
    lastUsedAt: null,
    provisional: false
  }
  const turnsOn = appEndsOthers(found)
  const endAll = async (): Promise<void> => {
    await deps.sessions.revokeAll(user.id, 'factors_changed', { origin: NO_REQUEST })
  }
  if (turnsOn) await endAll()
  const { outcome } = await store.addTotp({ userId: user.id, factor, limit: MAX_APPS })
  if (outcome === 'full') throw new OAuthError('factor_limit', `An account may have ${MAX_APPS} authenticator apps.`)
  if ((await users.findById(user.id)) === null) {
    await store.removeFactorsOfUser(user.id)
    throw new OAuthError('invalid_grant', 'There is no such user.')
  }
  if (outcome === 'added')
    events.emit('factor_added', { userId: user.id, factorId: id, kind: 'totp', sid: null }, NO_REQUEST)
  if (turnsOn) await orInBackground(`import ${user.id}`, endAll, deps)
  return outcome === 'added' ? 'added' : 'already_added'
}

/** Checks the host's value, which may have any type. @throws OAuthError `invalid_request` */
function read(app: unknown): { key: Buffer; name: string | null } {
  const { secret, name, ...kind } = (app ?? {}) as Record<string, unknown>
  const key = keyOf(secret)
  for (const [parameter, value] of Object.entries(kind)) {
    if (!Object.hasOwn(KIND, parameter))
      throw new OAuthError('invalid_request', 'An app is imported by its secret and name.')
    const taken = KIND[parameter as keyof typeof KIND]
    if ((value ?? taken) !== taken)
      throw new OAuthError('invalid_request', `${parameter}: only apps with ${String(taken)} can be imported.`)
  }
  if (name !== undefined && name !== null && typeof name !== 'string')
    throw new OAuthError('invalid_request', 'name: it takes a string.')
  return { key, name: nameOf(name ?? '') }
}

/** Reads the key. No error message contains any part of the key. @throws OAuthError `invalid_request` */
function keyOf(secret: unknown): Buffer {
  const key =
    typeof secret === 'string' ? fromBase32(secret) : secret instanceof Uint8Array ? Buffer.from(secret) : null
  if (key === null)
    throw new OAuthError('invalid_request', 'secret: it takes base32 (RFC 4648), or the bytes of the key.')
  if (key.length < BYTES.least || key.length > BYTES.most)
    throw new OAuthError('invalid_request', `secret: it takes ${BYTES.least} to ${BYTES.most} bytes.`)
  return key
}

export function create(on: FactorSettings, kernel: Kernel): Parts {
  const accounts = withFactors(on, kernel)
  return {
    account: {
      apps: {
        read: readCode,
        counting: appsFor,
        prove: async (...given) => await proveByCode(...given, accounts),
        start: async (of) => await startEnrolment(of, accounts),
        reopen: async (enrolment, of) => await reopenEnrolment(enrolment, of, accounts),
        confirm: async (given) => await confirmEnrolment(given, accounts),
        import: async (user, app) => await importTotp(user, app, accounts)
      }
    },
    endpoints: totpEndpoints(accounts),
    pages: {
      routes(child, deps) {
        if (deps.offers.account) totpPage(child, deps, accounts)
      }
    }
  }
}
