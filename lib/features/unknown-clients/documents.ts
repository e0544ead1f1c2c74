/** Clients whose id is the URL of a document about them. @see draft-ietf-oauth-client-id-metadata-document */
import { OAuthError } from '../../errors.ts'
import type { ClientLookup, ClientSource, UnknownClient } from '../../ports/client-store.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Advise } from '../../ports/log.ts'
import { type Outbound, OutboundError } from '../../ports/outbound.ts'
import { type Distance, mayCall, PUBLIC, THIS_MACHINE } from '../../protocol/distance.ts'
import { isJsonType } from '../../protocol/json.ts'
import { isLoopbackHost } from '../../protocol/redirect-uri.ts'
import { described, unknownClient } from './metadata.ts'
import type { AllowedHost } from './options.ts'

const MAX_ID = 1024
const MAX_BYTES = 5120
const TIMEOUT_MS = 5000
const MIN_AGE_SECONDS = 300
const MAX_AGE_SECONDS = 86_400
const MAX_KEPT = 1000
/** Maximum number of parallel fetches, in total and per origin. */
const MOST_AT_ONCE = 16
const MOST_AT_ONCE_OF_ORIGIN = 4
/** Maximum number of fetches per minute, in total and per origin. */
const MOST_A_MINUTE = 120
const MOST_A_MINUTE_OF_ORIGIN = 30
/** Allows only characters that all URL parsers read alike, and no query, fragment or userinfo. */
const URL_FORM = /^https?:\/\/[a-z0-9.[\]:-]+\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i

interface Kept {
  client: UnknownClient
  /** The conditional headers of the next fetch, so that an unchanged document is answered with 304. */
  conditions: Readonly<Record<string, string>>
  /** Milliseconds on the monotonic clock. */
  freshUntil: number
}

interface DocumentOptions {
  issuer: string
  allow: readonly AllowedHost[] | null
  trusted: readonly string[]
  cacheSeconds: number | null
  takenNames: readonly string[]
  /** True for an audience of access tokens, which no client may have as its id. */
  isAudience(id: string): boolean
}

/**
 * Finds clients by fetching their documents. Parallel requests share one fetch. A document stays fresh for 5 minutes to
 * 24 hours. Failures are not cached. Only a request that begins a sign-in fetches a stale document again. Other
 * requests, such as a refresh, use the last known document, so that an unreachable document does not end sessions.
 */
