import { type Color, EDGE_CONTRAST, TEXT_CONTRAST, contrast, mix, readable, textOn } from './colors.ts'

interface Theme {
  /** Around the card. */
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
}

export const LIGHT: Theme = { ground: '#f3f4f7', card: '#ffffff', text: '#1a1d24', quiet: '#565d6b', line: '#dfe2e8', edge: '#7f8796', wrong: '#b3261e', wrongGround: '#fdf0ef' }
export const DARK: Theme = { ground: '#0f1115', card: '#181b21', text: '#eceef2', quiet: '#a7aebb', line: '#2c313a', edge: '#737c8b', wrong: '#ff9d94', wrongGround: '#33201f' }

interface Accents {
  /** The colours of a button, of the text on it, and of the button under the pointer. */
  button: Color
  onButton: Color
  hover: Color
  /** Of links and focus rings. */
  link: Color
  /** Around a button. */
  edge: Color
}

/** Below this a button can't be told from the card at a glance, as a near-black one in the dark. */
const BUTTON_CONTRAST = 1.25

/** What becomes of the accent in a theme: the button keeps it where it can be seen, links and edges as far as they can be read. */
export function accentsOf (accent: Color, { ground, card }: Theme, end: Color): Accents {
  const on = [ground, card]
  const edge = readable(accent, { on, least: EDGE_CONTRAST, end })
  const button = contrast(accent, card) < BUTTON_CONTRAST ? edge : accent
  const onButton = textOn(button)
  // Away from the text: the button under the pointer reads better, never worse.
  const hover = mix(button, onButton === '#ffffff' ? '#000000' : '#ffffff', 0.14)
  return { button, onButton, hover, link: readable(accent, { on, least: TEXT_CONTRAST, end }), edge }
}

function variables (theme: Theme, accent: Color, end: Color): string {
  const { button, onButton, hover, link, edge } = accentsOf(accent, theme, end)
  const { ground, card, text, quiet, line, wrong, wrongGround } = theme
  return `--ground:${ground};--card:${card};--text:${text};--quiet:${quiet};--line:${line};--edge:${theme.edge};--wrong:${wrong};--wrong-ground:${wrongGround};--accent:${button};--on-accent:${onButton};--hover:${hover};--link:${link};--accent-edge:${edge}`
}

const EYE = mask("<path d='M1 12s4-7 11-7 11 7 11 7-4 7-11 7S1 12 1 12z'/><circle cx='12' cy='12' r='3'/>")
const EYE_STRUCK = mask("<path d='M1 12s4-7 11-7 11 7 11 7-4 7-11 7S1 12 1 12z'/><circle cx='12' cy='12' r='3'/><path d='M4 3l16 18'/>")

