import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Connection } from '../../../ports/upstream.ts'
import type { Journey, PageDeps } from '../deps.ts'

/**
 * A page that goes on by itself, and by a link for who sees it. A redirect would not do after a form: `form-action`
 * holds for redirects too, and whatever a provider, or a client, redirects to can't be listed.
 */
export async function sendAway(
  url: string,
  { name }: Pick<Connection, 'name'>,
  { clientName, uiLocales }: Pick<Journey, 'clientName' | 'uiLocales'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { pages }: Pick<PageDeps, 'pages'>
): Promise<FastifyReply> {
  reply.header('refresh', `0;url=${url}`)
  return await pages.send(request, reply, 'connect_leaving', { name, url }, { clientName, uiLocales })
}
