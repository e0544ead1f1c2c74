/**
 * The rules for pages that the site and the test of the links share. Anchors are spelled as GitHub spells them, where
 * most people read the pages.
 */

/** The page without what is code: a link in a listing leads nowhere. Lines stay where they are. */
export function withoutCode(text: string): string {
  return text
    .replace(/^( *)(```+)[^\n]*\n[\s\S]*?^\1\2$/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/<!--[\s\S]*?-->/g, (comment) => comment.replace(/[^\n]/g, ''))
}

/** The text of a heading, without its marks. */
export function headingText(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .trim()
}

/** The anchor of a heading: lower case, without punctuation, a hyphen for each space. */
export function slugOf(heading: string): string {
  return headingText(heading)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

/** All anchors of a page. A heading that comes again is numbered. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  const page = withoutCode(text)
  for (const [, heading = ''] of page.matchAll(/^ {0,3}#{1,6} +(.+?) *#*$/gm)) {
    const slug = slugOf(heading)
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  for (const [, id = ''] of page.matchAll(/<[a-z]+ [^>]*\b(?:id|name)="([^"]+)"/g)) anchors.add(id)
  return anchors
}

interface Link {
  target: string
  line: number
}

/** Every link and picture of a page, in Markdown and in HTML. */
export function linksOf(text: string): Link[] {
  const page = withoutCode(text).replace(/(`+)[^`\n](?:[^\n]*?[^`\n])?\1(?!`)/g, (code) => ' '.repeat(code.length))
  const found = [
    ...page.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g),
    ...page.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm),
    ...page.matchAll(/<(?:a|img|source)\s[^>]*?\b(?:href|src|srcset)="([^"]+)"/g)
  ]
  return found.map((match) => ({ target: match[1] ?? '', line: page.slice(0, match.index).split('\n').length }))
}

/** The first heading of a page. */
export function titleOf(text: string): string | null {
  const heading = /^# +(.+)$/m.exec(withoutCode(text))?.[1]
  return heading === undefined ? null : headingText(heading)
}
