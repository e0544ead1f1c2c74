import {
  type AccentColor,
  accentPair,
  accentsOf,
  CARD_RADIUS_FACTOR,
  type Color,
  DARK,
  fontsOf,
  groundsOf,
  LIGHT,
  textOnGround
} from '../pages/themes.ts'
import { LANGUAGES } from '../texts/languages.ts'
import { attributes, type Html, html, markupOf } from '../pages/html.ts'
import type { CommonModel } from '../pages/common-model.ts'
import { logoImage } from '../pages/layout.ts'
import { withoutHyphens } from '../pages/texts.ts'
import type { MailContent } from './content.ts'

interface MailDesign {
  /** `#rrggbb`, or one color for each scheme. */
  accentColor: AccentColor
  /** `url` and `dark` are absolute http: or https: URLs. `null`: shows the title as text. */
  logo: CommonModel['logo']
  colorScheme: 'light' | 'dark' | 'auto'
  background: string | { light: string | null; dark: string | null }
  /** A length in `px` or `rem`, or `0`. */
  radius: string
  /** A CSS list of font families; `null`: the system's. */
  font: string | null
}

const WIDTH = 480
/** Invisible characters that fill the preview line of mailbox lists, so that it shows the preheader alone. */
const FILLER = '\u00a0\u200c'.repeat(90)

const NO_SPACING = html`cellpadding="0" cellspacing="0" border="0"`

const css = (...declarations: string[]): string => declarations.join(';')

/**
 * Renders a whole HTML mail. Mail programs support less CSS than browsers, so the layout is made of tables and every
 * style is in an attribute. Only the colors of dark mode are in a style sheet, which some programs drop. The mail loads
 * nothing but the host's logo.
 */
export function htmlMail(
  {
    lang,
    dir,
    subject,
    preheader,
    title,
    heading,
    text,
    code,
    account,
    details,
    action,
    otherwise,
    links
  }: MailContent,
  { accentColor, logo, colorScheme, background, radius, font }: MailDesign
): string {
  const theme = colorScheme === 'dark' ? DARK : LIGHT
  const accents = accentPair(accentColor)
  const colors = accentsOf(
    accents[colorScheme === 'dark' ? 'dark' : 'light'],
    theme,
    colorScheme === 'dark' ? '#ffffff' : '#000000'
  )
  const grounds = groundsOf(background, colorScheme)
  const ground = grounds[colorScheme === 'dark' ? 'dark' : 'light'] ?? theme.ground
  const onGround = textOnGround(theme, ground)
  const corner = radius.endsWith('rem') ? Number.parseFloat(radius) * 16 : Number.parseFloat(radius)
  // Replaces the double quotes of font names, because they would end the style attribute.
  const family = `font-family:${font === null ? '' : `${font.replaceAll('"', "'")},`}${fontsOf(lang)}`
  // Some mail programs support neither `text-align:start` nor an inherited text direction.
  const start = dir === 'rtl' ? 'right' : 'left'
  const { tall, wordBreak } = LANGUAGES[lang]
  const [lines, tightLines] = tall ? [1.75, 1.5] : [1.5, 1.25]
  const breaks = wordBreak === 'normal' ? 'break-word' : wordBreak
  const schemes = colorScheme === 'auto' ? 'light dark' : colorScheme
  const paragraph = (content: string | Html, { color = theme.text, name = 'text', size = 16 } = {}): Html =>
    html`<p class="${name}" style="${css(
      'margin:0 0 20px',
      `font-size:${size}px`,
      `line-height:${lines}`,
      `color:${color}`
    )}">${content}</p>`
  const hint = (content: string | Html): Html => paragraph(content, { color: theme.quiet, name: 'quiet', size: 14 })
  // Derives the color of the title from a custom background.
  const brandColor = ground === theme.ground ? theme.text : onGround
  const brand =
    logo !== null
      ? logoImage(logo, colorScheme, {
          class: 'brand',
          style: css(
            `display:block;height:${logo.height}px;width:auto;max-width:100%;border:0`,
            `font-size:17px;font-weight:600;color:${brandColor}`
          )
        })
      : title === ''
        ? null
        : html`<p class="brand" style="${css(
            'margin:0;font-size:17px;line-height:1.4',
            `font-weight:600;color:${brandColor}`
          )}"><bdi>${title}</bdi></p>`

  const facts = [
    ...(account === null ? [] : [html`${account.before}<b><bdi>${account.name}</bdi></b>${account.after}`]),
    ...details.map((line) => html`<bdi>${line}</bdi>`)
  ]
  const has = { brand: brand !== null, links: links.length > 0 }
  return `${markupOf(html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${schemes}">
<meta name="supported-color-schemes" content="${schemes}">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${subject}</title>
${colorScheme === 'auto' && html`<style>${darkStyle(accents.dark, grounds.dark, has)}</style>`}
</head>
<body class="ground" style="${css(
    'margin:0;padding:0',
    `background-color:${ground}`,
    '-webkit-text-size-adjust:100%;text-size-adjust:100%'
  )}">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${preheader}${FILLER}</div>
<div role="article" aria-roledescription="email" aria-label="${subject}" lang="${lang}" dir="${dir}">
<table role="presentation" dir="${dir}" class="ground" width="100%" ${NO_SPACING}${attributes({
    bgcolor: ground,
    style: `background-color:${ground}`
  })}>
<tr><td align="center" style="padding:32px 12px">
<!--[if mso]><table role="presentation" width="${WIDTH}" ${NO_SPACING}><tr><td><![endif]-->
<table role="presentation" dir="${dir}" width="100%" ${NO_SPACING} style="max-width:${WIDTH}px">
${
  brand !== null &&
  html`<tr><td align="${start}" dir="${dir}" style="${css(
    'padding:0 4px 20px',
    `text-align:${start}`,
    'overflow-wrap:anywhere',
    family
  )}">${brand}</td></tr>
