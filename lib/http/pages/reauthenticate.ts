import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { beginSession } from '../../accounts/begin-session.ts'
import { isEnforced } from '../../accounts/enforced.ts'
import { stepHolds } from '../../accounts/factors/second-step.ts'
import { provePassword } from '../../accounts/fresh-sign-in.ts'
import { listLinks } from '../../accounts/identities.ts'
import type { ConnectButton } from '../../pages/model.ts'
import { passwordProof } from '../../protocol/authentication.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import { JourneySchema, Password } from '../edge/schemas.ts'
import { buttonImages, connectButtons } from './connect/buttons.ts'
import type { PageDeps } from './deps.ts'
import { formPage, goOn, type Leave, type Visit, withQuery } from './form-page.ts'
import { queryParam, required } from './forms.ts'
import { leadOn } from './lead-on.ts'
import { passwordLimit } from './own-account/account-page.ts'

interface Shown { person: SignedInPerson, asksPassword: boolean, connections: ConnectButton[] }

/**
 * `GET` and `POST /auth/reauthenticate`: who is signed in proves anew that it is them, with all that the account takes, and goes on where
 * `return_to` says. No other name can be typed, and a browser that is remembered counts for nothing. The second factor is asked for on its
 * own page; until it was right, the session of now stays what it is. Who signs in by neither password nor connection does so on the sign-in page.
 */
export function reauthenticatePage (child: FastifyInstance, deps: PageDeps): void {
  const { authorize, browser, link } = deps
  const { accounts } = authorize

  const signIn = ({ journey: { query } }: Visit, prompt: Record<string, string> = {}): Leave => goOn(withQuery(`${link('login')}${query}`, prompt))

  async function shownTo (visit: Visit): Promise<Shown | Leave> {
    const person = await browser.signedIn(visit.request)
    if (person === null) return signIn(visit)
    const { user } = person
    const asksPassword = user.passwordHash !== null && !isEnforced(user, accounts.enforcedDomains)
    const linked = deps.connect === null ? new Set<string>() : new Set((await listLinks(user.id, accounts)).map(({ connection }) => connection))
    const connections = (await connectButtons(visit.request, visit.journey, deps))
      .filter(({ id }) => linked.has(id))
      .map((button) => ({ ...button, url: withQuery(`${link('connect')}/${button.id}${visit.journey.query}`, { prompt: 'login' }) }))
    return asksPassword || connections.length > 0 ? { person, asksPassword, connections } : signIn(visit, { prompt: 'login' })
  }

  formPage<'reauthenticate', Shown>(child, {
    name: 'reauthenticate',
    path: 'reauthenticate',
    summaries: { page: 'Page to prove again who is signed in', form: 'Prove it by a form' },
    querystring: JourneySchema,
    body: Type.Object({ current_password: Password }),
    images: buttonImages(deps),
    fields: ['current_password'],
    leadsOn: true,
    open: shownTo,
    async submit (form, visit) {
      const { request, journey, origin } = visit
      const shown = await shownTo(visit)
      if (typeof shown === 'function') return { limit: null, work: async () => shown }
      const { person: { user, session } } = shown
      // The page was shown to somebody else, or under a sign-in that has ended: it is shown anew.
      if (queryParam(request, 'session') !== session.sid || !shown.asksPassword) return { limit: null, work: async () => goOn(`${link('reauthenticate')}${journey.query}`) }
      const { current_password: password } = required(form, ['current_password'])
      return {
        limit: passwordLimit(user),
        async work ({ leaves }) {
          await provePassword({ user, sid: session.sid, password, origin }, accounts)
          leaves(user)
          const step = { user, by: 'password' as const, methods: [passwordProof(accounts.clock.now())], clientId: null }
          const begun = await beginSession({ ...step, confirm: async () => await stepHolds({ ...step, scope: '' }, accounts) }, await browser.read(request), authorize)
          return begun === null ? signIn(visit) : leadOn(begun, { ...journey, nativeRequest: null }, request, deps)
        }
      }
    },
    async again (_form, refused, visit) {
      const shown = await shownTo(visit)
      if (typeof shown === 'function') throw refused
      return shown
    },
    content: ({ person: { user }, asksPassword, connections }, { journey: { query } }) => ({
      username: user.username,
      asksPassword,
      connections,
      loginUrl: withQuery(`${link('login')}${query}`, { prompt: 'login' })
    }),
    carries: ({ person }) => ({ session: person.session.sid })
  }, deps)
}
