import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { awaitsConfirmation } from '../../accounts/factors/confirmed-address.ts'
import { type FactorDeps, hasSecondFactor } from '../../accounts/factors/deps.ts'
import { confirmEnrolment, type Enroller, reopenEnrolment, startEnrolment } from '../../accounts/factors/enrol-totp.ts'
import { openStep, type PendingStep } from '../../accounts/factors/second-step.ts'
import { isRecentEnough } from '../../accounts/fresh-sign-in.ts'
import { sendVerificationAgain } from '../../accounts/verify-email.ts'
import type { SessionBegun } from '../../accounts/begin-session.ts'
import { enrolAndSignIn } from '../../authorize/first-enrolment.ts'
import type { ShownEnrolment } from '../../pages/model.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import { FactorName, JourneySchema, SecondFactorCode } from '../edge/schemas.ts'
import { confirmUrl } from './connect/confirm.ts'
import type { PageDeps } from './deps.ts'
import { withQr } from './enrolment-form.ts'
import { formPage, goOn, type Leave, type Visit } from './form-page.ts'
import { type Form, required } from './forms.ts'
import { leadOn } from './lead-on.ts'

/** Who has to set one up: whoever has given a first factor and is not signed in yet, or somebody whose session began without. */
type Owing = { step: PendingStep, ticket: string } | { person: SignedInPerson }

/** `enrolment` is `null` where the address of the account has to be confirmed first. */
interface Shown { owing: Owing, enrolment: ShownEnrolment | null, name: string, sent: boolean }

/**
 * `GET` and `POST /auth/second-factor/set-up`: where `mfa.required` leads whoever has no second factor yet. Nothing is stored before a code of the
 * app was right, and nobody is signed in before that.
 */
export function setUpSecondFactorPage (child: FastifyInstance, deps: PageDeps, factors: FactorDeps): void {
  const { authorize, browser, link, pages, stepCookie } = deps
  const accounts = { ...authorize.accounts, factors }

  /** `null`: nobody, or they have one by now. */
  async function owingOf (request: FastifyRequest): Promise<Owing | null> {
    const ticket = stepCookie.read(request)
    const step = ticket === undefined ? null : await openStep(ticket, { page: true, needs: 'enrolment' }, accounts)
    const person = step === null ? await browser.signedIn(request) : null
    const owing = step !== null && ticket !== undefined ? { step, ticket } : person !== null && isRecentEnough(person.session, accounts.clock.now()) ? { person } : null
    return owing === null || hasSecondFactor(await factors.store.findFactors(userOf(owing).id)) ? null : owing
  }

  const beginAgain = ({ journey: { query } }: Visit): Leave => async (reply) => {
    stepCookie.clear(reply)
    return await goOn(`${link('login')}${query}`)(reply)
  }

  async function show (owing: Owing, form: Form | null): Promise<Shown> {
    const of = enrollerOf(owing)
    if (awaitsConfirmation(of.user, accounts)) return { owing, enrolment: null, name: '', sent: false }
    // After a wrong code the same key again: the app has it by now.
    const begun = form === null ? null : await reopenEnrolment(form.enrolment ?? '', of, accounts)
    return { owing, enrolment: await withQr(begun ?? await startEnrolment(of, accounts)), name: form?.name ?? '', sent: false }
  }

  /** What the browser has afterwards; `begun` is `null` where the session could not begin. */
  async function setUp (owing: Owing, form: Form, { request, locale, origin }: Visit): Promise<{ recoveryCodes: string[] | null, begun: SessionBegun | null }> {
    const { enrolment, code } = required(form, ['enrolment', 'code'])
    const given = { enrolment, code, name: form.name ?? '', locale }
    if ('step' in owing) return await enrolAndSignIn({ ...owing, ...given }, await browser.read(request), { ...authorize, accounts })
    const { user, session } = owing.person
    const { recoveryCodes, proof } = await confirmEnrolment({ user, sid: session.sid, ...given, origin }, accounts)
    const begun = await authorize.browserSessions.renew(user.id, [...session.methods, proof], await browser.read(request))
    return { recoveryCodes, begun: begun === null ? null : { ...begun, user } }
  }

  formPage<'set_up_second_factor', Shown>(child, {
    name: 'set_up_second_factor',
    path: 'secondFactorSetUp',
    summaries: { page: 'Page to set up the second factor that a sign-in must have', form: 'Set up the second factor that a sign-in must have' },
    querystring: JourneySchema,
    body: Type.Object({ enrolment: Type.Optional(Type.String({ maxLength: 4096 })), code: Type.Optional(SecondFactorCode), name: Type.Optional(FactorName), decision: Type.Optional(Type.Literal('resend')) }),
    fields: ['code', 'name'],
    leadsOn: true,
    async open (visit) {
      const owing = await owingOf(visit.request)
      return owing === null ? beginAgain(visit) : await show(owing, null)
    },
    async submit (form, visit) {
      const { request, journey, locale, origin } = visit
      const owing = await owingOf(request)
      if (owing === null) return { limit: null, work: async () => beginAgain(visit) }
      return {
        limit: null,
        async work () {
          if (form.decision === 'resend') {
            await sendVerificationAgain(userOf(owing), { locale, origin }, accounts)
            return { ...await show(owing, null), sent: true }
          }
          const { recoveryCodes, begun } = await setUp(owing, form, visit)
          return async (reply) => {
            stepCookie.clear(reply)
            const confirm = confirmUrl(request, userOf(owing).id, journey, deps)
            const onward = confirm === null ? journey : { ...journey, next: confirm, nativeRequest: null }
            if (begun !== null && recoveryCodes === null) return await leadOn(begun, onward, request, deps)(reply)
            if (begun !== null) browser.setCookie(reply, begun.cookie)
            // They are in no other answer, so the journey goes on by a link of this one.
            return await pages.send(request, reply, 'account_recovery_codes', { username: userOf(owing).username, codes: recoveryCodes ?? [], backUrl: begun === null ? `${link('login')}${journey.query}` : onward.next }, { uiLocales: journey.uiLocales, clientName: journey.clientName })
          }
        }
      }
    },
    async again (form, refused, { request }) {
      const owing = await owingOf(request)
      if (owing === null) throw refused
      return await show(owing, form)
    },
    content: ({ owing, enrolment, name, sent }, { journey: { query } }) => ({ username: userOf(owing).username, enrolment, name, sent, loginUrl: `${link('login')}${query}` })
  }, deps)
}

function userOf (owing: Owing): PendingStep['user'] {
  return 'step' in owing ? owing.step.user : owing.person.user
}

function enrollerOf (owing: Owing): Enroller {
  return 'step' in owing ? { user: owing.step.user, sid: null, ticket: owing.ticket } : { user: owing.person.user, sid: owing.person.session.sid }
}
