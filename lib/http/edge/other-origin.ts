import type { FastifyRequest } from 'fastify'
import type { Advise } from '../../ports/log.ts'

/** Characters. A host name has at most 253. */
const LONGEST_ORIGIN = 280

/**
 * Tells a developer of a form of ours that was refused because its page was opened at another origin. A form that the
 * browser calls cross-site is left out, because any site can have its visitors send one.
 */
export function tellOfOrigin({ headers }: FastifyRequest, issuer: string, advise: Advise): void {
  const { 'sec-fetch-site': site, origin = '' } = headers
  if (site === 'cross-site' || origin.length > LONGEST_ORIGIN || !URL.canParse(origin)) return
  const own = new URL(issuer).origin
  const came = new URL(origin).origin
  if (came === own || came === 'null') return
  advise({
    code: 'FST_AUTHORITY_ORIGIN_MISFIT',
    cause: came,
    text: `a form came from ${came}, the issuer is ${own}: open the pages there, or set issuer.`
  })
}
