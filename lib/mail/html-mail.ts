import type { Color } from '../pages/colors.ts'
import { type Html, html, markupOf } from '../pages/html.ts'
import { accentsOf, DARK, LIGHT } from '../pages/themes.ts'
import type { MailContent } from './content.ts'

interface MailLook {
  /** `#rrggbb` */
  accentColor: Color
  /** Absolute, http: or https:; `null`: the title stands there as text. */
  logoUrl: string | null
}

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Hiragino Sans','Noto Sans JP',Helvetica,Arial,sans-serif"
const WIDTH = 480

/**
 * A whole HTML mail. Mail programs know less than browsers: the layout is tables, every style is in an attribute, and a style sheet,
 * which some programs drop, holds the dark colours alone. Nothing is loaded but the host's own logo.
 */
export function htmlMail ({ lang, subject, title, heading, text, action, otherwise, account }: MailContent, { accentColor, logoUrl }: MailLook): string {
  const light = accentsOf(accentColor, LIGHT, '#000000')
  const paragraph = (content: string | Html, { color = LIGHT.text, name = 'text', size = 16 } = {}): Html =>
    html`<p class="${name}" style="margin:0 0 20px;font-size:${size}px;line-height:1.5;color:${color}">${content}</p>`
  const hint = (content: string | Html): Html => paragraph(content, { color: LIGHT.quiet, name: 'quiet', size: 14 })
  const brand = logoUrl !== null
    ? html`<img class="text" src="${logoUrl}" alt="${title}" height="40" style="display:block;height:40px;width:auto;max-width:100%;border:0;font-size:17px;font-weight:600;color:${LIGHT.text}">`
    : title === '' ? null : html`<p class="text" style="margin:0;font-size:17px;line-height:1.4;font-weight:600;color:${LIGHT.text}">${title}</p>`

  return `${markupOf(html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${subject}</title>
<style>${darkStyle(accentColor)}</style>
</head>
<body class="ground" style="margin:0;padding:0;background-color:${LIGHT.ground};-webkit-text-size-adjust:100%;text-size-adjust:100%">
<div role="article" aria-roledescription="email" aria-label="${subject}" lang="${lang}">
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="${LIGHT.ground}" style="background-color:${LIGHT.ground}">
<tr><td align="center" style="padding:32px 12px">
<!--[if mso]><table role="presentation" width="${WIDTH}" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:${WIDTH}px">
${brand !== null && html`<tr><td align="left" style="padding:0 4px 20px;text-align:start;overflow-wrap:anywhere;${FONT}">${brand}</td></tr>
`}<tr><td class="card" align="left" bgcolor="${LIGHT.card}" style="padding:32px 24px 12px;text-align:start;background-color:${LIGHT.card};border:1px solid ${LIGHT.line};border-radius:16px;overflow-wrap:anywhere;word-break:break-word;${FONT}">
<h1 class="text" style="margin:0 0 20px;font-size:24px;line-height:1.25;font-weight:650;color:${LIGHT.text}">${heading}</h1>
${paragraph(text)}
${action !== null && html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 20px"><tr><td class="button" align="center" bgcolor="${light.button}" style="background-color:${light.button};border:1px solid ${light.edge};border-radius:10px;mso-padding-alt:13px 24px"><a class="on-button" href="${action.url}" style="display:inline-block;padding:13px 24px;font-size:16px;line-height:1.25;font-weight:600;text-decoration:none;color:${light.onButton};border-radius:10px">${action.label}</a></td></tr></table>
${hint(action.validity)}
${hint(html`${action.hint}<br><a class="link" href="${action.url}" style="color:${light.link};text-decoration:underline;word-break:break-all">${action.url}</a>`)}
`}${paragraph(otherwise)}
${account !== null && hint(html`${account.before}<b><bdi>${account.name}</bdi></b>${account.after}`)}
</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr>
</table>
</div>
</body>
</html>`)}\n`
}

/** What programs with a dark mode of their own take, over the light colours of the attributes. */
function darkStyle (accentColor: Color): Html {
  const { button, onButton, edge, link } = accentsOf(accentColor, DARK, '#ffffff')
  return html`:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){.ground{background-color:${DARK.ground}!important}.card{background-color:${DARK.card}!important;border-color:${DARK.line}!important}.text{color:${DARK.text}!important}.quiet{color:${DARK.quiet}!important}.link{color:${link}!important}.button{background-color:${button}!important;border-color:${edge}!important}.on-button{color:${onButton}!important}}`
}
