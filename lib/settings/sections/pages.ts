import { Type } from '@sinclair/typebox'
import type { RenderPage } from '../../pages/model.ts'
import type { OwnTexts } from '../../pages/own-texts.ts'
import { fn, oneOf, optional, section } from '../schema-words.ts'

export interface PagesOptions {
  /** Name of the service, at the top of every page. Default: the issuer's host name. */
  title?: string | undefined
  /** An absolute URL or a path. */
  logoUrl?: string | undefined
  /** The logo in dark mode. Default: `logoUrl`. */
  logoUrlDark?: string | undefined
  /** The icon of the browser's tab. Default: none, so that browsers look for `/favicon.ico`. */
  faviconUrl?: string | undefined
  /** `#rrggbb` */
  accentColor?: string | undefined
  /** `'auto'` follows the browser. */
  colorScheme?: 'light' | 'dark' | 'auto' | undefined
  /** `#rrggbb`: the colour around the card. */
  background?: string | { light?: string | undefined; dark?: string | undefined } | undefined
  /** Corner radius of fields and buttons: `0` to `32px`, or to `2rem`. */
  radius?: string | undefined
  /** A CSS list of font families. */
  font?: string | undefined
  /** A stylesheet of the host's own, linked after the built-in one. */
  stylesheetUrl?: string | undefined
  /** Texts that replace built-in ones, by language and key: `{ en: { loginTitle: 'Welcome back' } }`. */
  texts?: OwnTexts | undefined
  /** Links in the footer of every page. */
  links?: { terms?: string | undefined; privacy?: string | undefined; support?: string | undefined } | undefined
  /** The target of a sign-in without a destination. Default: the issuer's root. */
  home?: string | undefined
  /** The host's own HTML for any page. Return `undefined` for the built-in one. */
  render?: RenderPage | undefined
  /** Turns the account page on. Default: true. */
  account?: boolean | undefined
  /** The host's own sign-in page: an absolute URL or a path. It ends with `app.authority.signIn`. */
  loginUrl?: string | undefined
}

export interface PagesSettings {
  title: string
  logoUrl: string | null
  logoUrlDark: string | null
  faviconUrl: string | null
  /** `#rrggbb` */
  accentColor: string
  colorScheme: 'light' | 'dark' | 'auto'
  /** Around the card, `#rrggbb`. `null`: the built-in colour. */
  background: { light: string | null; dark: string | null } | string
  /** A CSS length. */
  radius: string
  /** A CSS list of font families. `null`: the system's. */
  font: string | null
  stylesheetUrl: string | null
  texts: OwnTexts
  links: { terms: string | null; privacy: string | null; support: string | null }
  /** The target of a sign-in without a destination. */
  homeUrl: string
  render: RenderPage | null
  /** True if users have an account page. */
  account: boolean
  /** The host's own sign-in page, which replaces ours. */
  loginUrl: string | null
}

export const PAGES_DEFAULTS = {
  accentColor: '#1f5fbf',
  colorScheme: 'auto',
  radius: '0.625rem',
  account: true
} as const

const color = (description: string, shown?: string) =>
  Type.String({
    pattern: '^#[0-9a-fA-F]{6}$',
    takes: 'a colour such as "#1f5fbf"',
    description,
    ...(shown === undefined ? {} : { default: shown })
  })
const url = (description: string, takes = 'an https: URL or a path') =>
  optional(Type.String({ minLength: 1, takes, description }))

/** A name in quotes, or unquoted CSS identifiers. Nothing in it can end a declaration. */
const FAMILY =
  '(?:"[\\w .\\u00c0-\\ud7ff-]{1,60}"|\'[\\w ' +
  ".\\u00c0-\\ud7ff-]{1,60}'|-?[A-Za-z][\\w-]{0,60}(?: [A-Za-z][\\w-]{0,60}){0,6})"
export const FONT = new RegExp(`^${FAMILY}(?:, ?${FAMILY}){0,15}$`)
export const RADIUS = /^(?:0|(?:[12]?\d|3[0-2])px|(?:[01]?\.\d{1,4}|[012])rem)$/

