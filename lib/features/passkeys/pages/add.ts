import type { FastifyInstance } from 'fastify'
import type { PasskeyPages } from './sign-in.ts'
import { Type } from '@sinclair/typebox'
import { awaitsConfirmation } from '../../../accounts/verify-email.ts'
import type { Passkeys } from '../../../accounts/factor-kinds.ts'
import { freshnessIn, mayChange, requireProof } from '../../../accounts/fresh-sign-in.ts'
import type { AccountModel } from '../../../pages/account-models.ts'
import type { PageModels } from '../../../pages/model.ts'
import { Credential, FactorName, JourneySchema } from '../../../http/edge/schemas.ts'
import type { Leave, PageDeps, Visit } from '../../../http/pages/deps.ts'
import { formPage, goOn, withQuery } from '../../../http/pages/form-page.ts'
import { required } from '../../../http/pages/page-routes.ts'
import { passkeyFormOf } from '../../second-factors/pages/parts.ts'
import { accountPage, signInUrl } from '../../../http/pages/account-page.ts'
import type { MessageCause } from '../../../accounts/outbox.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import type { PasskeyCreationOptions } from '../../../protocol/webauthn-options.ts'

/** `GET` and `POST /auth/security/passkeys`: adds a passkey. Requires a fresh sign-in (`requireProof`). */
export function passkeyPage(child: FastifyInstance, deps: PageDeps, { accounts, passkeys }: PasskeyPages): void {
  accountPage<'account_passkey', Omit<PageModels['account_passkey'], keyof AccountModel>>(
    child,
    {
      name: 'account_passkey',
      path: 'securityPasskeys',
      summaries: { page: 'Page to add a passkey', form: 'Add a passkey by a form' },
      errors: {
        form: {
          400: 'invalid_credential',
          401: ['insufficient_user_authentication', 'login_required'],
          409: ['duplicate_factor', 'factor_limit']
        }
      },
      what: {
        page:
          'The page to add a passkey. Exists if `GET /auth/security` does and passkeys are on. It claims ' +
          'the handle by which authenticators know the person, and stores nothing else. It needs a session ' +
          'of the last five minutes with the second factor of the account, or else asks for a new sign-in.',
        form:
          'Stores the passkey that the browser made with the options of the page: `credential`, and its ' +
          '`name`. It changes nothing else about the sign-in of the person.'
      },
      body: Type.Object({ credential: Credential, name: Type.Optional(FactorName) }),
      fields: ['name', 'credential'],
      passkeys: { renewUrl: null },
      async open(visit, form) {
        const {
          person: { user, session },
          origin
        } = visit
        if (awaitsConfirmation(user, accounts))
          return {
            passkey: null,
            name: '',
            signInUrl: null,
            confirmUrl: `${deps.link('accountEmail')}${visit.journey.query}`
          }
        const fresh = await mayChange('passkeys', freshnessIn(visit.person, origin), accounts)
        return {
          passkey: fresh ? passkeyFormOf(await passkeys.creationOptions({ user, sid: session.sid }), deps) : null,
          name: form?.name ?? '',
          signInUrl: fresh ? null : signInUrl('securityPasskeys', visit, deps),
          confirmUrl: null
        }
      },
      async submit(form, visit) {
        const { person, journey, locale, origin } = visit
        await requireProof('passkeys', freshnessIn(person, origin), accounts)
        const { credential } = required(form, ['credential'])
        const overview = `${deps.link('security')}${journey.query}`
        return {
          limit: null,
          async work() {
            await addPasskey({ person, credential, name: form.name ?? '', locale, origin }, visit, passkeys, deps)
            return goOn(withQuery(overview, { done: 'passkey_added' }))
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}

interface NewPasskey extends MessageCause {
  person: SignedInPerson
  credential: string
  name: string
}

/** Stores a passkey and renews the session, which gets the new passkey as a proof. */
async function addPasskey(
  { person: { user, session }, ...added }: NewPasskey,
  { request, reply }: Pick<Visit, 'request' | 'reply'>,
  passkeys: Passkeys,
  { browser }: PageDeps
): Promise<void> {
  const { proof } = await passkeys.add({ user, sid: session.sid, ...added })
  await browser.renew(request, reply, user.id, [
    ...session.methods.filter(({ method }) => method !== proof.method),
    proof
  ])
}

interface Proposal {
  person: SignedInPerson
  options: PasskeyCreationOptions
}

/**
 * `GET` and `POST /auth/passkey-prompt`: proposes a passkey to a user without one who has just signed in by a password,
 * or signed up without a password. The journey continues at once if there is nothing to propose.
 */
export function passkeyPromptPage(child: FastifyInstance, deps: PageDeps, { accounts, passkeys }: PasskeyPages): void {
  async function propose({ request, journey, origin }: Visit): Promise<Proposal | Leave> {
    if (!passkeys.prompt) return goOn(journey.next)
    const person = await deps.browser.signedIn(request)
    if (person === null || !(await mayChange('passkeys', freshnessIn(person, origin), accounts)))
      return goOn(journey.next)
    const found = await accounts.factors.store.findFactors(person.user.id)
    if (found.passkeys.length > 0 || awaitsConfirmation(person.user, accounts)) return goOn(journey.next)
    return {
      person,
      options: await passkeys.creationOptions({ user: person.user, sid: person.session.sid })
    }
  }

  formPage<'passkey_prompt', Proposal>(
    child,
    {
      name: 'passkey_prompt',
      path: 'passkeyPrompt',
      summaries: { page: 'Page that proposes a passkey', form: 'Make the proposed passkey by a form' },
      errors: { form: { 400: 'invalid_credential', 401: 'login_required', 409: ['duplicate_factor', 'factor_limit'] } },
      what: {
        page:
          'The page that proposes a passkey after a sign-in by password, to a person without a passkey and ' +
          'in a browser that can make it. A browser shows it once in 30 days. It leads on at once if nobody ' +
          'is signed in, the session began more than five minutes ago, or the person has a passkey. Exists ' +
          'with `passkeys.prompt`.',
        form:
          'Stores the passkey that the browser made with the options of the page: `credential`, and its ' +
          '`name`. It changes nothing else about the sign-in of the person.'
      },
      querystring: JourneySchema,
      body: Type.Object({ credential: Credential, name: Type.Optional(FactorName) }),
      leadsOn: true,
      fields: ['name', 'credential'],
      passkeys: { renewUrl: null },
      open: propose,
      async submit(form, visit) {
        const {
          request,
          journey: { next },
          locale,
          origin
        } = visit
        const person = await deps.browser.signedIn(request)
        if (person === null || !(await mayChange('passkeys', freshnessIn(person, origin), accounts)))
          return { limit: null, work: async () => goOn(next) }
        const { credential } = required(form, ['credential'])
        return {
          limit: null,
          async work() {
            await addPasskey({ person, credential, name: form.name ?? '', locale, origin }, visit, passkeys, deps)
            return goOn(next)
          }
        }
      },
      async again(_form, refused, visit) {
        const proposal = await propose(visit)
        // There is no form to show again, so the error page shows the refusal.
        if (typeof proposal === 'function') throw refused
        return proposal
      },
      content: ({ person, options }, { journey: { next } }) => ({
        username: person.user.username,
        passkey: passkeyFormOf(options, deps),
        skipUrl: next
      })
    },
    deps
  )
}
