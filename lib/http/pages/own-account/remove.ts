import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { removeAccount } from '../../../accounts/remove-account.ts'
import { PasswordAgain } from '../../edge/schemas.ts'
import type { PageDeps } from '../deps.ts'
import { goOn, withQuery } from '../form-page.ts'
import { queryParam } from '../forms.ts'
import { accountPage, isFromHere } from './account-page.ts'
import { type Proof, proofOf, proven } from './fresh.ts'

/** Removes the account as `DELETE /auth/account` does, but always asks for the password where there is one. */
export function removePage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    browser,
    homeUrl,
    link,
    pages
  } = deps
  const path = 'accountRemove'
  accountPage<'account_remove', Proof>(
    child,
    {
      name: 'account_remove',
      path,
      summaries: { page: 'Page to delete the account', form: 'Delete the account by a form' },
      body: Type.Object({ current_password: PasswordAgain }),
      fields: ['current_password'],
      open: async (visit) => await proofOf('removal', path, visit, deps, { always: true }),
      withoutPerson({ request, journey: { uiLocales } }) {
        if (queryParam(request, 'done') !== 'removed' || !isFromHere(request)) return null
        return async (reply) => await pages.send(request, reply, 'account_removed', { homeUrl }, { uiLocales })
      },
      async submit(form, visit) {
        const {
          request,
          reply,
          person: {
            user,
            session: { sid }
          },
          journey: { query },
          locale,
          origin
        } = visit
        return {
          ...(await proven(
            'removal',
            form,
            await proofOf('removal', path, visit, deps, { always: true }),
            visit,
            accounts
          )),
          limit: null,
          async work() {
            await removeAccount({ user, stays: browser.stay(request, reply, sid), locale, origin }, accounts)
            return async (reply) => {
              browser.clearCookie(reply)
              return await goOn(withQuery(`${link(path)}${query}`, { done: 'removed' }))(reply)
            }
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
