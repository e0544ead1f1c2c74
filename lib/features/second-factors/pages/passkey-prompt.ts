import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { awaitsConfirmation } from '../../../accounts/verify-email.ts'
import { freshnessIn, mayChange } from '../../../accounts/fresh-sign-in.ts'
import type { PasskeyCreationOptions } from '../../../protocol/webauthn-options.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import { Credential, FactorName, JourneySchema } from '../../../http/edge/schemas.ts'
import type { Leave, PageDeps, Visit } from '../../../http/pages/deps.ts'
import { formPage, goOn } from '../../../http/pages/form-page.ts'
import { required } from '../../../http/pages/page-routes.ts'
import { addPasskey } from '../../../http/pages/own-account/add-passkey.ts'
import { passkeyFormOf, passkeysOf } from '../../../http/pages/passkeys.ts'

interface Proposal {
  person: SignedInPerson
  options: PasskeyCreationOptions
}

/**
 * `GET` and `POST /auth/passkey-prompt`: proposes a passkey to a user who has just signed in by a password, or signed
 * up without one, and has none. It is on the way of a journey, which goes on in any case, at once if there is nothing
 * to propose.
 */
export function passkeyPromptPage(child: FastifyInstance, deps: PageDeps): void {
  const on = passkeysOf(deps)
  if (on === null || !on.passkeys.prompt) return
  const { factors, passkeys } = on
  const accounts = { ...deps.authorize.accounts, factors }

  async function propose({ request, journey, origin }: Visit): Promise<Proposal | Leave> {
    const person = await deps.browser.signedIn(request)
    if (person === null || !(await mayChange('passkeys', freshnessIn(person, origin), accounts)))
      return goOn(journey.next)
    const found = await factors.store.findFactors(person.user.id)
    if (found.passkeys.length > 0 || awaitsConfirmation(person.user, accounts)) return goOn(journey.next)
    return {
      person,
      options: await passkeys.creationOptions({ user: person.user, sid: person.session.sid }, accounts)
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
          '`name`. The first second factor of a person ends all their other sessions, and the answer shows ' +
          'the recovery codes.'
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
            await addPasskey({ person, credential, name: form.name ?? '', locale, origin }, visit, on, deps)
            return goOn(next)
          }
        }
      },
      async again(_form, refused, visit) {
        const proposal = await propose(visit)
        // The way on is in the error page's own link then.
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
