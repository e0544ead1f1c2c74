import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FederatedPerson } from '../person.ts'
import type { FederatedArrival } from '../user.ts'
import type { AssertionStore } from '../../../ports/state.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Connection, UpstreamFlow } from '../../../ports/upstream.ts'
import { COOKIES } from '../../../protocol/cookies.ts'
import { digest, partitionOf } from '../../../protocol/digest.ts'
import { flowMark } from '../../../http/edge/cookie-jar.ts'
import type { SealedCookies } from '../../../http/edge/sealed-cookies.ts'

/** A sign-in at another provider that has begun in this browser. */
export interface ConnectFlow extends UpstreamFlow {
  connection: string
  /** The user who links the identity, and their session. `null`: the flow is a sign-in. */
  linkTo: { userId: string; sid: string } | null
  /**
   * The user who proves their identity again, and their session. The flow may sign in no other user. `null`: any user.
   */
  onlyAs: { userId: string; sid: string } | null
  /** The token of the invitation that the person accepts; `null`: none. */
  invitation: string | null
  /** True if a page of this service began the flow, and not a link or a form of another site. */
  ours: boolean
  /** The query of the journey: `''`, or a text that begins with `?`. */
  query: string
  /** True if a fresh sign-in is required: for `prompt=login`, and for `max_age` if a user was signed in here. */
  fresh: boolean
  /**
   * The earliest time of the sign-in at the provider, in milliseconds since the epoch; `null`: it does not matter, or
   * can't be proved.
   */
  authenticatedSince: number | null
}

/** The posted answer of a provider. It is kept until the browser sends the GET with its cookies. */
interface ConnectAnswer {
  startedAt: number
  body: string
}

/** A person who has signed in at another provider and has to complete the sign-in here. */
export interface PendingConnect {
  /** The id of the proof. A proof can be used only once. */
  id: string
  startedAt: number
  connection: string
  person: FederatedPerson
  /** The account to link the identity to. `null`: a new account, for which more fields are needed. */
  userId: string | null
  query: string
  /** True if a later sign-in of the user in this browser leads to the page that asks about the link. */
  offered: boolean
}

interface Kinds {
  flow: ConnectFlow
  answer: ConnectAnswer
  link: PendingConnect
}
type Kind = keyof Kinds

/** Returns a shorter content of the cookie, without one field of the profile: the picture, or else the longest. */
function withLess({ person, ...pending }: PendingConnect): PendingConnect {
  const size = ([name, value]: [string, unknown]): number =>
    name === 'picture' ? Infinity : JSON.stringify(value).length
  const fields = Object.entries(person.profile).toSorted((a, b) => size(b) - size(a))
  return { ...pending, person: { ...person, profile: Object.fromEntries(fields.slice(1)) } }
}

/**
 * The cookies of sign-ins at other providers. Each flow has a cookie with a name of its own, so that sign-ins in
 * several tabs do not mix.
 */
interface ConnectCookies {
  /**
   * Returns the content of the cookie. `null`: there is none, there are several, its query is gone, or it is invalid or
   * has expired.
   */
  read<K extends Kind>(request: FastifyRequest, kind: K, state: string): Kinds[K] | null
  /** @throws OAuthError `invalid_request` if the content does not fit into a cookie */
  set<K extends 'flow' | 'answer'>(reply: FastifyReply, kind: K, state: string, content: Kinds[K]): void
  /**
   * Sets the cookie `link`, with as much of the profile as fits.
   *
   * @throws OAuthError `invalid_request` if the rest does not fit even without a profile
   */
  setProof(reply: FastifyReply, pending: PendingConnect): void
  clear(reply: FastifyReply, kind: Kind, state: string): void
  /** Resolves to true if no copy of the cookie was used before. `id`: the state of a flow, or the id of a proof. */
  useUp(kind: Once, id: string): Promise<boolean>
}

/** The kinds of cookie that can be used only once: `once: true` in `COOKIES`. */
type Once = { [K in Kind]: (typeof COOKIES)[K]['once'] extends true ? K : never }[Kind]

export interface ConnectDeps {
  connections: ReadonlyMap<string, Connection>
  complete: FederatedArrival['complete']
  cookies: ConnectCookies
}

export function connectCookies(
  service: string,
  { sealed, assertions, clock }: { sealed: SealedCookies; assertions: AssertionStore; clock: Clock }
): ConnectCookies {
  // All posted answers share one cookie name, so that another site can't fill the browser with cookies. If two tabs get
  // their answers in the same moment, one of them must start again.
  const idOf = (kind: Kind, state: string): string => (kind === 'flow' ? digest(state).slice(0, 8) : '')
  const lifetimeMs = (kind: Kind): number => COOKIES[kind].seconds * 1000
  const proofOf = ({ query, ...content }: PendingConnect) => ({
    mark: content.userId === null ? '' : partitionOf(content.userId),
    query,
    content,
    yields: !content.offered
  })

  return {
    read<K extends Kind>(request: FastifyRequest, kind: K, state: string): Kinds[K] | null {
      const found = sealed.read(request, kind, idOf(kind, state))
      if (found === null || found.query === null) return null
      const content = { ...(found.content as Kinds[K]), query: found.query }
      return content.startedAt + lifetimeMs(kind) > clock.now() ? content : null
    },
    set(reply, kind, state, given) {
      const { query = '', ...content }: { query?: string } & object = given
      const isFlow = 'codeVerifier' in given
      sealed.set(reply, kind, {
        id: idOf(kind, state),
        query,
        content,
        ...(isFlow ? { mark: flowMark(given.ours, given.startedAt), yields: !given.ours } : {})
      })
    },
    setProof(reply, pending) {
      let left = pending
      while (!sealed.fits(reply, 'link', proofOf(left)) && Object.keys(left.person.profile).length > 0)
        left = withLess(left)
      sealed.set(reply, 'link', proofOf(left))
    },
    clear(reply, kind, state) {
      sealed.clear(reply, kind, idOf(kind, state))
    },
    useUp: async (kind, id) =>
      (await assertions.claim(
        digest(JSON.stringify(['cookie', kind, service, id])),
        clock.now() + lifetimeMs(kind)
      )) === 'fresh'
  }
}
