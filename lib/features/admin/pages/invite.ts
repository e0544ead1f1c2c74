import { Type } from '@sinclair/typebox'
import { INVITATION_DAYS } from '../../../accounts/acted-on.ts'
import { OAuthError } from '../../../errors.ts'
import { isFromHere } from '../../../http/pages/account-page.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import { type Form, queryParam, required } from '../../../http/pages/page-routes.ts'
import { missingFields } from '../../../http/pages/profile-fields.ts'
import { submit } from '../../../pages/fields.ts'
import { profileField } from '../../../pages/host-fields.ts'
import { html } from '../../../pages/html.ts'
import { actBy } from '../endpoints/acting.ts'
import { nameFields, stateOf } from './edit.ts'
import { type AdminPage, type AdminPageDeps, type AdminVisit, sessionForm, type View } from './frame.ts'

/**
 * The page on which an administrator creates an account and sends an invitation. The administrator does not see the
 * link.
 */
export function invitePage(deps: AdminPageDeps): AdminPage {
  const { users, pages } = deps
  const fields = missingFields(pages.registration, {})
  const names = ['username', 'email', ...fields.names]

  const view = (visit: AdminVisit, form: Form | null, error: OAuthError | null): View => ({
    heading: 'Invite',
    back: null,
    error,
    note:
      queryParam(visit.request, 'done') === 'invited' && isFromHere(visit.request)
        ? { text: 'We sent the invitation.', isDone: true }
        : null,
    lead: html`<p>The person gets a link to choose a password. It works once, for ${INVITATION_DAYS} days.</p>`,
    content: (common) => {
      const state = stateOf(error, names, common)
      return sessionForm(visit, [
        nameFields(state, form ?? {}, 'Email or username'),
        fields.show(form, common.messages).map((one) => profileField(state, common, one)),
        submit('Send invitation')
      ])
    }
  })

  return {
    path: '/invite',
    scope: 'authority:users:write',
    summary: 'Page to invite a person',
    what: 'The form of a new account, whose person gets a link. It exists with `sendMessage`.',
    show: async (visit) => view(visit, null, null),
    form: {
      summary: 'Invite a person by a form',
      what: 'Makes the account and sends the link as `POST /auth/admin/users` with `invite` does.',
      body: Type.Object({
        session: Type.String(),
        ...Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String())]))
      }),
      async submit(form, visit) {
        try {
          const { username } = required(form, ['username'])
          const made = await users().create(
            { username, ...(form.email ? { email: form.email } : {}), fields: fields.read(form), invite: true },
            actBy(visit, visit.origin, deps)
          )
          const home = pages.link('admin')
          const to = visit.scopes.includes('authority:users:read')
            ? `${home}/people/${encodeURIComponent(made.id)}`
            : `${home}/invite`
          return goOn(withQuery(to, { done: 'invited' }))
        } catch (error) {
          if (!(error instanceof OAuthError)) throw error
          return view(visit, form, error)
        }
      }
    }
  }
}