function mask (shapes: string): string {
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='black' stroke-width='1.8' stroke-linecap='round' stroke-linejoin='round'>${shapes}</svg>`
  return `url("data:image/svg+xml,${svg.replace(/[<>#]/g, encodeURIComponent)}")`
}

/**
 * The pages' one stylesheet, for phone and desktop, light and dark. Texts, links, edges and focus rings keep WCAG AA whatever
 * the accent is. `accentColor` must be `#rrggbb`.
 */
export function stylesheet (accentColor: string): string {
  const accent = accentColor.toLowerCase() as Color
  return `:root{color-scheme:light dark;${variables(LIGHT, accent, '#000000')}}
@media (prefers-color-scheme:dark){:root{${variables(DARK, accent, '#ffffff')}}}
${RULES}`
}

const RULES = `*,::before,::after{box-sizing:border-box}
html{font:100%/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Hiragino Sans","Noto Sans JP",sans-serif;-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--card);color:var(--text)}
h1,p,ul{margin:0;overflow-wrap:anywhere}
.page{display:flex;flex-direction:column;gap:1.5rem;width:100%;max-width:26rem;min-height:100vh;min-height:100svh;margin:0 auto;padding:1.75rem 1.25rem 2rem}
.brand p{font-weight:600;font-size:1.0625rem;letter-spacing:-.01em}
.brand img{display:block;max-width:100%;max-height:3rem}
.card,[data-submit]{display:grid;grid-template-columns:minmax(0,1fr);gap:1.125rem}
h1{font-size:1.625rem;line-height:1.2;font-weight:650;letter-spacing:-.02em;text-wrap:balance}
b{font-weight:600}
:lang(ja){word-break:auto-phrase}
.hint{color:var(--quiet);font-size:.9375rem}
.hint b{color:var(--text);font-weight:500}
form{display:grid;gap:1.125rem}
.field{display:grid;gap:.375rem}
label{font-weight:600;font-size:.9375rem}
input{width:100%;min-height:2.875rem;padding:.5rem .8125rem;font:inherit;color:inherit;background:var(--card);border:1px solid var(--edge);border-radius:.625rem}
input[aria-invalid=true]{border-color:var(--wrong);box-shadow:inset 0 0 0 1px var(--wrong)}
.check{display:flex;gap:.625rem;align-items:center}
.check input{flex:none;width:1.25rem;min-height:1.25rem;height:1.25rem;margin:0;padding:0;accent-color:var(--link)}
.check label{flex:1;padding:.5rem 0}
.secret{position:relative}
.secret input{padding-inline-end:3rem}
input::-ms-reveal{display:none}
button,.actions a{display:block;width:100%;min-height:2.875rem;padding:.625rem 1rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;color:var(--on-accent);background:var(--accent);border:1px solid var(--accent-edge);border-radius:.625rem;cursor:pointer;transition:background-color .12s}
button:hover,.actions a:hover{background:var(--hover)}
button:disabled{opacity:.6;cursor:default}
button.quiet{color:var(--text);background:transparent;border-color:var(--edge)}
button.quiet:hover{background:var(--ground)}
form>button{margin-top:.25rem}
.choice{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,8rem),1fr));gap:.75rem}
button.reveal{position:absolute;inset-block:1px;inset-inline-end:1px;width:2.75rem;min-height:0;padding:0;color:var(--quiet);background:transparent;border:0}
button.reveal:hover{color:var(--text)}
.reveal::before{content:"";display:block;width:1.25rem;height:1.25rem;margin:auto;background:currentColor;-webkit-mask:${EYE} center/contain no-repeat;mask:${EYE} center/contain no-repeat}
.reveal[aria-pressed=true]::before{-webkit-mask-image:${EYE_STRUCK};mask-image:${EYE_STRUCK}}
a{color:var(--link);text-decoration:underline;text-decoration-thickness:1px;text-underline-offset:.18em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
input:focus-visible{outline-offset:0}
.aside,.links{font-size:.9375rem}
.links{color:var(--quiet)}
.alert,.wrong{color:var(--wrong)}
.alert{padding:.75rem .875rem;background:var(--wrong-ground);border:1px solid var(--wrong);border-radius:.625rem}
.wrong{font-size:.9375rem}
.scopes{display:grid;gap:.5rem;padding:.875rem 1rem .875rem 2.125rem;background:var(--ground);border-radius:.625rem}
.ways,.items{display:grid;gap:.5rem;padding:0;list-style:none}
.ways a{display:block;padding:.6875rem .8125rem;border:1px solid var(--line);border-radius:.625rem;text-decoration:none}
.ways a:hover{background:var(--ground);text-decoration:underline}
.items{gap:1.125rem}
.items>li{display:grid;gap:.5rem;padding-bottom:1.125rem;border-bottom:1px solid var(--line)}
.note{padding:.75rem .875rem;background:var(--ground);border:1px solid var(--accent-edge);border-radius:.625rem}
.scopes li::marker{color:var(--link)}
code{font:.9375em ui-monospace,SFMono-Regular,Consolas,monospace}
@media (min-width:32rem){body{background:var(--ground)}.page{justify-content:center;max-width:30rem;padding-block:3rem}.brand{text-align:center}.brand img{margin:0 auto}.card{padding:2.25rem;background:var(--card);border:1px solid var(--line);border-radius:1rem;box-shadow:0 1px 2px rgb(0 0 0/.04),0 12px 32px rgb(0 0 0/.06)}.links{text-align:center}}
@media (prefers-reduced-motion:reduce){*{transition:none!important}}
@media (forced-colors:active){.reveal::before{forced-color-adjust:none;background:ButtonText}}
`
