import { hasFactor } from '../../../protocol/second-factors.ts'
import type { AccountsDeps } from '../../../accounts/deps.ts'
import { factorsOf } from '../../../accounts/ways-in.ts'
import { type AccountChange, freshnessIn, mayChange, requireProof } from '../../../accounts/fresh-sign-in.ts'
import type { PathName } from '../../../settings/paths.ts'
import type { PageDeps, Submission } from '../deps.ts'
import { type Form, required } from '../forms.ts'
import { passwordLimit, type PersonVisit, signInUrl } from './account-page.ts'

/** The proof that the page asks for before it goes on. */
export interface Proof {
  askPassword: boolean
  signInUrl: string | null
}

/**
 * `always`: a fresh sign-in is not enough if the user has a password. A user without one, or with a second factor,
 * signs in again.
 */
export async function proofOf(
  change: AccountChange,
  path: PathName,
  visit: PersonVisit,
  deps: PageDeps,
  { always = false } = {}
): Promise<Proof> {
  const {
    person: { user },
    origin
  } = visit
  const { accounts } = deps.authorize
  const fresh = await mayChange(change, freshnessIn(visit.person, origin), accounts)
  if (user.passwordHash !== null && !hasFactor(await factorsOf(user, accounts)))
    return { askPassword: always || !fresh, signInUrl: null }
  return { askPassword: false, signInUrl: fresh ? null : signInUrl(path, visit, deps) }
}

/**
 * Has the proof done before the work: the password under the limit of sign-ins, as the JSON endpoints count it.
 * @throws OAuthError `invalid_request` where the password was not typed; `insufficient_user_authentication`
 */
export async function proven(
  change: AccountChange,
  form: Form,
  { askPassword }: Proof,
  { person, origin }: PersonVisit,
  accounts: AccountsDeps
): Promise<Pick<Submission<never>, 'before'>> {
  const signIn = freshnessIn(person, origin)
  if (!askPassword && (form.current_password ?? '') === '') {
    await requireProof(change, signIn, accounts)
    return {}
  }
  const { current_password: password } = required(form, ['current_password'])
  return {
    before: {
      limit: passwordLimit(person.user),
      async work() {
        await requireProof(change, { ...signIn, password }, accounts)
      }
    }
  }
}
