import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { FederatedPerson } from '../person.ts'
import { signUpCheck } from '../user.ts'
import { federatedSignIn, linkToAccount } from '../sign-in.ts'
import { freshnessIn, mayChange } from '../../../accounts/fresh-sign-in.ts'
import { type OAuthError, UpstreamError } from '../../../errors.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import { localeOf, originOf } from '../../../http/edge/request-origin.ts'
import { attempt, formError } from '../../../http/pages/errors.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import { formOf, formPost, pageGet } from '../../../http/pages/page-routes.ts'
import { leadOn } from '../../../http/pages/lead-on.ts'
import { missingFields } from '../../../http/pages/profile-fields.ts'
import type { ConnectPageDeps } from './begin.ts'
import { failConnect } from './failure.ts'
import { confirmPresses, type SignedUp, type Waiting } from './confirm-presses.ts'

/**
 * `GET` and `POST /auth/connect/confirm`: completes the sign-in of a person who has signed in at another provider. If
 * an account has their address, they sign in as its user in any way, and link the identity by a button. If a new
 * account needs more fields, they fill them in. A sealed cookie contains the proved identity.
 */
export function connectConfirm(child: FastifyInstance, deps: ConnectPageDeps): void {
  const {
    connect: { connections, cookies },
    journeys,
    link,
    path
  } = deps
  const place = `${path('connect')}/confirm`

  async function wait(request: FastifyRequest, reply: FastifyReply): Promise<Waiting | null> {
    const pending = cookies.read(request, 'link', '')
    const connection = pending === null ? undefined : connections.get(pending.connection)
    return pending === null || connection === undefined
      ? null
      : { pending, connection, journey: await journeys.from(pending.query), request, reply }
  }
  const toSignIn = goOn(link('login'))
  const { finish, pressedBefore } = confirmPresses(deps)
  const fail = async ({ pending, request, reply }: Waiting, error: unknown): Promise<FastifyReply> => {
    if (!(error instanceof UpstreamError)) throw error
    cookies.clear(reply, 'link', '')
    return await failConnect(error, { ...pending, counted: true }, request, reply, deps)
  }

  child.get(
    place,
    pageGet(
      { summary: 'Steps that a sign-in through a connection still needs' },
      {
        what:
          'Completes a sign-in at a provider if an account has the address. It says how to sign in as the ' +
          'owner, and then asks whether to link the two. It also asks a new person for fields that the ' +
          'provider did not send. If no sign-in is waiting, it leads to the sign-in page.'
      }
    ),
    async (request, reply) => {
      const waiting = await wait(request, reply)
      if (waiting === null) return await toSignIn(reply)
      return waiting.pending.userId === null
        ? await askForFields(waiting, null, deps)
        : await askToLink(waiting, await ownerIn(waiting, deps), deps)
    }
  )

  child.post(
    place,
    formPost(
      {
        summary: 'Finish a sign-in through a connection',
        body: Type.Object({}, { additionalProperties: true })
      },
      {
        errors: { 429: 'too_many_requests' },
        what:
          'Links only the proved identity, to the account with its address, in a session of the owner of ' +
          'the last five minutes. All other sessions and tokens of the account end, because another person ' +
          'may have signed up with the address. If the owner has not signed in, the answer is the page.'
      }
    ),
    async (request, reply) => {
      const waiting = await wait(request, reply)
      if (waiting === null) return await pressedBefore(request, reply)
      try {
        if (waiting.pending.userId !== null) {
          const linked = await finish(
            waiting,
            async (useUp) => await linkNow(waiting, useUp, deps).catch(asUpstreamError)
          )
          if (linked === 'sign_in_first') return await askToLink(waiting, null, deps)
          if (linked instanceof UpstreamError) throw linked
          cookies.clear(reply, 'link', '')
          return await goOn(waiting.journey.next)(reply)
        }
        const done = await attempt(
          async () =>
            await finish(
              waiting,
              async (useUp) =>
                await deps.limiter.reserve(
                  request,
                  reply,
                  signUpCheck(waiting.connection, false),
                  async () => await signUp(waiting, useUp, deps).catch(asUpstreamError)
                )
            )
        )
        if ('refused' in done) return await askForFields(waiting, done.refused, deps)
        if (done.done instanceof UpstreamError) throw done.done
        cookies.clear(reply, 'link', '')
        return await leadOn(done.done, { ...waiting.journey, nativeRequest: null }, request, deps)(reply)
      } catch (error) {
        return await fail(waiting, error)
      }
    }
  )
}

