import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { addressOf } from '../../../accounts/outbox.ts'
import type { Invitations } from '../../../accounts/slots.ts'
import { domainOf, ownerConnection } from '../../../accounts/ways-in.ts'
import { OAuthError } from '../../../errors.ts'
import { OneTimeTokenValue, Password } from '../../../http/edge/schemas.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { formPage, goOn, withQuery } from '../../../http/pages/form-page.ts'
import { resultOf } from '../../../http/pages/lead-on.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'
import { buttonImages, connectButtons } from '../../../http/pages/parts.ts'
import type { User } from '../../../ports/user-store.ts'
import { choosePassword } from '../invitations.ts'
import { form, formState, hidden, newPasswordField, serverFault, submit } from '../../../pages/fields.ts'
import { html } from '../../../pages/html.ts'
import { chip, layout, usernameOf } from '../../../pages/layout.ts'
import type { PageModels } from '../../../pages/model.ts'
import type { Renderers } from '../../../pages/render.ts'
import { finished } from '../../../pages/sign-in-pages.ts'
import { ways } from '../../../pages/ways.ts'
import type { InvitationModels } from '../options.ts'

/** The content of the page. `user` is `null` once the invitation is accepted. */
interface Shown {
  token: string
  user: User | null
  username: string
}

/**
 * The page of an invitation link. Opening the link does not use it up, because mail programs open links too. The form
 * sets the password. The links to other providers pass on the token, so that a sign-in there accepts the invitation.
 */
export function acceptInvitationPage(child: FastifyInstance, deps: PageDeps, invitations: Invitations): void {
  const {
    authorize: { accounts },
    link,
    minLength,
    waiting
  } = deps
  const done = (username = ''): Shown => ({ token: '', user: null, username })

  async function pendingOf(token: string): Promise<Shown> {
    try {
      const user = await invitations.find(token)
      return { token, user, username: user.username }
    } catch (error) {
      if (error instanceof OAuthError && error.error === 'conflict') return done()
      throw error
    }
  }

  formPage<'accept_invitation', Shown>(
    child,
    {
      name: 'accept_invitation',
      path: 'acceptInvitation',
      summaries: { page: 'Invitation page', form: 'Accept an invitation by a form' },
      errors: {
        page: { 400: 'invalid_token' },
        form: {
          400: ['invalid_password', 'invalid_token'],
          403: { access_denied: 'a connection manages the address' },
          409: { conflict: 'accepted before, or the user has a password' },
          429: { too_many_requests: 'rule `refresh`' }
        }
      },
      what: {
        page:
          'The link of an invitation leads to this page. It asks for a password, and offers the connections ' +
          'that accept the address. Opening it does not use the link up, and `HEAD` works too. Works where ' +
          'registration is closed. Exists with `sendMessage`.',
        form:
          'Sets the password of the invited user, confirms the address and uses the link up. Signs nobody in. ' +
          'Leads to this page without the token, which says that the person can sign in now.'
      },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue, password: Password }),
      fields: ['password'],
      tokenInAddress: true,
      images: buttonImages(deps),
      async open(visit) {
        const token = queryParam(visit.request, 'token')
        return token === '' ? done(resultOf(visit, ['accepted'], waiting).name) : await pendingOf(token)
      },
      submit: ({ token = '', password = '' }, { origin, locale, journey }) => ({
        limit: 'failures',
        async work() {
          const { username } = await choosePassword({ token, password, origin, locale }, invitations, accounts)
          return async (reply) => {
            waiting.set(reply, journey, { kind: 'accepted', name: username })
            return await goOn(withQuery(`${link('acceptInvitation')}${journey.query}`, { done: 'accepted' }))(reply)
          }
        }
      }),
      async again({ token = '' }, refused) {
        if (refused.error === 'conflict') return done()
        // Without a valid token there is no form to show again, so the error page shows the refusal.
        return await pendingOf(token).catch(() => {
          throw refused
        })
      },
      async content({ token, user, username }, { request, journey }) {
        const owner = user === null ? null : ownerConnection(user, accounts)
        const domain = user === null ? '' : domainOf(addressOf(user).toLowerCase())
        const accepts = (id: string): boolean => {
          const { domains = [] } = accounts.connections.get(id) ?? {}
          return owner === null ? domains.length === 0 || domains.includes(domain) : id === owner
        }
        const buttons = user === null ? [] : await connectButtons(request, journey, deps)
        return {
          token,
          username,
          minLength,
          asksPassword: owner === null,
          connections: buttons.flatMap((button) =>
            accepts(button.id) ? [{ ...button, url: withQuery(button.url, { invitation: token }) }] : []
          ),
          loginUrl: `${link('login')}${journey.query}`,
          done: user === null
        }
      }
    },
    deps
  )
}

function acceptInvitation(model: PageModels['accept_invitation']): string {
  const { messages, action, error, token, username, minLength, asksPassword, connections, loginUrl, done } = model
  if (done)
    return finished(model, {
      icon: 'check',
      heading: messages.acceptDoneTitle,
      text: messages.verifyDoneText,
      loginUrl
    })
  const state = formState(error, ['password'], 'password')
  return layout(model, {
    heading: messages.acceptTitle,
    error,
    lead: html`<p class="lead">${asksPassword ? messages.acceptText : messages.errorConnectionOnly}</p>${chip(
      model,
      username
    )}`,
    content: [
      asksPassword &&
        form(action, state, [
          hidden('token', token),
          usernameOf(username),
          newPasswordField(state, model, { label: messages.passwordLabel, minLength }),
          submit(messages.acceptSubmit),
          '\n'
        ]),
      serverFault(model),
      ways(model, { connections, isAlone: !asksPassword })
    ]
  })
}

export const RENDERERS: Pick<Renderers, keyof InvitationModels> = { accept_invitation: acceptInvitation }
