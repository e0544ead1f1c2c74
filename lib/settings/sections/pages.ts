import { Type } from '@sinclair/typebox'
import type { RenderPage } from '../../pages/model.ts'
import type { OwnTexts } from '../../pages/own-texts.ts'
import { LIGHT } from '../../pages/themes.ts'
import {
  type Absent,
  filled,
  flag,
  fn,
  type Given,
  type GivenWith,
  integer,
  oneOf,
  option,
  orFalse,
  type Option,
  required,
  type Said,
  section,
  shortText,
  text
} from '../schema-words.ts'

const color = <const Of extends { default?: string; otherwise?: string }>(said: Of) =>
  text({ pattern: '^#[0-9a-fA-F]{6}$', takes: 'a color such as "#1f5fbf"', ...said })
const url = (said: { takes?: string; otherwise?: string } = {}) =>
  text({ minLength: 1, takes: 'an https: URL or a path', ...said })

/** A name in quotes, or unquoted CSS identifiers. Nothing in it can end a declaration. */
const FAMILY =
  '(?:"[\\w .\\u00c0-\\ud7ff-]{1,60}"|\'[\\w ' +
  ".\\u00c0-\\ud7ff-]{1,60}'|-?[A-Za-z][\\w-]{0,60}(?: [A-Za-z][\\w-]{0,60}){0,6})"
export const FONT = new RegExp(`^${FAMILY}(?:, ?${FAMILY}){0,15}$`)
export const RADIUS = /^(?:0|(?:[12]?\d|3[0-2])px|(?:[01]?\.\d{1,4}|[012])rem)$/

const BACKGROUND = {
  /** The color in light mode. */
  light: color({}),
  /** The color in dark mode. */
  dark: color({})
}

const ACCENT = {
  /** The color in light mode. */
  light: color({ otherwise: 'the built-in blue' }),
  /** The color in dark mode. */
  dark: color({ otherwise: '`light`' })
}

const LOGO = {
  /** The image. */
  url: required(url()),
  /** The image in dark mode. */
  dark: url({ otherwise: '`url`' }),
  /** The height of the logo in pixels. */
  height: integer(24, 64, { otherwise: '40' }),
  /** The alternative text, for people who can't see the logo. */
  alt: shortText(100, { otherwise: '`title`' })
}

const LINKS = {
  /** Terms of use. */
  terms: url(),
  /** Privacy notice. */
  privacy: url(),
  /** The page where people find help. */
  support: url({ takes: 'an https: or mailto: URL, or a path' })
}

const accentOption = <const Of extends Said<string>>(said: Of) =>
  option(
    Type.Union([color({}), section(ACCENT)], { takes: 'a color such as "#1f5fbf", or { light, dark }', ...said })
  ) as Option<string | Given<typeof ACCENT>, Absent<string, Of>>
const logoOption = () => section<GivenWith<typeof LOGO, 'url'>>(LOGO, { takes: '{ url, dark, height, alt }' })

/** The brand of a client, on the pages of its sign-ins. */
export const CLIENT_PAGES = {
  /** The name at the top of the pages. */
  title: shortText(100, { otherwise: '`pages.title`' }),
  /** The logo, instead of the name. */
  logo: logoOption(),
  /** Color of buttons and links. */
  accentColor: accentOption({ otherwise: '`pages.accentColor`' })
}

/** Options that are fields of every page's model. `ShownOptions` of `lib/pages/common-model.ts` has their types. */
const SHOWN = {
  /** The icon of the browser's tab. Without it browsers look for `/favicon.ico`. */
  faviconUrl: url(),
  /** `"auto"`: light or dark, as the browser prefers. */
  colorScheme: oneOf(['light', 'dark', 'auto'], { default: 'auto' }),
  /** The order on the sign-in and sign-up pages: name and password first, or the buttons of other providers first. */
  order: oneOf(['password-first', 'providers-first'], { default: 'password-first' }),
  /**
   * A stylesheet of the host's own, linked after the built-in one. It may load fonts and images from its own origin.
   * docs/guides/branding.md lists the variables that stay stable.
   */
  stylesheetUrl: url()
}

