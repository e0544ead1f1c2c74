import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { awaitsConfirmation } from '../../../accounts/verify-email.ts'
import type { FactorDeps } from '../../../accounts/factors/deps.ts'
import type { Passkeys } from '../../../accounts/factors/passkeys.ts'
import { freshnessIn, mayChange, requireProof } from '../../../accounts/fresh-sign-in.ts'
import type { AccountModel } from '../../../pages/account-models.ts'
import type { PageModels } from '../../../pages/model.ts'
import { Credential, FactorName } from '../../edge/schemas.ts'
import type { PageDeps } from '../deps.ts'
import { goOn, withQuery } from '../form-page.ts'
import { required } from '../page-routes.ts'
import { passkeyFormOf } from '../passkeys.ts'
import { accountPage, signInUrl } from './account-page.ts'
import { addPasskey } from './add-passkey.ts'

/** `GET` and `POST /auth/security/passkeys`: makes a passkey. That takes a fresh sign-in (`requireProof`). */
export function passkeyPage(
  child: FastifyInstance,
  deps: PageDeps,
  on: { factors: FactorDeps; passkeys: Passkeys }
): void {
  const { factors, passkeys } = on
  const accounts = { ...deps.authorize.accounts, factors }
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
          '`name`. The first second factor of a person ends all their other sessions, and the answer shows ' +
          'the recovery codes.'
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
          passkey: fresh
            ? passkeyFormOf(await passkeys.creationOptions({ user, sid: session.sid }, accounts), deps)
            : null,
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
            await addPasskey({ person, credential, name: form.name ?? '', locale, origin }, visit, on, deps)
            return goOn(withQuery(overview, { done: 'passkey_added' }))
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
