import { LANGUAGES, type Locale } from '../texts/languages.ts'

interface Theme {
  /** Around the card. */
  ground: Color
  card: Color
  /** A box on the card. */
  panel: Color
  text: Color
  /** Hints. */
  quiet: Color
  line: Color
  /** Edge of an input. */
  edge: Color
  wrong: Color
  wrongGround: Color
  /** Success. */
  good: Color
  goodGround: Color
  /** A notice that calls for action, but is no error. */
  warn: Color
  warnGround: Color
  /** Chosen rows, badges and icons. */
  soft: Color
  onSoft: Color
  /** The default accent of this theme, and its links. */
  accent: Color
  link: Color
}

export const LIGHT: Theme = {
  ground: '#f5f6f8',
  card: '#ffffff',
  panel: '#f5f6f8',
  text: '#14171c',
  quiet: '#535a67',
  line: '#e1e4ea',
  edge: '#7f8796',
  wrong: '#b3261e',
  wrongGround: '#fdf0ef',
  good: '#176135',
  goodGround: '#e9f6ee',
  warn: '#7a4b00',
  warnGround: '#fff4dd',
  soft: '#e8f0fd',
  onSoft: '#17498f',
  accent: '#1f5fbf',
  link: '#1f5fbf'
}
export const DARK: Theme = {
  ground: '#0e1014',
  card: '#171a20',
  panel: '#1f232a',
  text: '#eef0f4',
  quiet: '#a9b0bd',
  line: '#2d323b',
  edge: '#7b8494',
  wrong: '#ff9d94',
  wrongGround: '#33201f',
  good: '#79d79b',
  goodGround: '#15271c',
  warn: '#f3c469',
  warnGround: '#2a2110',
  soft: '#1b2a44',
  onSoft: '#b5d0fb',
  accent: '#2f6fd0',
  link: '#8ab4f8'
}

interface Accents {
  /** The colors of a button, its text, and the hovered button. */
  button: Color
  onButton: Color
  hover: Color
  /** Links and focus rings. */
  link: Color
  /** The edge of a button. */
  edge: Color
}

/**
 * Adapts the accent to a theme. The default accent becomes the theme's own. In a dark theme, another accent becomes
 * lighter until the button stands out from the card. Links and edges change only as far as they must to stay readable.
 * `end`: the color to move towards, white in a dark theme and black in a light one.
 */
export function accentsOf(given: Color, theme: Theme, end: Color): Accents {
  const isOwn = given !== LIGHT.accent
  const accent = isOwn ? given : theme.accent
  const on = [theme.ground, theme.panel, theme.card]
  const edge = readable(accent, { on, least: EDGE_CONTRAST, end })
  const button = isOwn && end === '#ffffff' ? edge : accent
  const onButton = textOn(button)
  return {
    button,
    onButton,
    hover: hoverOf(button, onButton),
    link: isOwn ? readable(accent, { on, least: end === '#ffffff' ? 7 : TEXT_CONTRAST, end }) : theme.link,
    edge
  }
}

/** Moves the color of a hovered button away from the text color, so that the contrast never falls. */
function hoverOf(button: Color, onButton: Color): Color {
  return mix(button, onButton === '#ffffff' ? '#000000' : '#ffffff', 0.14)
}

/** The option `accentColor`, checked. */
export type AccentColor = string | { light?: string | null | undefined; dark?: string | null | undefined }

/** The accent in light and in dark mode. A color for light mode alone serves both modes. */
export function accentPair(given: AccentColor): { light: Color; dark: Color } {
  const { light, dark } = typeof given === 'string' ? { light: given, dark: given } : given
  const first = light ?? LIGHT.accent
  return { light: first.toLowerCase() as Color, dark: (dark ?? first).toLowerCase() as Color }
}

/**
 * The CSS variables of a theme. Their names are documented and stable, because hosts' stylesheets use them.
 * @see docs/guides/branding.md
 */
