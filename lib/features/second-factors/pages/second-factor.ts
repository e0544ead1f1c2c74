import { appsOf, passkeysOf, type ProvingDeps, secondFactorCheck } from '../deps.ts'
import { hasFactor } from '../../../protocol/second-factors.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { SessionBegun } from '../../../accounts/slots.ts'
import { finishSignIn, readFactor, stepUp } from '../finish-sign-in.ts'
import { openStep, type PendingStep, rememberDevice } from '../second-step.ts'
import { OAuthError } from '../../../errors.ts'
import type { PasskeyForm } from '../../../pages/common-model.ts'
import type { StepWay } from '../options.ts'
import type { UserFactors } from '../../../ports/factor-store.ts'
import type { User } from '../../../ports/user-store.ts'
import { contextOf, MFA_ACR } from '../../../protocol/authentication.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import { Credential, JourneySchema, RecoveryCode, SecondFactorCode } from '../../../http/edge/schemas.ts'
import type { PageDeps, Visit } from '../../../http/pages/deps.ts'
import { formPage, withQuery } from '../../../http/pages/form-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'
import { leadOnFrom } from '../../../http/pages/lead-on.ts'
import { passkeyFormOf, waysBack } from './parts.ts'

/** The ways to give a second factor, best first. */
export const STEP_WAYS: readonly StepWay[] = ['passkey', 'code', 'recovery_code']

/**
 * The user who owes a second factor. `step`: the user has given the first factor and is not signed in yet. `person`:
 * the user is signed in without a second factor.
 */
type Pending = ({ step: PendingStep } | { person: SignedInPerson }) & { found: UserFactors }

/**
 * `GET` and `POST /auth/second-factor`: asks for the second factor after a password, an emailed code or a sign-in at
 * another provider, or in a session that began without a second factor.
 */
