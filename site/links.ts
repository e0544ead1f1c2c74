import { posix } from 'node:path'

/** The used part of the Markdown package, so that its types need not be installed without the site. */
export interface Markdown {
  core: { ruler: { push(name: string, rule: (state: { tokens: Token[]; env?: unknown }) => void): void } }
}

interface Token {
  type: string
  tag: string
  attrs: Array<[string, string]> | null
  nesting: 1 | 0 | -1
  content: string
  children: Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

/**
 * The pages are written for GitHub and for the files of the package, where a link names a file. On the site a README is the page of its
 * folder, and what lies outside `docs` is in the repository: without the address of one the words stay and the link goes.
 */
export function linksOfTheSite(md: Markdown, repository: string | null): void {
  md.core.ruler.push('links_of_the_site', ({ tokens, env }) => {
    const folder = posix.join('docs', posix.dirname((env as { relativePath: string }).relativePath))
    for (const { children } of tokens) {
      for (const [index, token] of (children ?? []).entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null
        if (href === null || /^(?:[a-z]+:|#|\/)/.test(href)) continue
        const [path = '', hash = ''] = href.split(/(?=#)/)
        const file = posix.join(folder, path)
        if (file.startsWith('docs/')) token.attrSet('href', path.replace(/(^|\/)README\.md$/, '$1index.md') + hash)
        else if (repository !== null) token.attrSet('href', `${repository}/blob/main/${file}${hash}`)
        else unlink(children ?? [], index)
      }
    }
  })
}

function unlink(tokens: Token[], open: number): void {
  const close = tokens.findIndex(({ type }, index) => index > open && type === 'link_close')
  for (const index of [open, close]) {
    const token = tokens[index]
    if (token === undefined) continue
    token.type = 'text'
    token.tag = ''
    token.attrs = null
    token.nesting = 0
    token.content = ''
  }
}