`
}<tr><td class="card" align="${start}" dir="${dir}" bgcolor="${theme.card}" style="${css(
    'padding:32px 24px 12px',
    `text-align:${start}`,
    `background-color:${theme.card}`,
    `border:1px solid ${theme.line}`,
    `border-radius:${Math.round(corner * CARD_RADIUS_FACTOR)}px`,
    'overflow-wrap:anywhere',
    `word-break:${breaks}`,
    family
  )}">
<h1 class="text" style="${css(
    'margin:0 0 20px;font-size:24px',
    `line-height:${tightLines}`,
    `font-weight:650;color:${theme.text}`
  )}">${heading}</h1>
${paragraph(text)}
${
  code !== null &&
  html`<p class="text" dir="ltr" style="${css(
    'margin:0 0 20px;font-size:32px;line-height:1.25;font-weight:650;letter-spacing:2px',
    `text-align:${start};color:${theme.text}`
  )}">${code.value}</p>
${hint(code.validity)}
${hint(code.asked)}
`
}${facts.length > 0 && hint(html`${facts.map((line, index) => [index > 0 && html`<br>`, line])}`)}
${
  action !== null &&
  html`<table role="presentation" dir="${dir}" ${NO_SPACING} style="margin:0 0 20px"><tr><td${attributes({
    class: 'button',
    align: 'center',
    bgcolor: colors.button,
    style: css(
      `background-color:${colors.button}`,
      `border:1px solid ${colors.edge}`,
      `border-radius:${corner}px`,
      'mso-padding-alt:13px 24px'
    )
  })}><a class="on-button" href="${action.url}" style="${css(
    'display:inline-block;padding:13px 24px;font-size:16px',
    `line-height:${tightLines}`,
    'font-weight:600;text-decoration:none',
    `color:${colors.onButton}`,
    `border-radius:${corner}px`
  )}">${action.label}</a></td></tr></table>
${action.validity !== '' && hint(action.validity)}
${hint(
  html`${action.hint}<a class="link" dir="ltr" href="${action.url}" style="${css(
    `display:block;text-align:left;color:${colors.link}`,
    'text-decoration:underline;word-break:break-all'
  )}">${action.url}</a>`
)}
`
}${paragraph(otherwise)}
</td></tr>
${
  links.length > 0 &&
  html`<tr><td align="center" dir="${dir}" style="${css(
    'padding:16px 4px 0;font-size:13px',
    `line-height:${lines}`,
    family
  )}">${links.map(
    ({ label, url }) =>
      html`<a class="on-ground" href="${url}" style="${css(
        `color:${onGround}`,
        'text-decoration:underline;margin:0 8px'
      )}">${label}</a> `
  )}</td></tr>
`
}</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr>
</table>
</div>
</body>
</html>`)}\n`
}

/** Dark mode rules that override the light colors in the attributes. */
function darkStyle(accent: Color, own: Color | null, has: { brand: boolean; links: boolean }): Html {
  const ground = own ?? DARK.ground
  const onGround = textOnGround(DARK, ground)
  const { button, onButton, edge, link } = accentsOf(accent, DARK, '#ffffff')
  return html`:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){${[
    `.ground{background-color:${ground}!important}`,
    has.links && `.on-ground{color:${onGround}!important}`,
    has.brand && `.brand{color:${own === null ? DARK.text : onGround}!important}`,
    `.card{background-color:${DARK.card}!important;border-color:${DARK.line}!important}`,
    `.text{color:${DARK.text}!important}`,
    `.quiet{color:${DARK.quiet}!important}`,
    `.link{color:${link}!important}`,
    `.button{background-color:${button}!important;border-color:${edge}!important}`,
    `.on-button{color:${onButton}!important}`
  ]}}`
}

/** Renders the plain text. Each paragraph is one line, because mail programs wrap lines. */
export function textMail({
  title,
  heading,
  text,
  code,
  account,
  details,
  action,
  otherwise,
  links,
  dir
}: MailContent): string {
  const paragraphs = [
    title,
    withoutHyphens(heading),
    text,
    ...(code === null ? [] : [code.value, code.validity, code.asked]),
    [...(account === null ? [] : [`${account.before}${apart(account.name, dir)}${account.after}`]), ...details].join(
      '\n'
    ),
    ...(action === null ? [] : [`${action.label}:\n${action.url}`, action.validity]),
    otherwise,
    links.map(({ label, url }) => `${label}: ${url.replace(/^mailto:/, '')}`).join('\n')
  ]
  return `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`
}

/**
 * Isolates the name, because right-to-left text would move a period at its end to its start.
 * @see Unicode Standard Annex 9 §2.4
 */
function apart(name: string, dir: MailContent['dir']): string {
  return dir === 'rtl' ? `\u2068${name}\u2069` : name
}
