import type { MailContent } from './content.ts'

/** Renders the plain text. Each paragraph is one line, because mail programs wrap lines. */
export function textMail({
  title,
  heading,
  text,
  code,
  details,
  action,
  otherwise,
  account,
  links,
  dir
}: MailContent): string {
  const paragraphs = [
    title,
    heading,
    text,
    ...(code === null ? [] : [code.value, code.validity, code.asked]),
    details.join('\n'),
    ...(action === null ? [] : [`${action.label}:\n${action.url}`, action.validity]),
    otherwise,
    account === null ? '' : `${account.before}${apart(account.name, dir)}${account.after}`,
    links.map(({ label, url }) => `${label}: ${url.replace(/^mailto:/, '')}`).join('\n')
  ]
  return `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`
}

/**
 * Isolates the name, because in right-to-left text a final full stop would move to its front.
 * @see Unicode Standard Annex 9 §2.4
 */
function apart(name: string, dir: MailContent['dir']): string {
  return dir === 'rtl' ? `\u2068${name}\u2069` : name
}
