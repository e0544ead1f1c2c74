import type { MailContent } from './content.ts'

/** The same in plain text. Lines are as long as their paragraph: mail programs break them. */
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
 * In a text from the right, a name that ends with a full stop would have it in front. @see Unicode Standard Annex 9
 * §2.4
 */
function apart(name: string, dir: MailContent['dir']): string {
  return dir === 'rtl' ? `\u2068${name}\u2069` : name
}
