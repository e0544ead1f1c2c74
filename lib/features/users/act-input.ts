import { MAX_ID, REASON } from '../../accounts/acted-on.ts'
import type { RequestedAct } from '../../accounts/managed-users.ts'
import { type Actor, NO_REQUEST, type Origin } from '../../events.ts'

const ACTOR_TYPES: readonly string[] = ['user', 'client', 'host', 'cli']

export interface CheckedAct {
  actor: Actor
  version: number | string | undefined
  /** The reason as an object to spread into the facts of an event. Empty if there is no reason. */
  reason: { reason?: string }
  origin: Origin
  check: RequestedAct['check']
}

/**
 * Checks the options of an action, and fills in the defaults.
 * @throws TypeError for a wrong or unknown member, because otherwise the audit log could lack the actor
 */
export function actOf({
  by = { type: 'host', id: 'app' },
  version,
  reason,
  origin = NO_REQUEST,
  check,
  ...others
}: RequestedAct = {}): CheckedAct {
  const fits =
    Object.keys(others).length === 0 &&
    ACTOR_TYPES.includes(by.type) &&
    isText(by.id, MAX_ID) &&
    (version === undefined || typeof version === 'number' || typeof version === 'string') &&
    (reason === undefined || isText(reason, REASON.most))
  if (!fits)
    throw new TypeError(
      'app.authority.users: an act takes { by: { type, id }, version, reason }; type is user, client, host or cli, ' +
        `id a string of at most ${MAX_ID} characters, version that of the user, and reason has at most ${REASON.most}.`
    )
  const actor = Object.freeze({ type: by.type, id: by.id })
  return { actor, version, reason: reason === undefined ? {} : { reason }, origin, check }
}

const isText = (value: unknown, most: number): boolean =>
  typeof value === 'string' && value !== '' && value.length <= most
