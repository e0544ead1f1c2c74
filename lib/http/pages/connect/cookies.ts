import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FederatedPerson } from '../../../accounts/federated-account.ts'
import type { AssertionStore } from '../../../ports/assertion-store.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Sealer } from '../../../ports/sealer.ts'
import type { Connection, UpstreamFlow } from '../../../ports/upstream.ts'
import { digest } from '../../../protocol/digest.ts'
import { partitionOf } from '../../../protocol/partition.ts'
import { cookieValues } from '../../edge/cookie-header.ts'
import { cookieJar, type CookieOwner } from '../../edge/cookie-jar.ts'

/** A sign-in elsewhere that has begun in this browser. */
export interface ConnectFlow extends UpstreamFlow {
  connection: string
  /** Who links it, and by which session; `null`: somebody signs in. */
  linkTo: { userId: string; sid: string } | null
  /**
   * Who proves anew that it is them, and in which session: nobody else is signed in by it. `null`: whoever signs in
   * there.
   */
  onlyAs: { userId: string; sid: string } | null
  /** Whether a page of ours led to it, and not a link or a form of another site. */
  ours: boolean
  /** The journey's query, `''` or `?…`. */
  query: string
  /** Whether a fresh sign-in was asked for, which the journey may not say. */
  fresh: boolean
  /**
   * Since when the person must have signed in there, in milliseconds since the epoch; `null`: that does not matter, or
   * can't be proved.
   */
  authenticatedSince: number | null
}

/** What came to the callback by POST, until the browser asks again with its cookies. */
interface ConnectAnswer {
  startedAt: number
  body: string
}

/** Somebody who has signed in elsewhere and has to do something here first. */
export interface PendingConnect {
  /** Another one for each proof, which is good once. */
  id: string
  startedAt: number
  connection: string
  person: FederatedPerson
  /** The account to link it to; `null`: there is to be one, which needs more than is known. */
  userId: string | null
  query: string
  /** Whether a later sign-in of the user leads to the question by itself. */
  offered: boolean
}

interface Kinds {
  flow: ConnectFlow
  answer: ConnectAnswer
  link: PendingConnect
}
type Kind = keyof Kinds

const LIFETIME_MS = { flow: 600_000, answer: 60_000, link: 600_000 } as const

/** Of a profile, a cookie that is too long leaves out the picture first, and then the longest. */
function withLess({ person, ...pending }: PendingConnect): PendingConnect {
  const size = ([name, value]: [string, unknown]): number =>
    name === 'picture' ? Infinity : JSON.stringify(value).length
  const fields = Object.entries(person.profile).toSorted((a, b) => size(b) - size(a))
  return { ...pending, person: { ...person, profile: Object.fromEntries(fields.slice(1)) } }
}

/**
 * The cookies of sign-ins elsewhere. Nothing of those is kept on the server. Each is sealed for its one purpose, `Lax`,
 * and that of a flow is named by it, so that sign-ins in several tabs don't meet.
 */
interface ConnectCookies {
  /** `null` where there is none, more than one, or none that this service made for this purpose within its lifetime. */
  read<K extends Kind>(request: FastifyRequest, kind: K, state: string): Kinds[K] | null
  /** @throws OAuthError `invalid_request` where it does not fit */
  set<K extends 'flow' | 'answer'>(reply: FastifyReply, kind: K, state: string, content: Kinds[K]): void
  /**
   * Sets the cookie `link`, with as much of the profile as fits.
   *
   * @throws OAuthError `invalid_request` where it does not fit without any
   */
  setProof(reply: FastifyReply, pending: PendingConnect): void
  clear(reply: FastifyReply, kind: Kind, state: string): void
  /** Whether no copy of the cookie was used before: that of the flow with this state, or of the proof with this id. */
  useUp(kind: 'flow' | 'link', id: string): Promise<boolean>
}

export interface ConnectDeps {
  connections: ReadonlyMap<string, Connection>
  cookies: ConnectCookies
}

export function connectCookies(
  owner: CookieOwner,
  { sealer, assertions, clock }: { sealer: Sealer; assertions: AssertionStore; clock: Clock }
): ConnectCookies {
  const jar = cookieJar(owner)
  const nameBy = (kind: Kind, state: string): string => {
    // An answer has one name, so that other sites can't have a browser keep many. Answers of two tabs that meet, within
    // the moment until the browser asks again, cost one of them a new start.
    return kind === 'flow' ? `${jar.nameOf(kind)}_${digest(state).slice(0, 8)}` : jar.nameOf(kind)
  }
  const context = (kind: Kind): string => `connect ${kind} ${owner.issuer} ${owner.prefix}`

  function open<K extends Kind>(kind: K, value: string): Kinds[K] | null {
    const plain = sealer.open(value.slice(value.indexOf('.') + 1), context(kind))
    if (plain === null) return null
    const content = JSON.parse(plain) as Kinds[K]
    return content.startedAt + LIFETIME_MS[kind] > clock.now() ? content : null
  }

  /**
   * In front of the sealed text stands what the jar sees without opening it: the time of a flow, by which the oldest
   * goes, or the user whose account a proof is for.
   */
  const markOf = (content: Kinds[Kind]): string => {
    if ('codeVerifier' in content) return content.startedAt.toString(36)
    return 'userId' in content && content.userId !== null ? partitionOf(content.userId) : ''
  }
  const valueOf = <K extends Kind>(kind: K, content: Kinds[K]): string =>
    `${markOf(content)}.${sealer.seal(JSON.stringify(content), context(kind))}`

  return {
    read(request, kind, state) {
      const values = cookieValues(request, nameBy(kind, state))
      // Two of one name: one of them was planted.
      return values.length === 1 ? open(kind, values[0] ?? '') : null
    },
    set(reply, kind, state, content) {
      jar.write(reply, nameBy(kind, state), valueOf(kind, content), LIFETIME_MS[kind] / 1000)
    },
    setProof(reply, pending) {
      const name = jar.nameOf('link')
      let left = pending
      let value = valueOf('link', left)
      while (!jar.fits(reply, name, value) && Object.keys(left.person.profile).length > 0) {
        left = withLess(left)
        value = valueOf('link', left)
      }
      jar.write(reply, name, value, LIFETIME_MS.link / 1000)
    },
    clear(reply, kind, state) {
      jar.clear(reply, nameBy(kind, state))
    },
    useUp: async (kind, id) =>
      (await assertions.claim(digest(`${context(kind)} ${id}`), clock.now() + LIFETIME_MS[kind])) === 'fresh'
  }
}