export const PAGES_SCHEMA = optional(
  Type.Union(
    [
      Type.Literal(false),
      section(
        {
          title: optional(
            Type.String({
              minLength: 1,
              maxLength: 100,
              default: "the issuer's host name",
              takes: 'a string of 1 to 100 characters',
              description: 'Name of the service, at the top of every page.'
            })
          ),
          logoUrl: url(
            'Logo at the top of every page, in place of the name. Without one the first letter of the ' +
              'name stands beside it.'
          ),
          logoUrlDark: url('The logo where the page is dark. Default: `logoUrl`.'),
          faviconUrl: url(
            "The icon of the browser's tab. Default: none is named, and browsers look for `/favicon.ico`."
          ),
          accentColor: optional(
            color(
              'Colour of buttons and links. Text on it is black or white, whichever reads better.',
              PAGES_DEFAULTS.accentColor
            )
          ),
          colorScheme: optional(
            oneOf(['light', 'dark', 'auto'], {
              default: PAGES_DEFAULTS.colorScheme,
              description: '`"auto"`: light or dark, as the browser wants it.'
            })
          ),
          background: optional(
            Type.Union(
              [
                color('Both'),
                section(
                  { light: optional(color('In the light.')), dark: optional(color('In the dark.')) },
                  'By scheme.'
                )
              ],
              {
                takes: 'a colour such as "#f3f4f7", or { light, dark }',
                description:
                  "Colour around the card, on screens that are wider than a phone's. One colour is taken in " +
                  'the light, and in the dark where white text reads well on it. Texts on it are made as ' +
                  'light or dark as it takes.'
              }
            )
          ),
          radius: optional(
            Type.String({
              pattern: RADIUS.source,
              default: PAGES_DEFAULTS.radius,
              takes: '"0", or a length of at most "32px" or "2rem"',
              description: "How round the corners of fields and buttons are. The card's are half as round again."
            })
          ),
          font: optional(
            Type.String({
              pattern: FONT.source,
              maxLength: 300,
              takes: 'font families such as "Inter, \'Segoe UI\', sans-serif"',
              description:
                'Font families, before those of the system. A font that people have not installed comes ' +
                'from `stylesheetUrl`, by `@font-face`.'
            })
          ),
          stylesheetUrl: url(
            "A stylesheet of the host's own, linked after the built-in one. It may load fonts and " +
              'images from its own origin. docs/guides/branding.md has the variables that it can count ' +
              'on.'
          ),
          texts: optional(
            Type.Record(
              Type.String(),
              Type.Record(
                Type.String(),
                Type.String({ minLength: 1, maxLength: 2000, takes: 'a text of 1 to 2000 characters' }),
                { takes: 'an object of texts by their keys' }
              ),
              {
                takes: 'texts by language and key, such as { en: { loginTitle: "Welcome back" } }',
                description:
                  'Texts of the pages in place of the built-in ones. A language, key or placeholder that ' +
                  'does not exist or is missing stops the start.'
              }
            )
          ),
          links: optional(
            section(
              {
                terms: url('Terms of use.'),
                privacy: url('Privacy notice.'),
                support: url('Where people find help.', 'an https: or mailto: URL, or a path')
              },
              'Links in the footer of every page.'
            )
          ),
          home: optional(
            Type.String({
              minLength: 1,
              default: "the issuer's root",
              takes: 'an https: URL or a path',
              description: 'Where a sign-in leads that came from nowhere.'
            })
          ),
          render: optional(
            fn({
              takes: 'a function',
              description:
                "`(page, model) => html`: the host's own HTML for any page; `undefined` takes the built-in one."
            })
          ),
          account: optional(
            Type.Boolean({
              default: PAGES_DEFAULTS.account,
              takes: 'true or false',
              description: 'Whether there is the account page, where people see and change what they have here.'
            })
          ),
          loginUrl: url(
            "The host's own sign-in page, in place of the built-in sign-in and sign-up. It finishes " +
              'through `app.authority.signIn`.'
          )
        },
        'The hosted pages.'
      )
    ],
    {
      default: 'built in',
      takes: 'false or { title, logoUrl, accentColor, home, render, account, loginUrl, … }',
      description: 'The hosted pages. `false`: none, and then no redirect sign-in either.'
    }
  )
)

export function resolvePages(given: PagesOptions = {}, issuer: string): PagesSettings {
  const { hostname, pathname } = new URL(issuer)
  const {
    title = hostname,
    logoUrl = null,
    logoUrlDark = null,
    faviconUrl = null,
    accentColor = PAGES_DEFAULTS.accentColor,
    colorScheme = PAGES_DEFAULTS.colorScheme
  } = given
  const {
    background = {},
    radius = PAGES_DEFAULTS.radius,
    font = null,
    stylesheetUrl = null,
    texts = {},
    links: { terms = null, privacy = null, support = null } = {}
  } = given
  const { home = pathname, render = null, account = PAGES_DEFAULTS.account, loginUrl = null } = given
  return {
    title,
    logoUrl,
    logoUrlDark,
    faviconUrl,
    accentColor,
    colorScheme,
    background:
      typeof background === 'string' ? background : { light: background.light ?? null, dark: background.dark ?? null },
    radius,
    font,
    stylesheetUrl,
    texts,
    links: { terms, privacy, support },
    homeUrl: home,
    render,
    account,
    loginUrl
  }
}
