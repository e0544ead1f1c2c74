import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../../errors.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import type { Form } from '../../../http/pages/page-routes.ts'
import { AS_TYPED, field, formState, hidden, submit } from '../../../pages/fields.ts'
import { html } from '../../../pages/html.ts'
import { NotSupportedError } from '../../../ports/user-store.ts'
import { actBy, textOfVersion, versionIn } from '../endpoints/acting.ts'
import { type Act, noteName, actableOf, type Person, personOf } from './acts.ts'
import {
  ACT_FIELDS,
  problemAt,
  reasonField,
  reasonIn,
  sessionForm,
  shown,
  visible,
  type AdminPage,
  type AdminPageDeps,
  type AdminVisit,
  type View
} from './frame.ts'

/** The page that asks an administrator to confirm an action on a person, and for a reason. */
export function actPage(act: Act, deps: AdminPageDeps): AdminPage {
  async function asked(person: Person, visit: AdminVisit, form: Form, error: OAuthError | null): Promise<View> {
    const { user, url } = person
    const [before, after] = act.question
    const consequences = error !== null && error.field === undefined ? [] : await act.consequences(person, visit)
    const said = error === null ? null : { error: error.error, text: error.message, field: error.field ?? null }
    const state = formState(said, ['username', 'reason'], '')
    return {
      heading: `${before}${visible(user.username)}${after}`,
      headline: html`${before}${shown(user.username)}${after}`,
      back: { url, label: 'Back to the person' },
      error,
      content: html`${consequences.map(
        (one) => html`<p>${one}</p>
`
      )}${sessionForm(visit, [
        user.version !== null && hidden('version', textOfVersion(user.version)),
        reasonField(form.reason ?? '', problemAt('reason', error)),
        act.removesPerson === true &&
          field(state, 'username', {
            label: 'Type the username to confirm',
            type: 'text',
            autocomplete: 'off',
            extra: AS_TYPED
          }),
        submit(act.button, { look: 'danger', deliberate: true }),
        html`
<p class="actions"><a class="quiet" href="${url}">Cancel</a></p>
`
      ])}`
    }
  }

  return {
    path: `/people/:id/${act.path}`,
    scope: act.scope,
    summary: `Page that asks: ${act.button.toLowerCase()}`,
    what: 'Asks whether to do it, says what follows, and asks for a reason.',
    show: async (visit) => await asked(await actableOf(visit, deps), visit, {}, null),
    form: {
      summary: `${act.button} by a form`,
      what:
        'Does it as the route of the API does, with a `reason` of 10 to 500 characters, and leads to the page of ' +
        'the person. A form that the session was not shown does nothing.',
      body: Type.Object({
        ...ACT_FIELDS,
        ...(act.removesPerson === true ? { username: Type.String() } : {})
      }),
      async submit(form, visit) {
        const person = await personOf(visit, deps)
        const leave = (params: Record<string, string>) => goOn(withQuery(person.url, params))
        // Runs the action even if its effect is there, because an earlier run may have failed halfway.
        const wasDone = act.isDone?.(person) === true
        try {
          const reason = reasonIn(form)
          if (act.removesPerson === true && form.username !== person.user.username)
            throw new OAuthError('invalid_request', 'This is not the username.', {
              field: 'username',
              withoutStack: true
            })
          const version = wasDone ? undefined : (versionIn(form.version ?? '') ?? undefined)
          await act.run(person, { ...actBy(visit, visit.origin, deps), reason, version }, visit)
        } catch (error) {
          if (person.refusal !== null) throw person.refusal
          const told = toldOf(error)
          return await asked(await personOf(visit, deps), visit, form, told)
        }
        return act.removesPerson === true
          ? goOn(withQuery(deps.pages.link('admin'), { done: 'deleted' }))
          : leave({ done: noteName(act), ...(wasDone ? { was: 'already' } : {}) })
      }
    }
  }
}

/** The error for the page. Rethrows an error that is not for its reader. */
function toldOf(error: unknown): OAuthError {
  if (error instanceof NotSupportedError) return new OAuthError('conflict', error.message)
  if (!(error instanceof OAuthError)) throw error
  if (error.error !== 'changed_meanwhile') return error
  return new OAuthError('changed_meanwhile', 'This account changed meanwhile. Look at it, and try again.', {
    withoutStack: true
  })
}
