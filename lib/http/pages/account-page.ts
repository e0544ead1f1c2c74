import type { FastifyInstance, FastifyRequest } from 'fastify'
import { countedName } from '../../accounts/username.ts'
import {
  type AccountChange,
  freshnessIn,
  furtherProof,
  isRecentEnough,
  mayChange,
  requireProof
} from '../../accounts/fresh-sign-in.ts'
import { lacksSecondFactor } from '../../protocol/authentication.ts'
import type { AccountModel, AccountNote } from '../../pages/account-models.ts'
import type { PageModels } from '../../pages/model.ts'
import type { User } from '../../ports/user-store.ts'
import type { PathName } from '../../settings/paths.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { AttemptCheck } from '../edge/attempt-limits.ts'
import type { Leave, PageDeps, Submission, Visit } from './deps.ts'
import { type FormPage, formPage, type FormPageName, goOn, withQuery } from './form-page.ts'
import { type Form, queryParam, required } from './page-routes.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'

/** Maximum number of rows in a list of one page. More would block the event loop for other requests. */
export const MOST_ROWS = 50

/** Ends the description of each account page on the reference page. */
export const FOR_THE_PERSON =
  'A browser without a session is led to the sign-in page and back. Access tokens do not count here.'
const AS_SHOWN =
  'The address of the form names the session that the page was shown to. In another session the form does nothing, ' +
  'and the page says so.'

/** The visit of a signed-in person. */
export interface PersonVisit extends Visit {
  person: SignedInPerson
}

type AccountPageName = { [Name in FormPageName]: PageModels[Name] extends AccountModel ? Name : never }[FormPageName]

interface AccountSubmission extends Pick<Submission<never>, 'limit' | 'before'> {
  /** Resolves to the note that the page shows after its redirect to itself, or to a redirect to another page. */
  work(): Promise<AccountNote | Leave>
}

interface AccountPage<Name extends AccountPageName, Shown extends object> extends Pick<
  FormPage<Name, Shown>,
  'name' | 'path' | 'summaries' | 'what' | 'errors' | 'body' | 'fields'
> {
  path: PathName
  /**
   * The content of the page. `form`: the typed entries, if the form is shown again. Resolves to a redirect if the page
   * is of no use to the user.
   */
  open(visit: PersonVisit, form: Form | null): Promise<Shown | Leave>
  submit(form: Form, visit: PersonVisit): AccountSubmission | Promise<AccountSubmission>
  /** The answer to a GET if nobody is signed in. Default: the sign-in page, as after a post. */
  withoutPerson?(visit: Visit): Leave | null
  content(shown: Shown, visit: Visit): Omit<PageModels[Name], keyof AccountModel>
  passkeys?: FormPage<Name, Held<Shown>>['passkeys']
}

interface Held<Shown> {
  person: SignedInPerson
  shown: Shown
  done: AccountNote | null
}

/**
 * Adds a page of the account of the user who is signed in in this browser. Leads a browser without a session to the
 * sign-in page and back. Ignores access tokens. A form does nothing in another session than the one that its page was
 * shown to. Every successful post redirects to a GET, so that a reload repeats nothing.
 */
export function accountPage<Name extends AccountPageName, Shown extends object>(
  child: FastifyInstance,
  page: AccountPage<Name, Shown>,
  deps: PageDeps
): void {
  const { browser } = deps
  const { name, path, summaries, what, errors, body, fields } = page

  const back = (visit: Visit, note: AccountNote): Leave => accountPageAfter(path, visit, note, deps)

  async function hold(visit: Visit, person: SignedInPerson, form: Form | null): Promise<Held<Shown> | Leave> {
    const shown = await page.open({ ...visit, person }, form)
    return typeof shown === 'function' ? shown : { person, shown, done: form === null ? noteOf(visit.request) : null }
  }

  const held: FormPage<FormPageName, Held<Shown>> = {
    name,
    path,
    summaries,
    what: { page: `${what.page} ${FOR_THE_PERSON}`, form: `${what.form} ${AS_SHOWN}` },
    ...(errors === undefined ? {} : { errors }),
    body,
    fields,
    async open(visit) {
      const person = await browser.signedIn(visit.request)
      return person === null
        ? (page.withoutPerson?.(visit) ?? signInFirst(path, visit, deps))
        : await hold(visit, person, null)
    },
    async submit(form, visit) {
      const person = await browser.signedIn(visit.request)
      if (person === null) return { limit: null, work: async () => signInFirst(path, visit, deps) }
      // The page was shown to another user, or under a sign-in that has ended.
      if (queryParam(visit.request, 'session') !== person.session.sid)
        return { limit: null, work: async () => back(visit, 'nothing') }
      const { work, ...limits } = await page.submit(form, { ...visit, person })
      return {
        ...limits,
        async work() {
          const done = await work()
          return typeof done === 'function' ? done : back(visit, done)
        }
      }
    },
    async again(form, refused, visit) {
      const person = await browser.signedIn(visit.request)
      const again = person === null ? null : await hold(visit, person, form)
      if (again === null || typeof again === 'function') throw refused
      return again
    },
    content: ({ person, shown, done }, visit) => ({
      username: person.user.username,
      ...accountWays(visit.journey, deps),
      done,
      ...page.content(shown, visit)
    }),
    passkeys: page.passkeys,
    secretOf: (request) => browser.cookieOf(request),
    carries: ({ person }) => ({ session: person.session.sid })
  }
  formPage(child, held, deps)
}