export function clientDocuments(
  { issuer, allow, trusted, cacheSeconds, takenNames, isAudience }: DocumentOptions,
  {
    outbound,
    clock,
    advise,
    onError
  }: { outbound: Outbound; clock: Clock; advise: Advise; onError(error: unknown, what: string): void }
): ClientSource {
  const documents = new Map<string, Kept>()
  const pending = new Map<string, Promise<UnknownClient | null>>()
  const underWay: string[] = []
  let started: Array<{ at: number; origin: string }> = []
  // Strangers choose the URL, so only public hosts are allowed. A loopback issuer allows every host, including this
  // machine.
  const noNearerThan: Distance = isLoopbackHost(new URL(issuer).hostname) ? THIS_MACHINE : PUBLIC

  function refuse(reason: string): null {
    advise({
      code: 'FST_AUTHORITY_CLIENT_MISFIT',
      cause: `client document: ${reason}`,
      text: `a client with a document was refused: ${reason}.`
    })
    return null
  }

  function keep(id: string, entry: Kept): void {
    documents.delete(id)
    for (const oldest of documents.keys()) {
      if (documents.size < MAX_KEPT) break
      documents.delete(oldest)
    }
    documents.set(id, entry)
  }

  function begin(origin: string): void {
    const now = clock.monotonic()
    started = started.filter(({ at }) => now - at < 60_000)
    const isOfOrigin = (one: { origin: string }): boolean => one.origin === origin
    if (
      underWay.length >= MOST_AT_ONCE ||
      underWay.filter((one) => one === origin).length >= MOST_AT_ONCE_OF_ORIGIN ||
      started.length >= MOST_A_MINUTE ||
      started.filter(isOfOrigin).length >= MOST_A_MINUTE_OF_ORIGIN
    )
      throw down('too many documents are being fetched')
    started.push({ at: now, origin })
    underWay.push(origin)
  }

  function down(detail: string): OAuthError {
    refuse(detail)
    return new OAuthError('temporarily_unavailable', 'The document of the client cannot be read now.', { detail })
  }

  async function fetched(id: string): Promise<UnknownClient | null> {
    const { origin, host, hostname } = new URL(id)
    const known = documents.get(id)
    begin(origin)
    try {
      const { status, type, caching, conditions, text } = await outbound({
        url: id,
        method: 'GET',
        headers: known?.conditions,
        noNearerThan,
        reads: 'whole',
        maxBytes: MAX_BYTES,
        timeoutMs: TIMEOUT_MS
      })
      const freshUntil = clock.monotonic() + 1000 * ageOf(caching, cacheSeconds)
      if (status === 304 && known !== undefined && Object.keys(known.conditions).length > 0) {
        keep(id, { ...known, freshUntil })
        return known.client
      }
      if (status !== 200) throw down(`${host} answered ${status} for its document`)
      if (!isJsonType(type)) return refuse(`the document of ${host} is no application/json`)
      const found = clientOf(id, text, isAmong(hostname, trusted))
      if (typeof found === 'string') return refuse(`the document of ${host}: ${found}`)
      keep(id, { client: found, conditions, freshUntil })
      return found
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      if (error.code === 'TOO_LARGE') return refuse(`the document of ${host} has more than ${MAX_BYTES} bytes`)
      if (error.code === 'TOO_NEAR') return refuse(`${host} has no public address`)
      throw down(`the document of ${host} can't be fetched (${error.code})`)
    } finally {
      underWay.splice(underWay.indexOf(origin), 1)
    }
  }

  function clientOf(id: string, text: string, isTrusted: boolean): UnknownClient | string {
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      return 'it is no JSON'
    }
    try {
      const checked = described(json, { from: 'document', redirectSchemes: [], takenNames })
      if ((json as Record<string, unknown>)['client_id'] !== id) return 'its client_id is not its URL'
      return unknownClient(id, checked, { host: new URL(id).host, isTrusted, redirectSchemes: [] })
    } catch (error) {
      if (error instanceof OAuthError) return error.detail ?? error.message
      throw error
    }
  }

  /** Checks a host against an entry of `allow`. A function that throws, or returns anything but `true`, refuses. */
  function takesHost(one: AllowedHost, id: string, hostname: string): boolean {
    if (typeof one === 'string') return isAmong(hostname, [one])
    try {
      return (one(id) as unknown) === true
    } catch (error) {
      onError(error, 'clientIdMetadata.allow failed; the client is refused')
      return false
    }
  }

  /** Returns the reason to refuse an id before any fetch. `null`: the document may be fetched. */
  function refusalOf(id: string): string | null {
    if (
      id.length > MAX_ID ||
      !URL_FORM.test(id) ||
      DOT_SEGMENT.test(id) ||
      !URL.canParse(id) ||
      new URL(id).href !== id
    )
      return 'its id is no plain https: URL with a path, without query, fragment and dot segments'
    if (isAudience(id)) return 'its id is the audience of access tokens'
    if (!mayCall(id, noNearerThan)) return 'its id names no public https: address'
    const { hostname } = new URL(id)
    const isAllowed = allow === null || allow.some((one) => takesHost(one, id, hostname))
    return isAllowed ? null : 'clientIdMetadata.allow has not its host'
  }

  return {
    takes: (id) => /^\s*https?:/i.test(id),
    async find(id: string, { begins, fetching }: ClientLookup) {
      const refusal = refusalOf(id)
      if (refusal !== null) return refuse(refusal)
      const known = documents.get(id)
      if (known !== undefined && (begins !== true || clock.monotonic() < known.freshUntil)) {
        keep(id, known)
        return known.client
      }
      if (fetching === undefined) return null
      const fetch = pending.get(id) ?? fetching(async () => await fetched(id)).finally(() => pending.delete(id))
      pending.set(id, fetch)
      return await fetch
    }
  }
}

/** True if the host matches an entry. `*.example.com` matches every subdomain of `example.com`, but not the domain. */
function isAmong(hostname: string, hosts: readonly string[]): boolean {
  return hosts.some((one) => (one.startsWith('*.') ? hostname.endsWith(one.slice(1)) : hostname === one))
}

function ageOf(caching: string, cacheSeconds: number | null): number {
  if (cacheSeconds !== null) return cacheSeconds
  const [, seconds = '0'] = /(?:^|[\s,])max-age\s*=\s*"?(\d{1,9})/i.exec(caching) ?? []
  const asked = /(?:^|[\s,])no-(?:store|cache)/i.test(caching) ? 0 : Number(seconds)
  return Math.min(Math.max(asked, MIN_AGE_SECONDS), MAX_AGE_SECONDS)
}
