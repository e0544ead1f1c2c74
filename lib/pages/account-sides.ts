import type { AccountModel } from './account-models.ts'
import type { CommonModel } from './common-model.ts'
import { attributes, type Html, html, safeUrl } from './html.ts'
import { nameWithAvatar } from './layout.ts'

type Sides = CommonModel & Pick<AccountModel, 'username' | 'accountUrl' | 'accountLinks' | 'logoutUrl'>

/**
 * The parts around the content of an account page. `bar`: the menu of the signed-in user. `column`: links to all
 * account pages, hidden on a phone, where each page has a link back instead. `end`: the sign-out form, after the
 * content so that the page's own form comes first. `here`: the address of the page.
 */
export function accountSides(model: Sides, here: string): { bar: Html; column: Html; end: Html } {
  const { messages, username, accountUrl, accountLinks: links, logoutUrl } = model
  const ways: Array<[url: string | null, label: string]> = [
    [links.profile, messages.profileTitle],
    [links.email, messages.emailTitle],
    [links.security, messages.securityTitle],
    [links.password, messages.passwordLabel],
    [links.connections, messages.connectionsTitle],
    [links.sessions, messages.sessionsTitle],
    [links.access, messages.accessTitle],
    [links.apiKeys, messages.apiKeysTitle],
    [links.remove, messages.removeTitle]
  ]
  const isHere = (url: string): boolean => pathOf(here) === pathOf(url)
  const isBelow = (url: string): boolean => isHere(url) || pathOf(here).startsWith(`${pathOf(url)}/`)
  const way = (url: string, label: string, isCurrent: boolean): Html => html`<li><a${attributes({
    href: safeUrl(url),
    'aria-current': isCurrent ? (isHere(url) ? 'page' : 'true') : null
  })}>${label}</a></li>
`
  return {
    bar: html`<details class="who"><summary class="chip" title="${username}">${nameWithAvatar(username)}</summary>
<div><p><bdi>${username}</bdi></p>
<button type="submit" form="sign-out" class="quiet" name="decision" value="sign_out">${
      messages.logoutSubmit
    }</button></div></details>`,
    column: html`<nav class="column" aria-label="${messages.accountTitle}"><ul>
${way(accountUrl, messages.accountTitle, isHere(accountUrl))}${ways.map(
      ([url, label]) => url !== null && way(url, label, isBelow(url))
    )}</ul></nav>
`,
    end: html`<form method="post" action="${safeUrl(logoutUrl)}" id="sign-out" hidden></form>
`
  }
}

const pathOf = (url: string): string => url.split('?', 1)[0] ?? url
