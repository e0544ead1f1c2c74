import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { lastSignInMethod, linkIdOf, listLinks, unlinkIdentity } from '../../../accounts/identities.ts'
import { OAuthError } from '../../../errors.ts'
import type { AccountModel } from '../../../pages/account-models.ts'
import type { PageModels } from '../../../pages/model.ts'
import { PasswordAgain } from '../../../http/edge/schemas.ts'
import { connectButtons } from '../../../http/pages/parts.ts'
import type { ConnectPageDeps } from './begin.ts'
import { withQuery } from '../../../http/pages/form-page.ts'
import { accountPage } from '../../../http/pages/own-account/account-page.ts'
import { proofOf, proven } from '../../../http/pages/own-account/fresh.ts'

type Shown = Omit<PageModels['account_connections'], keyof AccountModel>

/**
 * The person's accounts at other providers, as `GET /auth/connections` has them; takes one away, and leads to
 * connecting another.
 */
export function connectionsPage(child: FastifyInstance, deps: ConnectPageDeps): void {
  const {
    authorize: { accounts },
    connect: { connections },
    link
  } = deps
  const path = 'accountConnections'
  accountPage<'account_connections', Shown>(
    child,
    {
      name: 'account_connections',
      path,
      summaries: { page: 'Page of connected accounts', form: 'Disconnect an account by a form' },
      body: Type.Object({ link: Type.Optional(Type.String({ maxLength: 128 })), current_password: PasswordAgain }),
      fields: ['current_password'],
      async open(visit) {
        const {
          person: { user },
          request,
          journey
        } = visit
        const links = await listLinks(user.id, accounts)
        const buttons = await connectButtons(request, { query: '' }, deps)
        return {
          links: links.map((one) => ({
            id: linkIdOf(one),
            name: connections.get(one.connection)?.name ?? one.connection,
            email: one.email ?? null,
            linkedAt: one.linkedAt,
            lastUsedAt: one.lastUsedAt
          })),
          ways: buttons.map((button) => ({
            ...button,
            url: withQuery(`${link('connect')}/${button.id}/link`, { return_to: `${link(path)}${journey.query}` })
          })),
          ...(await proofOf('unlink', path, visit, deps))
        }
      },
      async submit(form, visit) {
        const {
          person: { user },
          locale,
          origin
        } = visit
        const { link: id = '' } = form
        if (id === '') throw new OAuthError('invalid_request', 'link: it is required.')
        return {
          ...(await proven('unlink', form, await proofOf('unlink', path, visit, deps), visit, accounts)),
          limit: null,
          async work() {
            // One that is not there is gone: the button was pressed twice, or on two devices.
            if ((await unlinkIdentity(user, id, { by: 'user', locale, origin }, accounts)) === 'last_sign_in_method')
              throw lastSignInMethod()
            return 'unlinked'
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
