import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { checkUndo, type PendingUndo, undoByLink } from '../../accounts/undo.ts'
import { OneTimeTokenValue } from '../edge/schemas.ts'
import type { PageDeps } from './deps.ts'
import { formPage } from './form-page.ts'
import { queryParam } from './forms.ts'

/** `token` is `''` once it is used up. */
interface Shown {
  token: string
  pending: PendingUndo
}

/**
 * The page behind "that was not me" of a message. It says which change it takes back, with a button. Opening it uses
 * nothing up, because mail programs open links too.
 */
export function undoPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts }
  } = deps
  const asked = async (token: string): Promise<Shown> => {
    const pending = await checkUndo(token, accounts)
    return { token: pending.isDone ? '' : token, pending }
  }

  formPage<'undo', Shown>(
    child,
    {
      name: 'undo',
      path: 'undo',
      summaries: { page: 'Page that takes a change of an account back', form: 'Take a change of an account back' },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue }),
      fields: [],
      tokenInAddress: true,
      open: async ({ request }) => await asked(queryParam(request, 'token')),
      submit: ({ token = '' }, { origin, locale }) => ({
        limit: 'failures',
        async work() {
          const { pending } = await asked(token)
          await undoByLink({ token, locale, origin }, accounts)
          return { token: '', pending: { ...pending, isDone: true } }
        }
      }),
      async again({ token = '' }, refused) {
        // If the token is not good or can't be read, there is no content for the page.
        return await asked(token).catch(() => {
          throw refused
        })
      },
      content: ({ token, pending: { what, user, isDone } }) => ({ token, what, username: user.username, done: isDone })
    },
    deps
  )
}
