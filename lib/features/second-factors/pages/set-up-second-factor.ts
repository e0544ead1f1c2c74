import { appsOf, newKindsOf, type ProvingDeps } from '../deps.ts'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { awaitsConfirmation, sendVerificationAgain } from '../../../accounts/verify-email.ts'
import { mustKeepOne } from '../manage-factors.ts'
import type { Enroller, FactorAdded } from '../../../accounts/factor-kinds.ts'
import { OAuthError } from '../../../errors.ts'
import type { PendingStep } from '../second-step.ts'
import type { SessionBegun } from '../../../accounts/slots.ts'
import { signInEnrolled } from '../finish-sign-in.ts'
import type { PasskeyForm, ShownEnrolment } from '../../../pages/common-model.ts'
import { Credential, FactorName, JourneySchema, SecondFactorCode } from '../../../http/edge/schemas.ts'
import { pageBefore } from '../../../http/pages/parts.ts'
import type { Journey, PageDeps, Visit } from '../../../http/pages/deps.ts'
import { knowBrowser, passkeyFormOf, shownCodes, waysBack, withQr } from './parts.ts'
import { formPage, goOn } from '../../../http/pages/form-page.ts'
import { type Form, required } from '../../../http/pages/page-routes.ts'
import { leadOn } from '../../../http/pages/lead-on.ts'
import { enrollerOf, type Owing, owingIn, userOf } from './enrolment.ts'

/**
 * `forAccount`: the host requires a factor of the account. `enrolment` and `passkey` are `null` until the address of
 * the account is confirmed, and each is `null` if it can't be set up here.
 */
interface Shown {
  owing: Owing
  forAccount: boolean
  enrolment: ShownEnrolment | null
  passkey: PasskeyForm | null
  name: string
  sent: boolean
}

/**
 * `GET` and `POST /auth/second-factor/set-up`: the page for users without a second factor who need one, for example by
 * `mfa.required` or by a link of `startEnrolment`. Stores no factor, and begins no session, before a right code or a
 * new passkey.
 */