export function secondFactorPage(child: FastifyInstance, deps: PageDeps, accounts: ProvingDeps): void {
  const { authorize, browser, cookies, link } = deps
  const { factors } = accounts
  const passkeys = passkeysOf(accounts)
  const { toLogin, beginAgain } = waysBack(deps)

  async function pendingOf(request: FastifyRequest): Promise<Pending | null> {
    const ticket = cookies.step.read(request)
    const step = ticket === undefined ? null : await openStep(ticket, { page: true, needs: 'second_factor' }, accounts)
    if (step === null) return await ofSession(request)
    const found = await factors.store.findFactors(step.user.id)
    // `null`: the factors were reset meanwhile. The first factor alone is enough now, but the user must give it again.
    return hasFactor(found) ? { step, found } : null
  }

  async function ofSession(request: FastifyRequest): Promise<Pending | null> {
    const person = await browser.signedIn(request)
    if (person === null || contextOf(person.session, [MFA_ACR]) !== null) return null
    const found = await factors.store.findFactors(person.user.id)
    return hasFactor(found) ? { person, found } : null
  }

  /** Sets the cookie of a remembered browser. The server stores nothing. */
  function rememberBrowser(
    { user, session: { sid } }: SessionBegun,
    found: UserFactors,
    { request, origin }: Visit,
    reply: FastifyReply
  ): void {
    if (factors.remembered === null || cookies.trusted === null) return
    cookies.trusted.set(reply, rememberDevice(cookies.trusted.read(request), user, found, factors.remembered, accounts))
    accounts.events.emit('device_remembered', { userId: user.id, sid }, origin)
  }

  function passkeyOf(user: User, found: UserFactors): PasskeyForm | null {
    const options = passkeys?.optionsFor({ user, found, purpose: 'second_factor' }) ?? null
    return options === null ? null : passkeyFormOf(options, deps)
  }

  /** Chooses the kind of factor to ask for: the one in the query, or else the best. Adds links to the other kinds. */
  function wayOf(pending: Pending, { request, journey: { query } }: Visit) {
    const passkey = passkeyOf(userOf(pending), pending.found)
    const knows = deps.limiter.knows(request, secondFactorCheck(userOf(pending), pending.found, { kind: 'totp' }))
    const asksCode = (appsOf(accounts)?.counting(pending.found.totp, knows).length ?? 0) > 0
    const open = STEP_WAYS.filter((way) => (way === 'passkey' ? passkey !== null : way !== 'code' || asksCode))
    const way = open.find((one) => one === askedWay(request)) ?? open[0] ?? 'recovery_code'
    const urlOf = (other: StepWay): string => withQuery(`${link('secondFactor')}${query}`, { way: other })
    return {
      way,
      passkey: way === 'passkey' ? passkey : null,
      otherWays: open.filter((other) => other !== way).map((other) => ({ way: other, url: urlOf(other) }))
    }
  }

  formPage<'second_factor', Pending>(
    child,
    {
      name: 'second_factor',
      path: 'secondFactor',
      summaries: { page: 'Page of the second factor', form: 'Give the second factor by a form' },
      errors: { form: { 400: ['invalid_code', 'invalid_grant'], 429: { too_many_requests: 'rule `secondFactor`' } } },
      what: {
        page:
          'The page that asks for the second factor, after the right password or a sign-in at another ' +
          'provider. Nobody is signed in yet. It also asks a person whose session lacks the second factor, ' +
          'and adds it to that session under a new secret. A browser without a session and without a first ' +
          'factor of the last ten minutes is led to the sign-in page. `way` is `passkey`, `code` or ' +
          '`recovery_code`; without it, the page asks for the best one. Exists with the option `factors`.',
        form:
          'Signs in by `code`, the six digits of an authenticator app, by `recovery_code`, or by ' +
          '`credential`, the answer of a passkey. Spaces and hyphens do not count.'
      },
      querystring: Type.Composite([JourneySchema, Type.Object({ way: Type.Optional(Type.String({ maxLength: 16 })) })]),
      body: Type.Object({
        code: Type.Optional(SecondFactorCode),
        recovery_code: Type.Optional(RecoveryCode),
        credential: Type.Optional(Credential),
        remember: Type.Optional(Type.Literal('on'))
      }),
      fields: ['code', 'recovery_code', 'credential'],
      passkeys: passkeys === null ? undefined : { renewUrl: null },
      leadsOn: true,
      open: async (visit) => (await pendingOf(visit.request)) ?? toLogin(visit),
      async submit(form, visit) {
        const { code, recovery_code: recoveryCode, credential, remember } = form
        const { request, locale } = visit
        const pending = await pendingOf(request)
        if (pending === null) return { limit: null, work: async () => beginAgain(visit) }
        const given = readFactor({ code, recoveryCode, credential }, accounts)
        return {
          limit: secondFactorCheck(userOf(pending), pending.found, given),
          async work({ isKnown }) {
            try {
              const done = { ...authorize, accounts }
              const begun =
                'step' in pending
                  ? await finishSignIn({ ...pending, given, locale, isKnown }, await browser.read(request), done)
                  : await stepUp(
                      { ...pending, given, clientId: queryParam(request, 'client_id') || null, locale, isKnown },
                      await browser.read(request),
                      done
                    )
              return async (reply) => {
                cookies.step.clear(reply)
                if (remember === 'on') rememberBrowser(begun, pending.found, visit, reply)
                return await (
                  await leadOnFrom(begun, visit, form, deps)
                )(reply)
              }
            } catch (error) {
              if (error instanceof OAuthError && error.error === 'login_required') return beginAgain(visit)
              throw error
            }
          }
        }
      },
      async again(_form, refused, { request }) {
        const pending = await pendingOf(request)
        if (pending === null) throw refused
        return pending
      },
      carries(_pending, { request }) {
        const way = askedWay(request)
        return way === undefined ? {} : { way }
      },
      content(pending, visit) {
        const { query, clientName } = visit.journey
        return {
          username: userOf(pending).username,
          rememberSeconds: factors.remembered === null ? null : factors.remembered.lifetimeMs / 1000,
          ...wayOf(pending, visit),
          tellsPasskeys: passkeys?.prompt === true && pending.found.passkeys.length === 0,
          // Without `prompt=login`, the sign-in page redirects a signed-in user at once.
          loginUrl: withQuery(
            `${link('login')}${query}`,
            'person' in pending && clientName === null ? { prompt: 'login' } : {}
          )
        }
      }
    },
    deps
  )
}

function userOf(pending: Pending): User {
  return 'step' in pending ? pending.step.user : pending.person.user
}

const askedWay = (request: FastifyRequest): StepWay | undefined =>
  STEP_WAYS.find((way) => way === queryParam(request, 'way'))
