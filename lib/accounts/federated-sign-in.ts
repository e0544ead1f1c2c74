import { UpstreamError } from '../errors.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import { beginSession } from './begin-session.ts'
import type { SessionBegun, StepNeeded } from './slots.ts'
import type { AccountsDeps } from './deps.ts'
import { keepsFactor } from './address-proof.ts'
import { endProvisional } from './end-provisional.ts'
import { type FederatedArrival, federatedUser, noteFederatedUse, stillFederated } from './federated-user.ts'

/** A sign-in at another provider that was checked, in this browser. */
interface FederatedSignIn extends Omit<FederatedArrival, 'origin'> {
  browser: Browser
  clientId: string | null
}

/**
 * The result. `confirm`: the person signs in as `userId` and then links. `ask`: they fill in the missing fields of a
 * new account.
 */
type FederatedOutcome =
  | { to: 'session'; begun: SessionBegun | StepNeeded; isNew: boolean }
  | { to: 'confirm'; userId: string }
  | { to: 'ask' }

interface FederatedDeps {
  accounts: AccountsDeps
  browserSessions: BrowserSessions
}

/**
 * Signs in a person who has signed in at another provider, registers them, or returns the step that they must take
 * first. Begins the session, and checks after the commit that the identity still leads to the user.
 * @throws UpstreamError with the reason
 */
export async function federatedSignIn(
  { browser, clientId, ...arrival }: FederatedSignIn,
  deps: FederatedDeps
): Promise<FederatedOutcome> {
  const { connection, person } = arrival
  const found = await federatedUser({ ...arrival, origin: browser.origin }, deps.accounts)
  if (found.to !== 'user') return found
  const { user, isNew, writes } = found
  // A factor that goes with the take-over, such as that of the person who named the address first, need not be proved.
  if (writes?.takesOver === true && !(await keepsFactor(user, deps.accounts)))
    await endProvisional(user, { by: 'identity_linked', locale: arrival.locale, origin: browser.origin }, deps.accounts)
  const begun = await beginSession(
    {
      user,
      by: 'connection',
      connection: connection.id,
      identity: { issuer: person.issuer, subject: person.subject },
      writes,
      methods: [person.proof],
      clientId,
      isNew,
      confirm: async () => await stillFederated(arrival, user, deps.accounts)
    },
    browser,
    deps
  )
  if (begun === null)
    throw new UpstreamError('disabled', 'The account was disabled or removed, or the link taken away, meanwhile.')
  if (!isNew) noteFederatedUse(person, user, deps.accounts)
  return { to: 'session', begun, isNew }
}