const PAGES = {
  /** Name of the service, at the top of every page. */
  title: shortText(100, { otherwise: "the issuer's host name" }),
  /**
   * Logo at the top of every page, instead of the name. Without a logo, the first letter of the name stands before the
   * name.
   */
  logo: logoOption(),
  ...SHOWN,
  /** Color of buttons and links. Text on it is black or white, depending on which reads better. */
  accentColor: accentOption({ default: LIGHT.accent }),
  /** `"card"`: a card on a background, on screens wider than a phone's. `"plain"`: no card, on any screen. */
  layout: oneOf(['card', 'plain'], { default: 'card' }),
  /**
   * Color around the card, on screens that are wider than a phone's. A single color is used in light mode, and in dark
   * mode if white text is readable on it. Text on the background becomes as light or dark as contrast requires.
   */
  background: option<string | Given<typeof BACKGROUND>>(
    Type.Union([color({}), section(BACKGROUND)], { takes: 'a color such as "#f3f4f7", or { light, dark }' })
  ),
  /** Corner radius of fields and buttons. The corners of the card have 1.4 times this radius. */
  radius: text({ pattern: RADIUS.source, default: '0.625rem', takes: '"0", or a length of at most "32px" or "2rem"' }),
  /**
   * A CSS list of font families, before those of the system. A font that people have not installed comes from
   * `stylesheetUrl`, by `@font-face`.
   */
  font: text({
    pattern: FONT.source,
    maxLength: 300,
    takes: 'font families such as "Inter, \'Segoe UI\', sans-serif"'
  }),
  /**
   * Texts that replace built-in ones, by language and key: `{ en: { loginTitle: 'Welcome back' } }`. An unknown
   * language, key or placeholder stops the start, and so does a missing placeholder.
   */
  texts: option<OwnTexts>(
    Type.Record(
      Type.String(),
      Type.Record(Type.String(), shortText(2000, { takes: 'a text of 1 to 2000 characters' }), {
        takes: 'an object of texts by their keys'
      }),
      { takes: 'texts by language and key, such as { en: { loginTitle: "Welcome back" } }' }
    )
  ),
  /** Links in the footer of every page. */
  links: section<Given<typeof LINKS>>(LINKS),
  /** The target of a sign-in without a destination. */
  home: url({ otherwise: "the issuer's root" }),
  /** `(page, model) => html`: the host's own HTML for any page. Return `undefined` for the built-in one. */
  render: fn<RenderPage>(),
  /** Turns the account page on, on which people see and change their data. */
  account: flag({ default: true }),
  /**
   * The host's own sign-in page, instead of the built-in sign-in and sign-up. The page ends with a call of
   * `app.authority.signIn`.
   */
  loginUrl: url()
}

export interface PagesOptions extends Given<typeof PAGES> {}

export const PAGES_OPTION = orFalse(section<PagesOptions>(PAGES), {
  otherwise: 'built in',
  takes: 'false or { title, logo, accentColor, home, render, account, loginUrl, … }'
})

export type PagesSettings = ReturnType<typeof resolvePages>

export const PAGES_DEFAULTS = filled(PAGES, {})

export function resolvePages(given: PagesOptions | undefined, issuer: string) {
  const { hostname, pathname } = new URL(issuer)
  const { home, ...settings } = filled(PAGES, given, { title: hostname, home: pathname, texts: {} })
  const { accentColor, background } = settings
  return {
    ...settings,
    shown: filled(SHOWN, given),
    accentColor: typeof accentColor === 'string' ? accentColor : accentsIn(accentColor),
    /** The color around the card: `#rrggbb`, or one for each scheme. `null` for a scheme: the built-in color. */
    background: typeof background === 'string' ? background : filled(BACKGROUND, background ?? {}),
    links: filled(LINKS, given?.links),
    /** The target of a sign-in without a destination. */
    homeUrl: home
  }
}

/** The accent of each scheme. An object without a color counts as an absent option. */
function accentsIn(given: Given<typeof ACCENT>) {
  const { light, dark } = filled(ACCENT, given)
  return light === null && dark === null ? PAGES_DEFAULTS.accentColor : { light, dark }
}