export function variables(
  theme: Theme,
  { accent, background, end }: { accent: Color; background: Color | null; end: Color }
): string {
  const { button, onButton, hover, link, edge } = accentsOf(accent, theme, end)
  const ground = background ?? theme.ground
  const values = {
    ground,
    'on-ground': textOnGround(theme, ground),
    // For the name of the service.
    title: readable(theme.text, { on: [ground], least: TEXT_CONTRAST, end: textOn(ground) }),
    panel: theme.panel,
    card: theme.card,
    text: theme.text,
    quiet: theme.quiet,
    line: theme.line,
    edge: theme.edge,
    accent: button,
    'on-accent': onButton,
    hover,
    'accent-edge': edge,
    link,
    wrong: theme.wrong,
    'on-wrong': textOn(theme.wrong),
    'wrong-hover': hoverOf(theme.wrong, textOn(theme.wrong)),
    'wrong-ground': theme.wrongGround,
    good: theme.good,
    'good-ground': theme.goodGround,
    warn: theme.warn,
    'warn-ground': theme.warnGround,
    // A host's accent may have any hue, so the built-in soft colors might not fit it.
    soft: accent === LIGHT.accent ? theme.soft : theme.panel,
    'on-soft': accent === LIGHT.accent ? theme.onSoft : link
  }
  return Object.entries(values)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';')
}

/**
 * The background in light and in dark mode. `null`: the built-in one. With `auto`, a single color serves dark mode only
 * if white text is readable on it, because a light background would dazzle.
 */
export function groundsOf(
  background: string | { light: string | null; dark: string | null },
  colorScheme: 'light' | 'dark' | 'auto'
): { light: Color | null; dark: Color | null } {
  if (typeof background !== 'string') return background as { light: Color | null; dark: Color | null }
  const ground = background.toLowerCase() as Color
  return { light: ground, dark: colorScheme === 'dark' || contrast('#ffffff', ground) >= TEXT_CONTRAST ? ground : null }
}

/** The color of quiet text outside of the card, changed as far as the host's background requires for contrast. */
export function textOnGround(theme: Theme, ground: Color): Color {
  return readable(theme.quiet, { on: [ground], least: TEXT_CONTRAST, end: textOn(ground) })
}

/**
 * Colors as `#rrggbb`, and their contrast.
 * @see WCAG 2.2 §1.4.3, §1.4.11 and its definition of relative luminance
 */

export type Color = `#${string}`

type Channels = readonly [red: number, green: number, blue: number]

/** Minimum contrast of normal text. */
const TEXT_CONTRAST = 4.5
/** Minimum contrast of a control's edge. */
const EDGE_CONTRAST = 3

function channelsOf(color: Color): Channels {
  const value = Number.parseInt(color.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}

function luminance(color: Color): number {
  const [red, green, blue] = channelsOf(color).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as unknown as Channels
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The contrast of two colors, from 1 (equal) to 21 (black and white). */
export function contrast(one: Color, other: Color): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Mixes `share` (0 to 1) of `other` into `color`. */
export function mix(color: Color, other: Color, share: number): Color {
  const target = channelsOf(other)
  const mixed = channelsOf(color).map((channel, index) =>
    Math.round(channel + ((target[index] ?? 0) - channel) * share)
  )
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

/** Black or white, the one with more contrast to the color. The contrast is at least 4.58 on any color. */
export function textOn(color: Color): Color {
  return contrast(color, '#ffffff') >= contrast(color, '#000000') ? '#ffffff' : '#000000'
}

/**
 * Returns the color itself, or the first color on the way to `end` that has the contrast `least` to all of `on`.
 * Returns `end` if no color has this contrast.
 */
export function readable(color: Color, { on, least, end }: { on: readonly Color[]; least: number; end: Color }): Color {
  for (let step = 0; step < 50; step++) {
    const candidate = mix(color, end, step / 50)
    if (on.every((background) => contrast(candidate, background) >= least)) return candidate
  }
  return end
}

/** The corners of the card, as a multiple of the radius of fields and buttons. */
export const CARD_RADIUS_FACTOR = 1.4

/** The fonts of operating systems. In single quotes, so that the list fits into a `style` attribute. */
export const SYSTEM_FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans'"

/** The font list of a mail. Pages build theirs from CSS variables, which mail programs may not support. */
export function fontsOf(lang: Locale): string {
  return [SYSTEM_FONTS, LANGUAGES[lang].fonts, 'Helvetica,Arial,sans-serif'].filter((fonts) => fonts !== '').join(',')
}
