import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'

export interface Doc {
  url: string
  title: string
  about: string
}

const PAGES = [
  ['getting-started.md', 'Getting started', 'From an empty folder to a front end of its own'],
  ['concepts.md', 'Concepts', 'Sessions, tokens, clients, and how they hang together'],
  ['reference/options.md', 'Options', 'Every option with its default'],
  ['reference/endpoints.md', 'Endpoints', 'Every route, who may call it, and its answers'],
  ['guides/hosted-pages.md', 'Hosted pages', 'Your title, logo, colors, or your own HTML'],
  ['deployment.md', 'Deployment', 'What to look at before people sign in to it']
] as const
/** From the sources, and from where the compiler puts the example. */
const FOLDERS = ['../../docs/', '../../../docs/'].map((path) => new URL(path, import.meta.url))

/** Serves the pages of the documentation that the start page leads to, where the copy that runs has them. */
export async function servedDocs(app: FastifyInstance): Promise<Doc[]> {
  const folder = FOLDERS.find((folder) => existsSync(new URL('getting-started.md', folder)))
  if (folder === undefined) return []
  return PAGES.map(([page, title, about]) => {
    const url = `/docs/${page}`
    app.get(url, async (_request, reply): Promise<FastifyReply> =>
      reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', 'no-cache')
        .send(await readFile(new URL(page, folder), 'utf8'))
    )
    return { url, title, about }
  })
}
