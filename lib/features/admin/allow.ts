import type { AccountsDeps } from '../../accounts/deps.ts'
import { within } from '../../boundary/answers.ts'
import type { Administration } from '../../oauth/target.ts'
import { ADMIN_SCOPES, isAdminScope } from '../../protocol/scope.ts'
import type { Client } from '../../ports/client-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AllowFunction } from './options.ts'

const BUDGET_MS = 1000

type Deps = Pick<AccountsDeps, 'advise' | 'clock'>

/**
 * Wraps the host's `admin.allow`. Grants no scope if the function fails or returns anything but an array of admin
 * scopes.
 */
export function allowing(allow: AllowFunction, deps: Deps): Administration['allow'] {
  return async ({ user, client, scopes }) => {
    const answer = await answered('allow', deps, () => allow({ user, client, scopes: [...scopes] }))
    if (answer === FAILED) return []
    if (Array.isArray(answer) && answer.every((one) => isAdminScope(one))) return answer
    refuse('allow', `answered no array of scopes among ${ADMIN_SCOPES.join(', ')}`, deps)
    return []
  }
}

/** The administrator who acts: a person, or a machine client. */
export interface ActingParty {
  user: User | null
  client: Client | null
}

type Protects = (user: User, actor: ActingParty) => unknown

/**
 * The default of `admin.isProtected`: protects a user who may get an admin scope that the acting administrator lacks.
 * Otherwise a lesser administrator could give a greater one a new email address, reset the password and take over the
 * account.
 */
export const protectingGreater =
  (allow: AllowFunction): Protects =>
  async (user, actor) => {
    const { user: by, client } = actor
    const through = async (one: Client | null) => await allow({ user, client: one, scopes: [...ADMIN_SCOPES] })
    const theirs = [...(await through(null)), ...(client === null ? [] : await through(client))]
    if (theirs.length === 0) return false
    const own = await allow({ user: by, client, scopes: [...ADMIN_SCOPES] })
    return theirs.some((scope) => !own.includes(scope))
  }

/** Wraps `admin.isProtected`. If the function fails or returns no boolean, the user is protected. */
export function protecting(isProtected: Protects, deps: Deps): (user: User, actor: ActingParty) => Promise<boolean> {
  return async (user, actor) => {
    const answer = await answered('isProtected', deps, () => isProtected(user, actor))
    if (typeof answer === 'boolean') return answer
    if (answer !== FAILED) refuse('isProtected', 'answered neither true nor false', deps)
    return true
  }
}

const FAILED = Symbol('failed')

/** Calls a function of the option `admin` with a time limit. Logs a failure and returns `FAILED`. */
async function answered(name: string, deps: Deps, ask: () => unknown): Promise<unknown> {
  try {
    return await within(BUDGET_MS, deps.clock, ask)
  } catch {
    refuse(name, `threw, or did not answer within ${BUDGET_MS} ms`, deps)
    return FAILED
  }
}

/**
 * Logs the failure, at most once a minute for each option. Omits the function's own error, because it may contain
 * personal data.
 */
function refuse(name: string, what: string, { advise }: Pick<Deps, 'advise'>): void {
  advise({
    code: 'FST_AUTHORITY_HOOK_FAILED',
    cause: `admin.${name}`,
    text: `admin.${name} ${what}: it counts as a refusal. Call the function yourself to see its error.`
  })
}
