import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { countedName, normalizeUsername } from '../../accounts/username.ts'
import { signIn } from '../../authorize/sign-in.ts'
import { OAuthError } from '../../errors.ts'
import { digest } from '../../protocol/digest.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import { Credential, JourneySchema, Password, Username } from '../edge/schemas.ts'
import { buttonImages, connectButtons, elsewhere, freshness, otherAccountUrl, promptsOf } from './parts.ts'
import type { AddedTo, Journey, Leave, PageDeps, RefusedForm, Submission, Visit } from './deps.ts'
import { type FormPage, formPage, goOn, withQuery } from './form-page.ts'
import { type Form, pageGet, queryParam, required } from './page-routes.ts'
import { leadOnFrom, signInBrowser } from './lead-on.ts'

interface Shown {
  /** True if a signed-in user must be asked again. */
  again: boolean
  username: string
  /**
   * The parameter `prompt=login` if the page's address has it without a client, because the query of such a journey
   * does not contain it.
   */
  asked: Record<string, string>
  refused?: RefusedForm
}

const SUMMARIES = { page: 'Sign-in page', form: 'Sign in by a form' }
const WHAT = {
  page:
    'The sign-in page. Its address contains the authorization request, or `return_to`, a path of this ' +
    'origin. With `pages.loginUrl` it leads to your own page with `return_to`, and with `login_hint` ' +
    'and `ui_locales` if they were sent. Your page goes on there after `app.authority.signIn`.',
  form:
    'Signs in by the form of the page. It sets a new session cookie, and leads to the address where ' +
    'the sign-in began, or else to `pages.home`. Exists if `pages.loginUrl` is not set. It shares the ' +
    'limits of the password grant. If the email address must be confirmed first, the right password ' +
    'leads to the page `/auth/check-email`. With `decision=carry` the page shows the `username` again, and ' +
    'no password is read. With passkeys, a second form signs in by `credential` alone, and wrong ones count under ' +
    'the rule `refresh`.'
}

/** `GET` and `POST /auth/login`: the sign-in page, or a redirect to the host's own page. */
export function loginPage(child: FastifyInstance, deps: PageDeps): void {
  const { journeys, link, loginUrl, offers, parts, path, waiting } = deps

  const takesNames = parts.some((part) => part.takesNames === true)
  const passkeys = parts.find(({ asksPasskey }) => asksPasskey !== undefined)?.asksPasskey
  const page: FormPage<'login', Shown> = {
    name: 'login',
    path: 'login',
    summaries: SUMMARIES,
    what: WHAT,
    errors: { form: { 400: 'invalid_grant', 429: { too_many_requests: 'rules `login` and `account`' } } },
    querystring: JourneySchema,
    body: Type.Object({
      username: Username,
      password: takesNames ? Type.Optional(Password) : Password,
      ...(passkeys === undefined ? {} : { credential: Type.Optional(Credential) })
    }),
    images: buttonImages(deps),
    fields: ['username', 'password', ...(passkeys === undefined ? [] : ['credential'])],
    passkeys,
    leadsOn: true,
    takesName: true,
    async open({ request, journey }) {
      const person = await signedInOnTheirWay(request, deps)
      if (person !== null && mayGoOn(request)) return goOn(journey.next)
      // An authorization request stays here: the authorization endpoint has led it to the sign-up page before, and the
      // user chose the link for people with an account.
      if (journey.wantsSignUp && offers.signup && queryParam(request, 'client_id') === '')
        return goOn(`${link('signup')}${journey.query}`)
      const other = promptsOf(request).includes('select_account')
      const known = other ? '' : (person?.user.username ?? waiting.nameOn(request, journey))
      return {
        again: person !== null && !other,
        username: known === '' ? (journey.loginHint ?? '') : known,
        asked: freshness(request)
      }
    },
    async submit(form, visit) {
      return (await elsewhere(form, visit, deps)) ?? passwordSignIn(form, visit, deps)
    },
    async again(form, refused, { request }) {
      const { username = '' } = form
      return {
        again: false,
        username,
        // Asks for a passkey only after a click, because the browser might give the refused passkey again.
        ...((form.credential ?? '') === '' ? {} : { refused: { form, error: refused } }),
        asked: freshness(request)
      }
    },
    content: async ({ again, username, refused }, { request, journey }) => ({
      again,
      username,
      otherUrl: again ? otherAccountUrl(link('login'), journey.query, promptsOf(request)) : null,
      signupUrl: offers.signup ? `${link('signup')}${journey.query}` : null,
      emailCodeUrl: null,
      passkey: null,
      tellsPasskeys: false,
      ...(Object.assign({}, ...parts.map(({ login }) => login?.(journey, refused ?? null))) as AddedTo<'login'>),
      forgotUrl: offers.reset ? `${link('forgotPassword')}${journey.query}` : null,
      connections: await connectButtons(request, journey, deps),
      passwordLater: takesNames
    }),
    carries: ({ asked }) => asked
  }
  if (loginUrl === null) formPage(child, page, deps)
  else {
    child.get(
      path('login'),
      pageGet({ summary: SUMMARIES.page, querystring: JourneySchema }, { what: WHAT.page }),
      async (request, reply) => {
        const journey = await journeys.read(request)
        return await reply.redirect(
          mayGoOn(request) && (await signedInOnTheirWay(request, deps)) !== null
            ? journey.next
            : hostPage(loginUrl, journey),
          303
        )
      }
    )
  }
}

