import { Type } from '@sinclair/typebox'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { lastSignInMethod, linkIdOf, listLinks, unlinkIdentity } from '../../accounts/identities.ts'
import { OAuthError } from '../../errors.ts'
import { accountOf } from '../../http/edge/caller-guards.ts'
import { localeOf, originOf } from '../../http/edge/request-origin.ts'
import { type Endpoint, endpoint } from '../../http/edge/endpoint.ts'
import { ConnectionList, Empty, FOR_THE_ACCOUNT, PasswordAgain } from '../../http/edge/schemas.ts'
import type { Connection } from '../../ports/upstream.ts'
import type { FastifyInstance } from 'fastify'
import type { AccountModel } from '../../pages/account-models.ts'
import type { PageModels } from '../../pages/model.ts'
import { connectButtons } from '../../http/pages/parts.ts'
import type { ConnectPageDeps } from './pages/begin.ts'
import { withQuery } from '../../http/pages/form-page.ts'
import { accountPage, proofOf, proven } from '../../http/pages/account-page.ts'

/** The endpoints that list and disconnect the accounts at other providers that a user signs in with. */
export function connectionEndpoints(connections: ReadonlyMap<string, Pick<Connection, 'name'>>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/connections',
      callers: 'account',
      summary: 'List my connected accounts',
      description: FOR_THE_ACCOUNT,
      what:
        'The accounts at other providers that the person signs in with, the oldest first. The `id` is a digest that ' +
        'shows neither issuer nor subject. `connection` is the connection that was used last. Exists where there ' +
        'are `connections`.',
      answers: { 200: ConnectionList },
      handle: async (request, _reply, { grants: { accounts } }) => {
        const links = await listLinks(accountOf(request).user.id, accounts)
        return {
          connections: links.map((link) => ({
            id: linkIdOf(link),
            connection: link.connection,
            name: connections.get(link.connection)?.name ?? link.connection,
            email: link.email ?? null,
            linked_at: new Date(link.linkedAt).toISOString(),
            last_used_at: new Date(link.lastUsedAt).toISOString()
          }))
        }
      }
    }),
    endpoint({
      method: 'DELETE',
      path: '/connections/:id',
      callers: 'account',
      summary: 'Disconnect one of my connected accounts',
      description: FOR_THE_ACCOUNT,
      what:
        'Disconnects one of them: nobody signs in with it any more. Sessions stay. There is the event ' +
        '`identity_unlinked` and a message of that kind. The sign-in must be no more than five minutes old. The ' +
        'last way to sign in stays: a password, a passkey, another connected account or, with `emailSignIn`, a ' +
        'confirmed address must remain. Of two parallel requests for the last two, one is refused. Exists where ' +
        'there are `connections`.',
      params: Type.Object({ id: Type.String({ maxLength: 128 }) }),
      answers: { 204: Empty },
      errors: {
        400: 'invalid_request',
        401: { insufficient_user_authentication: 'the sign-in is not fresh, RFC 9470' },
        404: 'not_found',
        409: 'last_sign_in_method'
      },
      handle: async (request, _reply, { grants: { accounts } }) => {
        const { user, sid, authentication } = accountOf(request)
        const origin = originOf(request)
        // Requires a fresh sign-in, so that a session that is stolen later cannot remove the owner's other ways to sign
        // in.
        await requireProof('unlink', { user, sid, authentication, origin }, accounts)
        const cause = { by: 'user', locale: localeOf(request), origin } as const
        const outcome = await unlinkIdentity(user, request.params.id, cause, accounts)
        if (outcome === 'unknown') throw new OAuthError('not_found', 'There is no such connected account.')
        if (outcome === 'last_sign_in_method') throw lastSignInMethod()
      }
    })
  ]
}

type Shown = Omit<PageModels['account_connections'], keyof AccountModel>

/** The page that lists a user's accounts at other providers, disconnects one, or begins to connect another. */
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
      errors: {
        form: {
          400: 'invalid_grant',
          401: 'insufficient_user_authentication',
          409: 'last_sign_in_method',
          429: { too_many_requests: 'rules `login` and `account`' }
        }
      },
      what: {
        page:
          'The accounts at other providers by which the person signs in, and the ways to connect another. ' +
          'Exists if `GET /auth/account` does and there are `connections`.',
        form:
          'Disconnects the account with the id `link`, as `DELETE /auth/connections/:id` does. A session ' +
          'that began more than five minutes ago needs `current_password`, or with a second factor a new sign-in. ' +
          'An account that is not connected counts as disconnected.'
      },
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
            // An unknown link counts as disconnected: the user may press the button twice, or on two devices.
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
