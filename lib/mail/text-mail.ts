import type { MailContent } from './content.ts'

/** The same in plain text. Lines are as long as their paragraph: mail programs break them. */
export function textMail ({ title, heading, text, action, otherwise, account, links }: MailContent): string {
  const paragraphs = [
    title,
    heading,
    text,
    ...action === null ? [] : [`${action.label}:\n${action.url}`, action.validity],
    otherwise,
    account === null ? '' : `${account.before}${account.name}${account.after}`,
    links.map(({ label, url }) => `${label}: ${url.replace(/^mailto:/, '')}`).join('\n')
  ]
  return `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`
}
