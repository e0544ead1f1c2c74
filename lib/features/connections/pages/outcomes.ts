import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccountsDeps } from '../../../accounts/deps.ts'
import { type FederatedPerson, personOf } from '../person.ts'
import { federatedSignIn, linkToAccount, tellHost, acceptByConnection } from '../sign-in.ts'
import { OAuthError, UpstreamError } from '../../../errors.ts'
import type { Connection, UpstreamResult } from '../../../ports/upstream.ts'
import { localeOf, originOf } from '../../../http/edge/request-origin.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import type { Leave } from '../../../http/pages/deps.ts'
import { leadOn, signInBrowser } from '../../../http/pages/lead-on.ts'
import { type ConnectPageDeps, sendAway } from './begin.ts'
import type { ConnectFlow } from './cookies.ts'
import { startUrl } from './failure.ts'

/** A checked answer of a provider. */
interface Answered {
  connection: Connection
  result: UpstreamResult
  flow: ConnectFlow
}

/** Converts a checked answer to the person that the use cases take. */
const personIn = ({ connection, result, flow }: Answered, { clock }: Pick<AccountsDeps, 'clock'>): FederatedPerson =>
  personOf(result, connection, { now: clock.now(), askedFresh: flow.fresh })

const anotherUser = (): UpstreamError =>
  new UpstreamError('mismatch', 'Another user is signed in than the one who began this.')

/** Signs the person in, or leads to the step that they must take first. */
export async function signInByAnswer(
  answered: Answered,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ConnectPageDeps
): Promise<Leave> {
  const {
    authorize: { accounts, browserSessions },
    connect: { complete, cookies },
    journeys,
    link
  } = deps
  const { connection, result, flow } = answered
  const journey = await journeys.from(flow.query)
  // Checks only the session here. `federatedSignIn` checks the user (`only`) later, after the lookup of the identity.
  if (flow.onlyAs !== null && (await deps.browser.signedIn(request))?.session.sid !== flow.onlyAs.sid)
    throw anotherUser()
  const person = personIn(answered, accounts)
  const outcome = await federatedSignIn(
    {
      connection,
      person,
      authoritative: result.assertion.emailAuthoritative,
      browser: await signInBrowser(request, { asksAll: flow.fresh || journey.asksAll }, deps),
      clientId: new URLSearchParams(flow.query.slice(1)).get('client_id'),
      locale: localeOf(request),
      only: flow.onlyAs?.userId,
      reserveSignUp: async (check) => {
        await deps.limiter.reserve(request, reply, check, async () => {})
      },
      complete
    },
    { accounts, browserSessions }
  )
  if (outcome.to === 'session') {
    const { begun, isNew } = outcome
    // If a second factor is still to come, `onSignIn` is never called for this sign-in: the user is not signed in yet,
    // and nothing keeps the provider's tokens until then.
    if ('session' in begun)
      tellHost(connection, { user: begun.user, claims: result.claims, tokens: result.tokens, isNew }, accounts)
    // `nativeRequest: null`, because a native app gets its code only from a hosted page, and this route shows none.
    if (journey.clientName === null || 'ticket' in begun)
      return leadOn(begun, { ...journey, nativeRequest: null }, request, deps)
    const { clientName } = journey
    // A page instead of a redirect: the browser may have come by a form of the provider. The provider's `form-action`
    // holds for all following redirects, and lists our origin at most, not the client's.
    return async (reply) => {
      deps.browser.setCookie(reply, begun.cookie)
      await deps.browser.makeKnown(reply, begun.user)
      return await sendAway(journey.next, { name: clientName }, journey, request, reply, deps)
    }
  }
  return async (reply: FastifyReply) => {
    cookies.setProof(reply, {
      id: accounts.random.id(),
      startedAt: accounts.clock.now(),
      connection: connection.id,
      // Keeps only the name of the profile, because only a new account needs the rest, and the cookie must stay small.
      person: outcome.to === 'confirm' ? { ...person, profile: { name: person.profile['name'] } } : person,
      userId: outcome.to === 'confirm' ? outcome.userId : null,
      query: flow.query,
      offered: flow.ours
    })
    return await goOn(`${link('connect')}/confirm`)(reply)
  }
}

/** Links the identity, if the user who began the flow is signed in, in the same session. */
export async function linkIdentity(
  { linkTo, ...answered }: Answered & { linkTo: NonNullable<ConnectFlow['linkTo']> },
  request: FastifyRequest,
  reply: FastifyReply,
  { authorize: { accounts }, browser, journeys }: ConnectPageDeps
): Promise<Leave> {
  const signedIn = await browser.signedIn(request)
  if (signedIn === null || signedIn.user.id !== linkTo.userId || signedIn.session.sid !== linkTo.sid)
    throw anotherUser()
  await linkToAccount(
    {
      connection: answered.connection,
      person: personIn(answered, accounts),
      user: signedIn.user,
      stays: browser.stay(request, reply, linkTo.sid),
      contested: null,
      origin: originOf(request),
      locale: localeOf(request)
    },
    accounts
  )
  return goOn((await journeys.from(answered.flow.query)).next)
}

/** Accepts the invitation with the identity. Signs nobody in. The page of the invitation shows the result. */
export async function acceptInvitation(
  { invitation, ...answered }: Answered & { invitation: string },
  request: FastifyRequest,
  deps: ConnectPageDeps
): Promise<Leave> {
  const {
    authorize: { accounts },
    journeys,
    waiting
  } = deps
  const { flow } = answered
  const journey = await journeys.from(flow.query)
  try {
    const { username } = await acceptByConnection(
      {
        token: invitation,
        connection: answered.connection,
        person: personIn(answered, accounts),
        origin: originOf(request),
        locale: localeOf(request)
      },
      accounts
    )
    return async (reply) => {
      waiting.set(reply, journey, { kind: 'accepted', name: username })
      return await goOn(withQuery(`${deps.link('acceptInvitation')}${journey.query}`, { done: 'accepted' }))(reply)
    }
  } catch (error) {
    // The page of the invitation shows why the invitation can't be accepted.
    if (error instanceof OAuthError && ['conflict', 'invalid_token'].includes(error.error))
      return goOn(startUrl({ query: flow.query, invitation }, deps))
    throw error
  }
}