/** Returns the owner of the account, if they are signed in here and their sign-in is fresh. */
async function ownerIn(
  { pending, request }: Waiting,
  { authorize: { accounts }, browser }: ConnectPageDeps
): Promise<SignedInPerson | null> {
  const person = await browser.signedIn(request)
  if (person === null || person.user.id !== pending.userId) return null
  return (await mayChange('link', freshnessIn(person, originOf(request)), accounts)) ? person : null
}

async function linkNow(
  waiting: Waiting,
  useUp: () => Promise<void>,
  deps: ConnectPageDeps
): Promise<'linked' | 'sign_in_first' | UpstreamError> {
  const { pending, connection, request, reply } = waiting
  const owner = await ownerIn(waiting, deps)
  if (owner === null) return 'sign_in_first'
  await useUp()
  await linkToAccount(
    {
      connection,
      person: pending.person,
      user: owner.user,
      stays: deps.browser.stay(request, reply, owner.session.sid),
      contested: 'by_sign_in',
      origin: originOf(request),
      locale: localeOf(request)
    },
    deps.authorize.accounts
  )
  return 'linked'
}

/**
 * The person's name and address at the provider, so that they recognize the identity. Without an address, shows the id
 * there.
 */
function identityOf({ subject, email = subject, profile: { name } }: FederatedPerson): string {
  return typeof name === 'string' && name !== '' && name !== email ? `${name} (${email})` : email
}

async function askToLink(
  { pending: { person, userId }, connection: { name }, journey, request, reply }: Waiting,
  owner: SignedInPerson | null,
  { link, offers, pages }: ConnectPageDeps
): Promise<FastifyReply> {
  const { clientName, brand, uiLocales, query } = journey
  const place = `${link('connect')}/confirm`
  if (owner !== null && owner.user.id === userId)
    return await pages.send(
      request,
      reply,
      'connect_link',
      {
        action: place,
        error: null,
        name,
        username: owner.user.username,
        identity: identityOf(person),
        skipUrl: journey.next
      },
      { clientName, brand, uiLocales, formActions: journey.formActions }
    )
  const signInUrl = withQuery(link('login'), {
    return_to: place,
    prompt: 'login',
    login_hint: person.email ?? '',
    ...(uiLocales.length === 0 ? {} : { ui_locales: uiLocales.join(' ') })
  })
  return await pages.send(
    request,
    reply,
    'connect_confirm',
    {
      name,
      email: person.email ?? '',
      signInUrl,
      forgotUrl: offers.reset ? `${link('forgotPassword')}${query}` : null
    },
    { clientName, brand, uiLocales }
  )
}

async function askForFields(
  {
    pending: { person },
    connection: { name },
    journey: { clientName, brand, uiLocales, query, formActions },
    request,
    reply
  }: Waiting,
  refused: OAuthError | null,
  { link, pages, registration }: ConnectPageDeps
): Promise<FastifyReply> {
  const form = missingFields(registration, person.profile)
  const error = refused === null ? null : formError(refused, request, reply, { pages, fields: form.names, uiLocales })
  return await pages.send(
    request,
    reply,
    'connect_finish',
    {
      action: `${link('connect')}/confirm${query}`,
      error,
      name,
      email: person.email ?? null,
      fields: form.show(refused === null ? null : formOf(request), pages.messagesFor(request, { uiLocales })),
      loginUrl: `${link('login')}${query}`
    },
    { clientName, brand, uiLocales, formActions, ...(refused === null ? {} : { statusCode: refused.statusCode }) }
  )
}

/** Returns an `UpstreamError`, because no other input in the form can correct it. Throws any other error. */
function asUpstreamError(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  throw error
}

async function signUp(waiting: Waiting, useUp: () => Promise<void>, deps: ConnectPageDeps): Promise<SignedUp> {
  const {
    pending: { person },
    connection,
    journey,
    request
  } = waiting
  const {
    authorize: { accounts, browserSessions },
    browser,
    link,
    registration
  } = deps
  const given = { ...person.profile, ...missingFields(registration, person.profile).read(formOf(request)) }
  await useUp()
  const outcome = await federatedSignIn(
    {
      connection,
      person: { ...person, profile: given },
      // An account with this address may have been made meanwhile. Then only its owner may link the identity.
      authoritative: false,
      browser: await browser.read(request),
      clientId: new URLSearchParams(journey.query.slice(1)).get('client_id'),
      locale: localeOf(request),
      // The rate limit of the form has counted the sign-up already.
      reserveSignUp: async () => {},
      complete: (profile) => profile
    },
    { accounts, browserSessions }
  )
  if (outcome.to === 'session') return outcome.begun
  throw new UpstreamError('other_way', `An account has come to have the address meanwhile; ${link('login')} leads on.`)
}
