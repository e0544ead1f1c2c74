import { LANGUAGES, type Locale } from '../texts/languages.ts'

interface Theme {
  /** Around the card, and of panels on it. */
  ground: Color
  card: Color
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
}

export const LIGHT: Theme = {
  ground: '#f3f4f7',
  card: '#ffffff',
  text: '#1a1d24',
  quiet: '#565d6b',
  line: '#dfe2e8',
  edge: '#7f8796',
  wrong: '#b3261e',
  wrongGround: '#fdf0ef',
  good: '#1b6e3c',
  goodGround: '#e9f6ee'
}
export const DARK: Theme = {
  ground: '#0f1115',
  card: '#181b21',
  text: '#eceef2',
  quiet: '#a7aebb',
  line: '#2c313a',
  edge: '#737c8b',
  wrong: '#ff9d94',
  wrongGround: '#33201f',
  good: '#79d79b',
  goodGround: '#172b1f'
}

interface Accents {
  /** The colours of a button, its text, and the hovered button. */
  button: Color
  onButton: Color
  hover: Color
  /** Links and focus rings. */
  link: Color
  /** The edge of a button. */
  edge: Color
}

/** Below this contrast a button cannot be told from the card at a glance, such as a near-black one in dark mode. */
const BUTTON_CONTRAST = 1.25

/**
 * Adapts the accent to a theme. Buttons keep it if they stay visible; links and edges keep it as far as they stay
 * readable.
 */
export function accentsOf(accent: Color, { ground, card }: Theme, end: Color): Accents {
  const on = [ground, card]
  const edge = readable(accent, { on, least: EDGE_CONTRAST, end })
  const button = contrast(accent, card) < BUTTON_CONTRAST ? edge : accent
  const onButton = textOn(button)
  return {
    button,
    onButton,
    hover: hoverOf(button, onButton),
    link: readable(accent, { on, least: TEXT_CONTRAST, end }),
    edge
  }
}

/** Moves the hovered button away from its text colour, so that its contrast never falls. */
function hoverOf(button: Color, onButton: Color): Color {
  return mix(button, onButton === '#ffffff' ? '#000000' : '#ffffff', 0.14)
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
    panel: theme.ground,
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
    'good-ground': theme.goodGround
  }
  return Object.entries(values)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';')
}

/** One colour serves both schemes, but a light one would dazzle in dark mode. */
export function groundsOf(
  background: string | { light: string | null; dark: string | null },
  colorScheme: 'light' | 'dark' | 'auto'
): { light: Color | null; dark: Color | null } {
  if (typeof background !== 'string') return background as { light: Color | null; dark: Color | null }
  const ground = background.toLowerCase() as Color
  return { light: ground, dark: colorScheme === 'dark' || contrast('#ffffff', ground) >= TEXT_CONTRAST ? ground : null }
}

/** Text on the host's background stays readable. */
export function textOnGround(theme: Theme, ground: Color): Color {
  return readable(theme.quiet, { on: [ground], least: TEXT_CONTRAST, end: textOn(ground) })
}

/**
 * Colours as `#rrggbb`, and their contrast.
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

/** From 1 (the same) to 21 (black and white). */
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

/** Black or white, whichever has more contrast: at least 4.58 on any colour. */
export function textOn(color: Color): Color {
  return contrast(color, '#ffffff') >= contrast(color, '#000000') ? '#ffffff' : '#000000'
}

/**
 * The colour itself, or the nearest one towards `end` that has this contrast to all backgrounds. `end` must have it.
 */
export function readable(color: Color, { on, least, end }: { on: readonly Color[]; least: number; end: Color }): Color {
  for (let step = 0; step < 50; step++) {
    const candidate = mix(color, end, step / 50)
    if (on.every((background) => contrast(candidate, background) >= least)) return candidate
  }
  return end
}

const SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans'"

/** The font list of a mail. Mails can't use variables of CSS, as pages do. */
export function fontsOf(lang: Locale): string {
  return [SANS, LANGUAGES[lang].fonts, 'Helvetica,Arial,sans-serif'].filter((fonts) => fonts !== '').join(',')
}
