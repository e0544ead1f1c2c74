import type { FastifyInstance } from 'fastify'
import { beginSession } from '../../accounts/begin-session.ts'
import { register } from '../../accounts/register.ts'
import { requestVerificationAgain } from '../../accounts/verify-email.ts'
import { OAuthError } from '../../errors.ts'
import { logLine } from '../../ports/log.ts'
import { passwordProof } from '../../protocol/authentication.ts'
import { aboutUsername, type Registration } from '../edge/registration.ts'
import { JourneySchema } from '../edge/schemas.ts'
import { buttonImages, connectButtons, elsewhere } from './parts.ts'
import type { PageDeps, Submission, Visit } from './deps.ts'
import { formPage, goOn } from './form-page.ts'
import { type Form, queryParam, required } from './page-routes.ts'
import { leadOn } from './lead-on.ts'
import { profileForm } from './profile-fields.ts'

/**
 * Makes an account as `POST /auth/register` does, under one limit with it, and signs the new user in; where an email
 * must be confirmed first, one answer for all who ask.
 */
export function signupPage(child: FastifyInstance, deps: PageDeps, registration: Registration): void {
  const {
    authorize,
    authorize: { accounts },
    browser,
    link,
    minLength
  } = deps
  const profile = profileForm(registration)

  /** The button below "check your inbox". It knows the name that was typed and says the same to all. */
  function again(
    form: Form,
    { origin, locale }: Pick<Visit, 'origin' | 'locale'>
  ): Submission<{ form: Form | null; sent: boolean }> {
    const { username } = required(form, ['username'])
    return {
      limit: { rule: 'register' },
      async work() {
        await requestVerificationAgain({ username, locale, origin }, accounts)
        return { form, sent: true }
      }
    }
  }

  formPage<'signup', { form: Form | null; sent: boolean }>(
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
          '`registration.verifyEmail` nobody is signed in. Then the answer is 202 for everyone, and the ' +
          'page says that a message is on its way. The form keeps all entries but the password.'
      },
      querystring: JourneySchema,
      body: registration.body,
      fields: profile.names,
      leadsOn: true,
      open: async () => ({ form: null, sent: false }),
      async submit(form, visit) {
        const { request, journey, origin, locale } = visit
        const led = await elsewhere(form, visit, deps)
        if (led !== null) return led
        if (form.decision === 'resend' && accounts.verifyEmail) return again(form, { origin, locale })
        const input = profile.read(form)
        return {
          limit: { rule: 'register' },
          async work() {
            const registered = await register({ ...input, locale, origin }, accounts).catch((error: unknown) => {
              throw error instanceof OAuthError ? aboutUsername(error, profile.names) : error
            })
            if (registered === 'pending') return { form, sent: true }
            return async (reply) => {
              try {
                const { user } = registered
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
                // The account exists now: the sign-up form would only find its name taken.
                request.log.error(
                  ...logLine('FST_AUTHORITY_WORK_FAILED', 'a new user could not be signed in', { err: error })
                )
              }
              return await goOn(`${link('login')}${journey.query}`)(reply)
            }
          }
        }
      },
      again: (form) => ({ form, sent: false }),
      images: buttonImages(deps),
      content: async ({ form, sent }, { request, journey }) => ({
        username: form === null ? (journey.loginHint ?? '') : (form.username ?? ''),
        fields: profile.show(form),
        minLength,
        loginUrl: `${link('login')}${journey.query}`,
        sent,
        connections: sent ? [] : await connectButtons(request, journey, deps)
      }),
      statusCode: ({ sent }) => (sent ? 202 : 200)
    },
    deps
  )
}
