import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { beginSession } from '../../accounts/begin-session.ts'
import { firstFactorHolds } from '../../accounts/first-factor.ts'
import type { FirstFactor } from '../../accounts/slots.ts'
import { provePassword } from '../../accounts/fresh-sign-in.ts'
import { waysIn } from '../../accounts/ways-in.ts'
import { OAuthError } from '../../errors.ts'
import type { ConnectButton } from '../../pages/common-model.ts'
import { passwordProof } from '../../protocol/authentication.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import { Credential, JourneySchema, Password } from '../edge/schemas.ts'
import { buttonImages, connectButtons } from './parts.ts'
import type { AddedTo, Leave, PageDeps, PagePart, Visit } from './deps.ts'
import { formPage, goOn, withQuery } from './form-page.ts'
import { queryParam, required } from './page-routes.ts'
import { leadOn } from './lead-on.ts'
import { passwordLimit } from './account-page.ts'

/** `others`: the proofs that features offer. */
interface Shown {
  person: SignedInPerson
  asksPassword: boolean
  others: Array<{ part: NonNullable<PagePart['again']>; content: AddedTo<'reauthenticate'> }>
  connections: ConnectButton[]
}

/**
 * `GET` and `POST /auth/reauthenticate`: a signed-in user proves their identity again, by a second factor too if they
 * have one, and goes on to `return_to`. The proof is the password, a passkey of theirs, a connection, or without a
 * password a code by email. Each proof is accepted from this user only: no other name can be typed, and another user's
 * passkey or account elsewhere is refused. A remembered browser must give the second factor too. The second factor has
 * a page of its own. The session does not change until the factor is right. A user with none of these proofs uses the
 * sign-in page.
 */
export function reauthenticatePage(child: FastifyInstance, deps: PageDeps): void {
  const { authorize, browser, link } = deps
  const { accounts } = authorize

  const signIn = ({ journey: { query } }: Visit, prompt: Record<string, string> = {}): Leave =>
    goOn(withQuery(`${link('login')}${query}`, prompt))

  async function shownTo(visit: Visit): Promise<Shown | Leave> {
    const person = await browser.signedIn(visit.request)
    if (person === null) return signIn(visit)
    const { user } = person
    const { links, password: asksPassword } = await waysIn(user, accounts)
    const linked = new Set(links.map(({ connection }) => connection))
    const connections = (await connectButtons(visit.request, visit.journey, deps))
      .filter(({ id }) => linked.has(id))
      .map((button) => ({
        ...button,
        url: withQuery(`${link('connect')}/${button.id}${visit.journey.query}`, {
          prompt: 'login',
          session: person.session.sid
        })
      }))
    const others: Shown['others'] = []
    for (const { again: part } of deps.parts) {
      const content = (await part?.reauthenticate(person)) ?? null
      if (part !== undefined && content !== null) others.push({ part, content })
    }
    return asksPassword || others.length > 0 || connections.length > 0
      ? { person, asksPassword, others, connections }
      : signIn(visit, { prompt: 'login' })
  }

  formPage<'reauthenticate', Shown>(
    child,
    {
      name: 'reauthenticate',
      path: 'reauthenticate',
      summaries: { page: 'Page to prove again who is signed in', form: 'Prove it by a form' },
      errors: {
        form: { 400: 'invalid_grant', 429: { too_many_requests: 'rules `login`, `account` and `emailCode`' } }
      },
      what: {
        page:
          'The page on which a signed-in person proves again who they are. It goes on to `return_to`, a ' +
          'path of this origin. `app.authority.requireSession` and the account pages lead here. The ' +
          'username cannot be changed. The page takes a password or a passkey. A person who signs in ' +
          'through other providers gets their buttons. With `emailSignIn`, a person without a password can ' +
          'get a code by email. A proof of another person is refused. A person with none of these is led to ' +
          'the sign-in page with `prompt=login`. With `pages.loginUrl`, everyone is.',
        form:
          'Proves it by `current_password`, by `credential`, the answer of a passkey, or by ' +
          '`decision=email`, which sends the code and leads to `/auth/email-code`. After a password or a ' +
          'code, an account with a second factor is asked for it on its own page, also in a remembered ' +
          'browser. The session goes on under a new secret with these proofs.'
      },
      querystring: JourneySchema,
      body: Type.Object({
        current_password: Type.Optional(Password),
        credential: Type.Optional(Credential),
        decision: Type.Optional(Type.Literal('email'))
      }),
      images: buttonImages(deps),
      fields: ['current_password', 'credential'],
      passkeys: deps.parts.some(({ asksPasskey }) => asksPasskey !== undefined) ? { renewUrl: null } : undefined,
      leadsOn: true,
      open: shownTo,
      async submit(form, visit) {
        const {
          request,
          journey: { query },
          origin
        } = visit
        const shown = await shownTo(visit)
        if (typeof shown === 'function') return { limit: null, work: async () => shown }
        const {
          person: { user, session }
        } = shown
        // The page was shown to another user, or under a sign-in that has ended, so the page is shown again.
        if (queryParam(request, 'session') !== session.sid)
          return { limit: null, work: async () => goOn(`${link('reauthenticate')}${query}`) }
        const other = shown.others.find(({ part }) => part.takes(form))
        if (other !== undefined) return await other.part.submit(shown.person, form, visit)
        if (form.decision !== undefined || (form.credential ?? '') !== '')
          throw new OAuthError('invalid_request', 'The page does not ask for this proof.')
        if (!shown.asksPassword) return { limit: null, work: async () => goOn(`${link('reauthenticate')}${query}`) }
        const { current_password: password } = required(form, ['current_password'])
        return {
          limit: passwordLimit(user),
          async work({ leaves }) {
            await provePassword({ userId: user.id, user, sid: session.sid, password, origin }, accounts)
            leaves(user)
            return await renewSignIn(
              { user, by: 'password', methods: [passwordProof(accounts.clock.now())] },
              visit,
              deps
            )
          }
        }
      },
      async again(_form, refused, visit) {
        const shown = await shownTo(visit)
        if (typeof shown === 'function') throw refused
        return shown
      },
      content: ({ person: { user }, asksPassword, others, connections }, { journey: { query } }) => ({
        username: user.username,
        asksPassword,
        passkey: null,
        sendsCode: false,
        ...(Object.assign({}, ...others.map(({ content }) => content)) as AddedTo<'reauthenticate'>),
        connections,
        loginUrl: withQuery(`${link('login')}${query}`, { prompt: 'login' })
      }),
      carries: ({ person }) => ({ session: person.session.sid })
    },
    deps
  )
}

/**
 * Renews the session, or asks for the second factor. Leads to the sign-in page if the proof no longer holds. `isSame`:
 * a further check that the proof still holds.
 */
export async function renewSignIn(
  first: Pick<FirstFactor, 'user' | 'by' | 'methods'>,
  { request, journey }: Visit,
  deps: PageDeps,
  isSame: () => Promise<boolean> = async () => true
): Promise<Leave> {
  const { authorize, browser, link } = deps
  const begun = await beginSession(
    {
      ...first,
      clientId: null,
      async confirm() {
        const [user, same] = await Promise.all([firstFactorHolds(first, authorize.accounts), isSame()])
        return same ? user : null
      }
    },
    await browser.read(request),
    authorize
  )
  return begun === null
    ? goOn(`${link('login')}${journey.query}`)
    : leadOn(begun, { ...journey, nativeRequest: null }, request, deps)
}
