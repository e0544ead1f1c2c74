/** The docs for programs that read: a list of pages, and one file with the pages that most questions need. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { groups } from './sidebar.ts'

/** The pages of the extract, in reading order. The reference of texts and screenshots would double its size. */
const EXTRACT = [
  'getting-started.md',
  'concepts.md',
  'guides/own-user-store.md',
  'guides/state.md',
  'guides/redirect-login.md',
  'guides/testing.md',
  'deployment.md',
  'reference/options.md',
  'reference/endpoints.md',
  'reference/host.md',
  'reference/errors.md',
  'reference/events.md',
  'reference/client.md'
]

/** The list of pages for users, with addresses that start with `base`. @see https://llmstxt.org */
export function llmsTxt(sidebar: ReturnType<typeof groups>, description: string, base: string): string {
  const forUsers = sidebar.filter(({ text }) => text !== 'For contributors')
  const lines = forUsers.flatMap(({ text, items, pages }) => [
    '',
    `## ${text}`,
    '',
    ...items.map((item, index) => `- [${item.text}](${base}${pages[index] ?? ''})`)
  ])
  return ['# fastify-authority', '', `> ${description}`, ...lines, ''].join('\n')
}

/** One file with the pages of `EXTRACT`. A line above each page names its file. */
export function llmsFullTxt(docs: string): string {
  return EXTRACT.map((file) => `<!-- docs/${file} -->\n\n${readFileSync(join(docs, file), 'utf8')}`).join('\n')
}
