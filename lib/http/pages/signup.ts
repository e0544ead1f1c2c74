import type { FastifyInstance } from 'fastify'
import { beginSession } from '../../accounts/begin-session.ts'
import { register } from '../../accounts/register.ts'
import { OAuthError } from '../../errors.ts'
import { logLine } from '../../ports/log.ts'
import { passwordProof } from '../../protocol/authentication.ts'
import { aboutUsername, type Registration } from '../edge/registration.ts'
import { JourneySchema } from '../edge/schemas.ts'
import { buttonImages, connectButtons, elsewhere } from './parts.ts'
import type { PageDeps } from './deps.ts'
import { formPage, goOn } from './form-page.ts'
import { type Form, queryParam } from './page-routes.ts'
import { leadOn } from './lead-on.ts'
import { profileForm } from './profile-fields.ts'

/**
 * Makes an account like `POST /auth/register`, under the same limit, and signs the new user in. If an email must be
 * confirmed first, nobody is signed in, and the answer is the same for new and taken usernames.
 */
export function signupPage(child: FastifyInstance, deps: PageDeps, registration: Registration): void {
  const {
    authorize,
    authorize: { accounts },
    browser,
    link,
    minLength,
    pages,
    waiting
  } = deps
  const profile = profileForm(registration)

  formPage<'signup', { form: Form | null }>(
    child,
    {
      name: 'signup',
      path: 'signup',
      summaries: { page: 'Sign-up page', form: 'Sign up by a form' },
      errors: {
        form: { 400: 'invalid_password', 409: 'username_taken', 429: { too_many_requests: 'rule `register`' } }
      },
      what: {
        page:
          'The sign-up page, with the fields of `registration.fields` that a form can hold. Exists if `POST ' +
          '/auth/register` does and `pages.loginUrl` is not set.',
        form:
          'Creates an account as `POST /auth/register` does, and signs the new user in. With ' +
          '`registration.verifyEmail` nobody is signed in. Then everyone is led to the page `/auth/check-email`. ' +
          'The form keeps all entries but the password.'
      },
      querystring: JourneySchema,
      body: registration.body,
      fields: profile.names,
      leadsOn: true,
      takesName: true,
      open: async () => ({ form: null }),
      async submit(form, visit) {
        const { request, journey, origin, locale } = visit
        const asker = waiting.idFor(request, journey, form.username ?? '')
        const led = await elsewhere(form, visit, deps)
        if (led !== null) return led
        const input = profile.read(form)
        return {
          limit: { rule: 'register' },
          async work() {
            const { user, proof } = await register({ ...input, locale, origin, asker }, accounts).catch(
              (error: unknown) => {
                throw error instanceof OAuthError ? aboutUsername(error, profile.names) : error
              }
            )
            return async (reply) => {
              if (user === null) {
                const { username: name } = input
                waiting.set(reply, journey, {
                  kind: 'signup',
                  name,
                  id: asker,
                  proof: { of: proof, at: accounts.clock.now() }
                })
                return await goOn(`${link('checkEmail')}${journey.query}`)(reply)
              }
              try {
                const begun = await beginSession(
                  {
                    user,
                    by: 'password',
                    methods: [passwordProof(accounts.clock.now())],
                    clientId: queryParam(request, 'client_id') || null,
                    isNew: true,
                    confirm: async () => user
                  },
                  await browser.read(request),
                  authorize
                )
                if (begun !== null)
                  return await leadOn(begun, { ...journey, nativeRequest: null }, request, deps)(reply)
              } catch (error) {
                // Leads to the sign-in page. The account exists now, so the sign-up form would only report its name as
                // taken.
                request.log.error(
                  ...logLine('FST_AUTHORITY_WORK_FAILED', 'a new user could not be signed in', { err: error })
                )
              }
              return await goOn(`${link('login')}${journey.query}`)(reply)
            }
          }
        }
      },
      again: (form) => ({ form }),
      images: buttonImages(deps),
      content: async ({ form }, { request, journey }) => ({
        username: form === null ? waiting.nameOn(request, journey) || (journey.loginHint ?? '') : (form.username ?? ''),
        fields: profile.show(form, pages.messagesFor(request, journey)),
        minLength,
        loginUrl: `${link('login')}${journey.query}`,
        connections: await connectButtons(request, journey, deps)
      })
    },
    deps
  )
}