function passwordSignIn(form: Form, { request, journey }: Visit, deps: PageDeps): Submission<Shown> {
  const { authorize } = deps
  const { username, password } = required(form, ['username', 'password'])
  return {
    limit: { rule: 'login', account: countedName(username) },
    async work({ known, leaves }) {
      const clientId = queryParam(request, 'client_id')
      const done = await signIn(
        { username, password, clientId: clientId === '' ? null : clientId, known },
        await signInBrowser(request, journey, deps),
        authorize
      ).catch(async (error: unknown) => {
        if (error instanceof OAuthError && error.reason === 'email_not_verified') return null
        throw error
      })
      if (done === null) return await confirmFirst(username, journey, deps)
      leaves(done.user)
      return await leadOnFrom(done, { request, journey }, form, deps)
    }
  }
}

/**
 * Redirects to the page that can send the message again. The cookie records that the browser has just proved the
 * password.
 */
async function confirmFirst(
  name: string,
  journey: Journey,
  { authorize: { accounts }, link, waiting }: PageDeps
): Promise<Leave> {
  const user = await accounts.users.findByUsername(normalizeUsername(name) ?? '')
  const proof = { of: digest(user?.passwordHash ?? ''), at: accounts.clock.now() }
  return async (reply) => {
    waiting.set(reply, journey, { kind: 'unconfirmed', name, proof })
    return await goOn(`${link('checkEmail')}${journey.query}`)(reply)
  }
}

/**
 * The signed-in user who was led here by an authorization request, or by a page of the host. `null`: nobody is signed
 * in, or the address has neither `client_id` nor `return_to`.
 */
async function signedInOnTheirWay(request: FastifyRequest, { browser }: PageDeps): Promise<SignedInPerson | null> {
  return queryParam(request, 'client_id') !== '' || queryParam(request, 'return_to') !== ''
    ? await browser.signedIn(request)
    : null
}

/**
 * True if a signed-in user may go on without a new sign-in. False for an authorization request, because it leads here
 * only if it requires a sign-in. False for a `prompt` that asks for a sign-in, a sign-up or another account.
 */
function mayGoOn(request: FastifyRequest): boolean {
  return (
    queryParam(request, 'client_id') === '' &&
    !promptsOf(request).some((prompt) => ['login', 'create', 'select_account'].includes(prompt))
  )
}

/**
 * The address of the host's own sign-in page. After `app.authority.signIn`, that page redirects to `return_to`, the
 * target of the journey.
 */
function hostPage(loginUrl: string, { next, loginHint, wantsSignUp, uiLocales }: Journey): string {
  return withQuery(loginUrl, {
    return_to: next,
    login_hint: loginHint,
    screen_hint: wantsSignUp ? 'signup' : undefined,
    ui_locales: uiLocales.length === 0 ? undefined : uiLocales.join(' ')
  })
}
