import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { beginSession } from '../../accounts/begin-session.ts'
import { firstFactorHolds } from '../../accounts/first-factor.ts'
import type { FirstFactor } from '../../accounts/slots.ts'
import { provePassword } from '../../accounts/fresh-sign-in.ts'
import { passkeysIn } from '../../accounts/factors/deps.ts'
import { waysIn } from '../../accounts/ways-in.ts'
import { OAuthError } from '../../errors.ts'
import type { ConnectButton, PasskeyForm } from '../../pages/common-model.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { passwordProof } from '../../protocol/authentication.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import { Credential, JourneySchema, Password } from '../edge/schemas.ts'
import { buttonImages, connectButtons } from './parts.ts'
import type { AddedTo, Leave, PageDeps, PagePart, Submission, Visit } from './deps.ts'
import { formPage, goOn, withQuery } from './form-page.ts'
import { queryParam, required } from './page-routes.ts'
import { leadOn } from './lead-on.ts'
import { passwordLimit } from './account-page.ts'
import { passkeyFormOf, passkeysOf } from './passkeys.ts'

/**
 * `found`: with the passkeys alone that can be asked for; `null`: there are none. `others`: the ways of features.
 */
interface Shown {
  person: SignedInPerson
  asksPassword: boolean
  found: UserFactors | null
  others: Array<{ part: NonNullable<PagePart['again']>; content: AddedTo<'reauthenticate'> }>
  connections: ConnectButton[]
}

/**
 * `GET` and `POST /auth/reauthenticate`: a signed-in user proves their identity again, by a second factor too if they
 * have one, and goes on to `return_to`. The proof is the password, a passkey of theirs, a connection, or without a
 * password a code by email. Each is good for this user alone: no other name can be typed, and another user's passkey or
 * account elsewhere is refused. A remembered browser counts for nothing. The second factor is asked for on its own
 * page; until it is right, the session stays as it is. A user with none of these uses the sign-in page.
 */
export function reauthenticatePage(child: FastifyInstance, deps: PageDeps): void {
  const { authorize, browser, link } = deps
  const { accounts } = authorize
  const on = passkeysOf(deps)

  const signIn = ({ journey: { query } }: Visit, prompt: Record<string, string> = {}): Leave =>
    goOn(withQuery(`${link('login')}${query}`, prompt))

  async function shownTo(visit: Visit): Promise<Shown | Leave> {
    const person = await browser.signedIn(visit.request)
    if (person === null) return signIn(visit)
    const { user } = person
    const all = on === null ? null : await on.factors.store.findFactors(user.id)
    const { links, others: ways, password: asksPassword } = await waysIn(user, accounts)
    const passkeys = all === null || on === null || !ways.includes('passkey') ? [] : passkeysIn(all, on.factors)
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
    const shown = {
      person,
      asksPassword,
      found: all === null || passkeys.length === 0 ? null : { ...all, passkeys },
      others: deps.parts.flatMap(({ again: part }) => {
        const content = part?.reauthenticate(user) ?? null
        return part === undefined || content === null ? [] : [{ part, content }]
      }),
      connections
    }
    return asksPassword || shown.found !== null || shown.others.length > 0 || connections.length > 0
      ? shown
      : signIn(visit, { prompt: 'login' })
  }

  /** Renews the session, or has the second factor asked for. `isSame`: checks that the proof still holds. */
  async function begin(
    first: Pick<FirstFactor, 'user' | 'by' | 'methods'>,
    { request, journey }: Visit,
    isSame: () => Promise<boolean> = async () => true
  ): Promise<Leave> {
    const begun = await beginSession(
      {
        ...first,
        clientId: null,
        async confirm() {
          const [user, same] = await Promise.all([firstFactorHolds(first, accounts), isSame()])
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

  function passkeyOf(user: User, sid: string, found: UserFactors | null): PasskeyForm | null {
    const options =
      on === null || found === null
        ? null
        : on.passkeys.optionsFor({ user, found, purpose: 'reauthentication', sid }, accounts)
    return options === null ? null : passkeyFormOf(options, deps)
  }

  function byPasskey(credential: string, { person: { user, session }, found }: Shown, visit: Visit): Submission<Shown> {
    if (on === null || found === null) throw new OAuthError('invalid_request', 'There is no passkey to be asked for.')
    const { locale, origin } = visit
    return {
      limit: 'failures',
      async work() {
        const proof = await on.passkeys.prove(
          { credential, user, found, purpose: 'reauthentication', sid: session.sid, clientId: null, locale, origin },
          { ...accounts, factors: on.factors }
        )
        return await begin(
          { user, by: 'passkey', methods: [proof] },
          visit,
          async () => (await on.factors.store.findFactors(user.id)).deviceEpoch === found.deviceEpoch
        )
      }
    }
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
      passkeys: on === null ? undefined : { renewUrl: null },
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
        // The page was shown to another user, or under a sign-in that has ended, so it is shown again.
        if (queryParam(request, 'session') !== session.sid)
          return { limit: null, work: async () => goOn(`${link('reauthenticate')}${query}`) }
        if (form.decision !== undefined) {
          const other = shown.others.find(({ part }) => part.decision === form.decision)
          if (other === undefined) throw new OAuthError('invalid_request', 'No code is sent here.')
          return await other.part.submit(user, visit)
        }
        if ((form.credential ?? '') !== '') return byPasskey(form.credential ?? '', shown, visit)
        if (!shown.asksPassword) return { limit: null, work: async () => goOn(`${link('reauthenticate')}${query}`) }
        const { current_password: password } = required(form, ['current_password'])
        return {
          limit: passwordLimit(user),
          async work({ leaves }) {
            await provePassword({ user, sid: session.sid, password, origin }, accounts)
            leaves(user)
            return await begin({ user, by: 'password', methods: [passwordProof(accounts.clock.now())] }, visit)
          }
        }
      },
      async again(_form, refused, visit) {
        const shown = await shownTo(visit)
        if (typeof shown === 'function') throw refused
        return shown
      },
      content: ({ person: { user, session }, asksPassword, found, others, connections }, { journey: { query } }) => ({
        username: user.username,
        asksPassword,
        passkey: passkeyOf(user, session.sid, found),
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
