import { type Color, EDGE_CONTRAST, TEXT_CONTRAST, contrast, mix, readable, textOn } from './colors.ts'

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