export function setUpSecondFactorPage(child: FastifyInstance, deps: PageDeps, accounts: ProvingDeps): void {
  const { authorize, browser, cookies, link, pages } = deps
  const codes = shownCodes(deps)
  const { toLogin, beginAgain } = waysBack(deps)
  const owingOf = owingIn(deps, accounts)
  const { apps: newApps, passkeys } = newKindsOf(accounts)

  /** Returns the journey after the sign-in. If a page has to come before the destination, that page is `next`. */
  function onward(userId: string, { request, journey }: Visit): Journey {
    const first = pageBefore(userId, { request, journey }, deps)
    return first === null ? journey : { ...journey, next: first, nativeRequest: null }
  }
  const whose = (
    { user, session }: { user: PendingStep['user']; session: { sid: string } },
    { journey: { query } }: Visit
  ) => ({ user, sid: session.sid, url: `${link('secondFactorSetUp')}${query}` })

  async function show(owing: Owing, form: Form | null): Promise<Shown> {
    const of = enrollerOf(owing, accounts)
    const forAccount = owing.isInvited || (await mustKeepOne(of.user, accounts))
    if (!owing.isInvited && awaitsConfirmation(of.user, accounts))
      return { owing, forAccount, enrolment: null, passkey: null, name: '', sent: false }
    return {
      owing,
      forAccount,
      enrolment: await enrolmentOf(of, form),
      passkey: passkeys === null ? null : passkeyFormOf(await passkeys.creationOptions(of), deps),
      name: form?.name ?? '',
      sent: false
    }
  }

  async function enrolmentOf(of: Enroller, form: Form | null): Promise<ShownEnrolment | null> {
    if (newApps === null) return null
    // After a wrong code, the page shows the same key again, because the app has it already.
    const begun = form === null ? null : await newApps.reopen(form.enrolment ?? '', of)
    return await withQr(begun ?? (await newApps.start(of)))
  }

  /** Adds the passkey in the form, or else an app. */
  async function added(owing: Owing, form: Form, { request, reply, locale, origin }: Visit): Promise<FactorAdded> {
    const stays = 'step' in owing ? null : browser.stay(request, reply, owing.person.session.sid)
    const given = { ...enrollerOf(owing, accounts), stays, name: form.name ?? '', locale, origin }
    const { credential = '' } = form
    if (passkeys !== null && credential !== '') return await passkeys.add({ ...given, credential, turnsOn: { stays } })
    const { enrolment, code } = required(form, ['enrolment', 'code'])
    const apps = appsOf(accounts)
    if (apps === null) throw new OAuthError('invalid_request', 'No app can be set up here.')
    return await apps.confirm({ ...given, enrolment, code })
  }

  /** Stores the factor, and begins or renews the browser's session. `begun` is `null` if there is no session. */
  async function setUp(
    owing: Owing,
    form: Form,
    visit: Visit
  ): Promise<{ recoveryCodes: string[] | null; begun: SessionBegun | null }> {
    const done = await added(owing, form, visit)
    const { recoveryCodes, proof } = done
    // Reads the browser's cookie after the factor is stored, because storing it may give the session a new secret.
    const read = await browser.read(visit.request)
    if ('step' in owing)
      return { recoveryCodes, begun: await signInEnrolled(owing.step, done, read, { ...authorize, accounts }) }
    const { user, session } = owing.person
    const begun = await authorize.browserSessions.renew([...session.methods, proof], read)
    return { recoveryCodes, begun: begun === null ? null : { ...begun, user } }
  }

  formPage<'set_up_second_factor', Shown>(
    child,
    {
      name: 'set_up_second_factor',
      path: 'secondFactorSetUp',
      summaries: {
        page: 'Page to set up the second factor that a sign-in must have',
        form: 'Set up the second factor that a sign-in must have'
      },
      errors: {
        form: {
          400: ['invalid_code', 'invalid_credential', 'invalid_token'],
          401: 'login_required',
          403: { access_denied: 'a form of another site, or the address of the account is not confirmed' }
        }
      },
      what: {
        page:
          'The page to set up a second factor during a sign-in. `mfa.required` or a link of ' +
          '`app.authority.startEnrolment` leads a person without a second factor here. It has a new key for ' +
          'an authenticator app, as QR code, as text and as a link. If `mfa.methods` has `passkey` and ' +
          'passkeys are on, it has a form that makes a passkey instead. No factor is stored, and no ' +
          'session begins, before the form has a right code or a new passkey. If the address of the ' +
          'account must be confirmed first, the page says so, except to a person who comes by the link. A ' +
          'browser without a first factor of the last ten minutes and without a session of the last five ' +
          'minutes is led to the sign-in page. So is a person with a second factor. Exists with the option ' +
          '`factors`.',
        form:
          'Sets up the app by `code`, six digits that the app shows now, by `enrolment` from the page and ' +
          'by a `name`. Or makes a passkey by `credential`, the answer of the browser. Then the person is ' +
          'signed in with both factors, and all their other sessions end. The next page shows the recovery ' +
          'codes, with the way on. `decision=resend` sends the message that confirms the address ' +
          'again.'
      },
      querystring: JourneySchema,
      body: Type.Object({
        enrolment: Type.Optional(Type.String({ maxLength: 4096 })),
        code: Type.Optional(SecondFactorCode),
        name: Type.Optional(FactorName),
        decision: Type.Optional(Type.Literal('resend')),
        ...(passkeys === null ? {} : { credential: Type.Optional(Credential) })
      }),
      fields: ['code', 'name', 'credential'],
      passkeys: passkeys === null ? undefined : { renewUrl: null },
      leadsOn: true,
      secretOf: (request) => cookies.step.read(request) ?? browser.cookieOf(request),
      async open(visit) {
        const person = await browser.signedIn(visit.request)
        if (codes.areSaved(visit)) return person === null ? toLogin(visit) : goOn(onward(person.user.id, visit).next)
        const again = person === null ? null : codes.again(visit, whose(person, visit))
        if (again !== null) return again
        const owing = await owingOf(visit.request)
        return owing === null ? toLogin(visit) : await show(owing, null)
      },
      async submit(form, visit) {
        const { request, journey, locale, origin } = visit
        const owing = await owingOf(request)
        if (owing === null) {
          const person = await browser.signedIn(request)
          const again = person === null ? null : codes.again(visit, whose(person, visit))
          return { limit: null, work: async () => again ?? beginAgain(visit) }
        }
        return {
          limit: null,
          async work() {
            if (form.decision === 'resend') {
              await sendVerificationAgain(userOf(owing), { locale, origin }, accounts)
              return { ...(await show(owing, null)), sent: true }
            }
            const { recoveryCodes, begun } = await setUp(owing, form, visit)
            if (begun !== null) await knowBrowser(begun.user, visit, deps, accounts.factors)
            return async (reply) => {
              cookies.step.clear(reply)
              if (owing.isInvited) cookies.enrolment?.clear(reply)
              if (begun !== null && recoveryCodes === null)
                return await leadOn(begun, onward(userOf(owing).id, visit), request, deps)(reply)
              const made = recoveryCodes ?? []
              if (begun !== null) {
                browser.setCookie(reply, begun.cookie)
                return await codes.show(made, visit, whose(begun, visit))(reply)
              }
              // Shows the codes here, because no other answer contains them. A link on the page continues the journey.
              return await pages.send(
                request,
                reply,
                'account_recovery_codes',
                {
                  username: userOf(owing).username,
                  signedIn: false,
                  codes: made,
                  backUrl: `${link('login')}${journey.query}`
                },
                { uiLocales: journey.uiLocales, clientName: journey.clientName, brand: journey.brand }
              )
            }
          }
        }
      },
      async again(form, refused, { request }) {
        const owing = await owingOf(request)
        if (owing === null) throw refused
        return await show(owing, form)
      },
      content: ({ owing, forAccount, enrolment, passkey, name, sent }, { journey: { query } }) => ({
        username: userOf(owing).username,
        forAccount,
        enrolment,
        passkey,
        name,
        sent,
        loginUrl: `${link('login')}${query}`
      })
    },
    deps
  )
}
