import { type ProvingDeps } from '../second-factors/deps.ts'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { awaitsConfirmation } from '../../accounts/verify-email.ts'
import { FactorName, SecondFactorCode } from '../../http/edge/schemas.ts'
import type { PageDeps } from '../../http/pages/deps.ts'
import { knowBrowser, shownCodes, withQr } from '../second-factors/pages/parts.ts'
import { required } from '../../http/pages/page-routes.ts'
import { accountPage } from '../../http/pages/account-page.ts'
import { signInAgainUrl, whose } from '../second-factors/pages/security.ts'
import type { AccountModel } from '../../pages/account-models.ts'
import type { PageModels } from '../../pages/model.ts'
import { appEndsOthers } from '../../protocol/second-factors.ts'
import { confirmEnrolment, reopenEnrolment, startEnrolment } from './enrol.ts'

type Enrolling = Omit<PageModels['account_totp'], keyof AccountModel>

/** `GET` and `POST /auth/security/totp`: the account page that sets up an authenticator app. */
export function totpPage(child: FastifyInstance, deps: PageDeps, accounts: ProvingDeps): void {
  const { browser, link } = deps
  const codes = shownCodes(deps)
  accountPage<'account_totp', Enrolling>(
    child,
    {
      name: 'account_totp',
      path: 'securityTotp',
      summaries: { page: 'Page to set up an authenticator app', form: 'Set up an authenticator app by a form' },
      errors: { form: { 400: ['invalid_code', 'invalid_token'], 409: 'factor_limit' } },
      what: {
        page:
          'The page to set up an authenticator app, with the key as QR code, as text and as a link. Nothing ' +
          'is stored for it. Exists if `GET /auth/security` does. It needs a session of the last five ' +
          'minutes with the second factor of the account, or else asks for a new sign-in.',
        form:
          'Stores the app of the page under `name` if `code` is right. The page is good for ten minutes. ' +
          'The first second factor of a person ends all their other sessions, and the next page shows the ' +
          'recovery codes.'
      },
      body: Type.Object({
        enrolment: Type.String({ maxLength: 4096 }),
        code: SecondFactorCode,
        name: Type.Optional(FactorName)
      }),
      fields: ['code', 'name'],
      async open(visit, form) {
        const {
          person: { user, session }
        } = visit
        const again = form === null ? codes.again(visit, whose(visit, deps)) : null
        if (again !== null) return again
        const of = { user, sid: session.sid }
        if (awaitsConfirmation(user, accounts))
          return {
            enrolment: null,
            signInUrl: null,
            confirmUrl: `${link('accountEmail')}${visit.journey.query}`,
            endsOthers: false
          }
        // After a wrong code, the page shows the same key again, because the app has it already.
        const begun = form === null ? null : await reopenEnrolment(form.enrolment ?? '', of, accounts)
        const signInUrl = begun === null ? await signInAgainUrl('securityTotp', visit, deps, accounts) : null
        return {
          enrolment: signInUrl === null ? await withQr(begun ?? (await startEnrolment(of, accounts))) : null,
          signInUrl,
          confirmUrl: null,
          endsOthers: appEndsOthers(await accounts.factors.store.findFactors(user.id))
        }
      },
      submit(form, visit) {
        const {
          request,
          reply,
          person: { user, session },
          locale,
          origin
        } = visit
        const again = codes.again(visit, whose(visit, deps))
        if (again !== null) return { limit: null, work: async () => again }
        const { enrolment: sealed, code } = required(form, ['enrolment', 'code'])
        return {
          limit: null,
          async work() {
            const { recoveryCodes, proof } = await confirmEnrolment(
              {
                user,
                sid: session.sid,
                stays: browser.stay(request, reply, session.sid),
                enrolment: sealed,
                code,
                name: form.name ?? '',
                locale,
                origin
              },
              accounts
            )
            await knowBrowser(user, visit, deps, accounts.factors)
            // A right code of the app is a proof for this session.
            await browser.renew(request, reply, user.id, [
              ...session.methods.filter(({ method }) => method !== 'otp'),
              proof
            ])
            return recoveryCodes === null ? 'factor_added' : codes.show(recoveryCodes, visit, whose(visit, deps))
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