/** The links that every account page shows. All but the sign-out keep the query of the journey. */
export function accountWays(
  { query }: Visit['journey'],
  { link, parts }: PageDeps
): Pick<AccountModel, 'accountUrl' | 'accountLinks' | 'logoutUrl'> {
  const accountLinks: AccountModel['accountLinks'] = {
    profile: null,
    email: null,
    password: null,
    security: null,
    connections: null,
    sessions: null,
    access: null,
    apiKeys: null,
    remove: null
  }
  for (const { account = {} } of parts)
    for (const [name, { path, add }] of Object.entries(account))
      if (add !== null) accountLinks[name as keyof typeof accountLinks] = `${link(path)}${query}`
  return { accountUrl: `${link('account')}${query}`, accountLinks, logoutUrl: link('logout') }
}

/** Redirects to the page `path` of the account, which then shows `note` as the result. */
export function accountPageAfter(
  path: PathName,
  { journey: { query } }: Visit,
  note: AccountNote,
  { link }: Pick<PageDeps, 'link'>
): Leave {
  return goOn(withQuery(`${link(path)}${query}`, { done: note }))
}

/** Leads to the sign-in and then back to the page. */
export function signInFirst(path: PathName, visit: Visit, deps: PageDeps): Leave {
  return goOn(andBack('login', path, visit, deps))
}

/**
 * The address at which a signed-in user proves their identity again. With a sign-in page of the host's own: our page
 * for the second factor if only the second factor is missing, otherwise the sign-in page with `prompt=login`.
 */
export function signInUrl(path: PathName, visit: PersonVisit, deps: PageDeps): string {
  if (deps.loginUrl === null) return andBack('reauthenticate', path, visit, deps)
  const {
    authorize: {
      accounts: { clock }
    }
  } = deps
  const isCode =
    isRecentEnough(visit.person.session, clock.now()) && lacksSecondFactor(visit.person.session, clock.now())
  return isCode
    ? andBack('secondFactor', path, visit, deps)
    : withQuery(andBack('login', path, visit, deps), { prompt: 'login' })
}

/** The address of the page `to`, which leads back to the page `path`. */
export function andBack(
  to: PathName,
  path: PathName,
  { journey: { query, uiLocales } }: Visit,
  { link }: PageDeps
): string {
  return withQuery(link(to), {
    return_to: `${link(path)}${query}`,
    ...(uiLocales.length === 0 ? {} : { ui_locales: uiLocales.join(' ') })
  })
}

/** The limit of guesses at this user's password, shared with sign-ins. */
export function passwordLimit(user: User): AttemptCheck {
  return { rule: 'login', account: countedName(user.username) }
}

const NOTES: readonly string[] = [
  'profile',
  'email_sent',
  'email_changed',
  'email_resent',
  'email_waiting',
  'password',
  'session',
  'others',
  'access',
  'api_key_removed',
  'factor_added',
  'factor_removed',
  'factor_renamed',
  'passkey_added',
  'passkey_removed',
  'devices_forgotten',
  'two_step_off',
  'unlinked',
  'password_link',
  'nothing'
] satisfies AccountNote[]

/**
 * The result of the post that redirected here, from the parameter `done`. Ignored if the navigation began anywhere but
 * on this origin, because a link from there has done nothing.
 */
export function noteOf(request: FastifyRequest): AccountNote | null {
  const note = queryParam(request, 'done')
  return NOTES.includes(note) && isFromHere(request) ? (note as AccountNote) : null
}

/**
 * True if the navigation began on this origin, or if the browser does not say where it began.
 * @see W3C Fetch Metadata Request Headers §2.4
 */
export function isFromHere({ headers: { 'sec-fetch-site': site } }: FastifyRequest): boolean {
  return site === undefined || site === 'same-origin'
}

/** The proof that the page asks for first. */
export interface Proof {
  askPassword: boolean
  signInUrl: string | null
}

/**
 * The proof that the page asks for before this change, unless the sign-in is fresh. A user with a password and no
 * second factor types the password. Any other user signs in again. `always`: asks for the password after a fresh
 * sign-in too.
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
  if (user.passwordHash !== null && (await furtherProof(user, accounts)) === null)
    return { askPassword: always || !fresh, signInUrl: null }
  return { askPassword: false, signInUrl: fresh ? null : signInUrl(path, visit, deps) }
}

/**
 * Checks the proof. A typed password is checked before the work, under the limit of sign-ins, as by the JSON endpoints.
 * @throws OAuthError `invalid_request` if the page asks for the password and it was not typed;
 * `insufficient_user_authentication` if the page does not ask for it and the sign-in is not enough
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
