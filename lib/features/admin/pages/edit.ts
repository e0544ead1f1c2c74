import { Type } from '@sinclair/typebox'
import { emailOf } from '../../../accounts/username.ts'
import type { UserChanges } from '../../../accounts/managed-users.ts'
import { OAuthError } from '../../../errors.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import type { Form } from '../../../http/pages/page-routes.ts'
import { profileChangeForm } from '../../../http/pages/profile-fields.ts'
import type { CommonModel, ProfileField } from '../../../pages/common-model.ts'
import { AS_TYPED, field, formState, type FormState, hidden, submit } from '../../../pages/fields.ts'
import { profileField } from '../../../pages/host-fields.ts'
import { type Html, html, type HtmlValue } from '../../../pages/html.ts'
import { pageErrorOf } from '../../../pages/page-error.ts'
import type { User } from '../../../ports/user-store.ts'
import { ownProfileFields } from '../../../accounts/register.ts'
import { actBy, textOfVersion, versionIn } from '../endpoints/acting.ts'
import {
  ACT_FIELDS,
  problemAt,
  reasonField,
  reasonIn,
  sessionForm,
  table,
  shown,
  visible,
  type AdminPage,
  type AdminPageDeps,
  type AdminVisit,
  type View
} from './frame.ts'
import { actableOf, type Person, personOf } from './acts.ts'

/** The form fields for the username and the email address of a new or existing account. */
export function nameFields(state: FormState, { username, email }: Form, usernameLabel: string): HtmlValue {
  return [
    field(state, 'username', {
      label: usernameLabel,
      type: 'text',
      value: username ?? '',
      autocomplete: 'off',
      extra: { ...AS_TYPED, maxlength: '255' }
    }),
    field(state, 'email', {
      label: 'Email',
      type: 'email',
      value: email ?? '',
      autocomplete: 'off',
      required: false,
      optional: 'optional',
      extra: { ...AS_TYPED, maxlength: '255' }
    })
  ]
}

/** Makes the state of a form with these field names. An error of a field is shown at that field. */
export const stateOf = (
  error: OAuthError | null | undefined,
  names: readonly string[],
  { messages }: CommonModel
): FormState => formState(error === null || error === undefined ? null : pageErrorOf(error, messages), names, '')

/**
 * The page on which an administrator edits a profile. Saves nothing if the profile has changed since the page showed
 * it, unless the store has no versions.
 */
export function editPage(deps: AdminPageDeps): AdminPage {
  const { pages, users } = deps
  const { registration } = pages
  const profile =
    registration === null
      ? null
      : profileChangeForm(registration, ownProfileFields(Object.keys(registration.fields.properties)))
  const names = ['username', 'email', ...(profile?.names ?? [])]
  const fieldsOf = (row: User, form: Form | null, { messages }: CommonModel): ProfileField[] =>
    profile?.show(row, form, messages) ?? []

  /** Shows the stored and the typed values of the fields in which they differ. */
  function differences({ row, user }: Person, form: Form, common: CommonModel): Html {
    const now: Array<[string, string]> = [
      ['username', user.username],
      ['email', user.email ?? ''],
      ...fieldsOf(row, null, common).map(({ name, value }): [string, string] => [name, value])
    ]
    const rows = now.filter(([name, value]) => (form[name] ?? '') !== value)
    return table(
      'Values that differ',
      ['Field', 'Now', 'Yours'],
      rows.map(([name, value]) => [visible(name), shown(value), shown(form[name] ?? '')])
    )
  }

  function view(person: Person, visit: AdminVisit, form: Form | null, error: OAuthError | null): View {
    const { user, row, url } = person
    return {
      heading: `Edit ${visible(user.username)}`,
      headline: html`Edit ${shown(user.username)}`,
      back: { url, label: 'Back to the person' },
      error,
      content: (common) => {
        const state = stateOf(error, names, common)
        const isStale = error?.error === 'changed_meanwhile' && form !== null
        return [
          isStale && differences(person, form, common),
          sessionForm(visit, [
            user.version !== null && hidden('version', textOfVersion(user.version)),
            nameFields(state, form ?? { username: user.username, email: user.email ?? '' }, 'Username'),
            fieldsOf(row, form, common).map((one) => profileField(state, common, one)),
            html`<p class="hint">A new address is not confirmed, and both mailboxes are told.</p>
`,
            reasonField(form?.reason ?? '', problemAt('reason', error)),
            submit('Save')
          ]),
          html`<p class="actions"><a class="quiet" href="${url}">Cancel</a></p>
`
        ]
      }
    }
  }

  function changesIn(form: Form, { user, row }: Person): UserChanges {
    const { username = '', email = '' } = form
    const isRenamed = username !== user.username
    // If the old username was the email address and the new one is not an address, the update must name the address to
    // keep it.
    const namesAddress = email !== (user.email ?? '') || (isRenamed && email !== '' && emailOf(username) === null)
    return {
      ...(isRenamed ? { username } : {}),
      ...(namesAddress ? { email } : {}),
      fields: profile?.read(form, row) ?? {}
    }
  }

  return {
    path: '/people/:id/edit',
    scope: 'authority:users:write',
    summary: 'Page to change a profile',
    what: 'The form of the username, the address and the fields of `registration.fields` of a person.',
    show: async (visit) => view(await actableOf(visit, deps), visit, null, null),
    form: {
      summary: 'Change a profile by a form',
      what:
        'Changes the profile as `PATCH /auth/admin/users/:id` does, if the person still has the `version` of the ' +
        'page. Otherwise it answers 412, with both values of each field that differs.',
      body: Type.Object({
        ...ACT_FIELDS,
        ...Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String())]))
      }),
      async submit(form, visit) {
        const person = await personOf(visit, deps)
        try {
          const reason = reasonIn(form)
          const version = person.user.version === null ? undefined : (versionIn(form.version ?? '') ?? '')
          const act = { ...actBy(visit, visit.origin, deps), reason, version }
          await users().update(person.user.id, changesIn(form, person), act)
        } catch (error) {
          if (!(error instanceof OAuthError) || person.refusal !== null) throw person.refusal ?? error
          return view(
            await actableOf(visit, deps),
            visit,
            form,
            error.error === 'changed_meanwhile' ? changed() : error
          )
        }
        return goOn(withQuery(person.url, { done: 'edit' }))
      }
    }
  }
}

const changed = (): OAuthError =>
  new OAuthError('changed_meanwhile', 'This account changed while you edited it. Compare, and save again.', {
    withoutStack: true
  })
