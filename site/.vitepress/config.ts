/** The pages of docs/ as a site: `npm run docs` builds it into dist/site. SITE_BASE is the path that it is served under. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { slugOf } from '../../scripts/markdown.ts'
import { llmsFullTxt, llmsTxt } from '../llms.ts'
import { linksOfTheSite, type Markdown } from '../links.ts'
import { groups, urlOf } from '../sidebar.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const docs = join(root, 'docs')
const { description, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  description: string
  repository?: string | { url: string }
}
const url = typeof repository === 'string' ? repository : repository?.url
const home = url === undefined ? null : url.replace(/^git\+/, '').replace(/\.git$/, '')
const base = process.env['SITE_BASE'] ?? '/'
const sidebar = groups(docs)

/** Each page as it was written, their list, and the extract. */
function forPrograms(directory: string): void {
  writeFileSync(join(directory, 'llms.txt'), llmsTxt(sidebar, description, base))
  writeFileSync(join(directory, 'llms-full.txt'), llmsFullTxt(docs))
  for (const file of sidebar.flatMap(({ pages }) => pages)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    copyFileSync(join(docs, file), join(directory, file))
  }
}

export default {
  title: 'fastify-authority',
  description,
  base,
  srcDir: '../docs',
  outDir: '../dist/site',
  cacheDir: '../node_modules/.cache/vitepress',
  cleanUrls: true,
  // The address of a reader's own server.
  ignoreDeadLinks: [/^http:\/\/localhost(?::\d+)?(?:\/|$)/],
  rewrites: (file: string) => file.replace(/(^|\/)README\.md$/, '$1index.md'),
  markdown: {
    anchor: { slugify: slugOf },
    // Braces are text: GitHub knows no attributes in them, and an option may take `{ title, … }`.
    attrs: { disable: true },
    config(md: Markdown) {
      linksOfTheSite(md, home)
    }
  },
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: { searchOptions: { combineWith: 'AND' } } } },
    outline: [2, 3],
    ...(home === null ? {} : { editLink: { pattern: `${home}/edit/main/docs/:path` } }),
    nav: [
      { text: 'Getting started', link: urlOf('getting-started.md') },
      { text: 'Reference', link: urlOf('reference/options.md') },
      ...(home === null ? [] : [{ text: 'Source', link: home }])
    ],
    sidebar: sidebar.map(({ text, items, collapsed }) => ({
      text,
      items,
      ...(collapsed === undefined ? {} : { collapsed })
    }))
  },
  buildEnd({ outDir }: { outDir: string }) {
    forPrograms(outDir)
  }
}
