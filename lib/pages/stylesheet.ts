import { type Color, DARK, groundsOf, LIGHT, variables } from './themes.ts'
import { LANGUAGES } from '../texts/languages.ts'

/** The URL of a shape that is cut out of the text color. It is a data: URL, so that nothing is loaded. */
function mask(shapes: string): string {
  const svg =
    `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='black' ` +
    `stroke-width='1.8' stroke-linecap='round' stroke-linejoin='round'>${shapes}</svg>`
  return `url("data:image/svg+xml,${svg.replace(/[<>#]/g, encodeURIComponent)}")`
}

const EYE_SHAPE = "<path d='M1 12s4-7 11-7 11 7 11 7-4 7-11 7S1 12 1 12z'/><circle cx='12' cy='12' r='3'/>"

const EYE = mask(EYE_SHAPE)
const EYE_STRUCK = mask(`${EYE_SHAPE}<path d='M4 3l16 18'/>`)
const CHECK = mask("<path d='M4 12.5l5.5 5.5L20 7'/>")
const MAIL = mask("<rect x='2.5' y='5' width='19' height='14' rx='2'/><path d='M3 7l9 6 9-6'/>")
const WARNING = mask("<circle cx='12' cy='12' r='9.5'/><path d='M12 7v6M12 16.5v.1'/>")
const LOCK = mask("<rect x='4.5' y='10.5' width='15' height='10' rx='2'/><path d='M8 10.5V7a4 4 0 0 1 8 0v3.5'/>")
const DOOR = mask("<path d='M10 4H5.5v16H10M10 12h10M16 8l4 4-4 4'/>")
const GLOBE = mask("<circle cx='12' cy='12' r='9'/><path d='M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18'/>")
const CHEVRON = mask("<path d='M9 5l7 7-7 7'/>")

/** The host's part of the design. The options were checked, so that no value can end a declaration. */
export interface Look {
  /** `#rrggbb` */
  accentColor: string
  colorScheme: 'light' | 'dark' | 'auto'
  /** `#rrggbb` */
  background: string | { light: string | null; dark: string | null }
  radius: string
  font: string | null
}

const FONTS = 'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",var(--script)'

/**
 * The pages' one stylesheet, for phone and desktop, light and dark. Texts, links, edges and focus rings meet WCAG AA
 * with any accent and background.
 */
export function stylesheet({ accentColor, colorScheme, background, radius, font }: Look): string {
  const accent = accentColor.toLowerCase() as Color
  const grounds = groundsOf(background, colorScheme)
  const light = variables(LIGHT, { accent, background: grounds.light, end: '#000000' }) + PROVIDERS.light
  const dark = variables(DARK, { accent, background: grounds.dark, end: '#ffffff' }) + PROVIDERS.dark
  const corners = radius === '0' ? '0px' : radius
  const fonts = font === null ? FONTS : `${font},${FONTS}`
  const common = `--script:sans-serif;--radius:${corners};--font:${fonts}`
  const colors = {
    light: `:root{color-scheme:light;${common};${light}}`,
    dark: `:root{color-scheme:dark;${common};${dark}}`,
    auto: `:root{color-scheme:light dark;${common};${light}}\n@media (prefers-color-scheme:dark){:root{${dark}}}`
  }
  return `${colors[colorScheme]}\n${SCRIPTS}\n${RULES}`
}

/** Links to other providers look the same, after Google's brand rules, the strictest. */
const PROVIDERS = {
  light: ';--provider:#fff;--provider-edge:#747775;--provider-text:#1f1f1f',
  dark: ';--provider:#131314;--provider-edge:#8e918f;--provider-text:#e3e3e3'
}

const shape = (icon: string, size: string): string => `--shape:${icon};width:${size};height:${size}`
const swap = (icon: string): string => `--shape:${icon}`

/** Cut out of the text colour. */
const SHAPED =
  '.icon[data-icon]::before,.reveal::before,.foot summary::before,.ways a::after,.scopes li::before,' +
  '.alert::before,.note::before'

const SCRIPTS = Object.entries(LANGUAGES)
  .filter(([, { fonts }]) => fonts !== '')
  .map(([lang, { fonts }]) => `html:lang(${lang}){--script:${fonts},sans-serif}`)
  .join('\n')

const LINES = Object.entries(LANGUAGES)
  .flatMap(([lang, { wordBreak, tall }]) => [
    ...(wordBreak === 'normal' ? [] : [`:lang(${lang}){word-break:${wordBreak}}`]),
    ...(tall ? [`html:lang(${lang}){line-height:1.75}`, `h1:lang(${lang}){letter-spacing:0;line-height:1.5}`] : [])
  ])
  .join('\n')

const RULES = `*,::before,::after{box-sizing:border-box}
html{font:100%/1.5 var(--font);-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--card);color:var(--text)}
${SHAPED}{content:"";flex:none;background:currentColor;-webkit-mask:var(--shape) center/contain no-repeat;
  mask:var(--shape) center/contain no-repeat}
h1,h2,p,ul,label,button,summary{margin:0;overflow-wrap:anywhere}
[hidden]{display:none!important}
.page{display:flex;flex-direction:column;gap:1.5rem;width:100%;max-width:29rem;min-height:100vh;min-height:100svh;
  margin:0 auto;padding:2rem 1.25rem 1.25rem}
.card,.card form,[data-submit]{display:grid;grid-template-columns:minmax(0,1fr);gap:1.25rem}
.head{display:grid;justify-items:center;gap:.5rem;text-align:center}
.brand{display:flex;align-items:center;justify-content:center;gap:.625rem;max-width:100%;margin-bottom:.75rem;
  font-weight:600}
.brand p{text-align:start;line-height:1.375}
.brand img{display:block;max-width:100%;max-height:2.75rem}
.mark,.icon,.avatar{flex:none;display:grid;place-items:center;font-weight:650;line-height:1}
.mark{width:2.25rem;height:2.25rem;border-radius:min(var(--radius),1.125rem);font-size:1.125rem;
  color:var(--on-accent);background:var(--accent);border:1px solid var(--accent-edge)}
.icon{width:3.5rem;height:3.5rem;margin-bottom:.25rem;border-radius:50%;font-size:1.375rem;color:var(--link);
  background:var(--panel);border:1px solid var(--line);overflow:hidden}
img.icon{object-fit:contain;background:#fff}
.icon[data-icon]::before{${shape(MAIL, '1.625rem')}}
.icon[data-icon=check]{color:var(--good);background:var(--good-ground)}
.icon[data-icon=check]::before{${swap(CHECK)}}
.icon[data-icon=warning]{color:var(--wrong);background:var(--wrong-ground)}
.icon[data-icon=warning]::before{${swap(WARNING)}}
.icon[data-icon=lock]::before{${swap(LOCK)}}
.icon[data-icon=door]::before{${swap(DOOR)}}
h1{font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.015em;text-wrap:balance}
h2{font-size:1rem;font-weight:650}
.head p{text-wrap:pretty}
b{font-weight:600}
${LINES}
.hint,.lead,.rules{color:var(--quiet);font-size:.9375rem}
.hint b,.lead b{color:var(--text);font-weight:600}
.status,.message{text-align:center}
.message{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem}
.address{justify-self:center;max-width:100%;padding:.25rem .875rem;font-size:.9375rem;font-weight:600;
  background:var(--panel);border:1px solid var(--line);border-radius:1.25rem;overflow-wrap:anywhere}
.who{display:flex;flex-wrap:wrap;align-items:center;gap:.75rem;padding:.75rem .875rem;border:1px solid var(--line);
  border-radius:var(--radius)}
.who div{min-width:0;flex:1 1 10rem}
.who p{line-height:1.375}
.avatar{width:2.5rem;height:2.5rem;border-radius:50%;color:var(--on-accent);background:var(--accent);
  border:1px solid var(--accent-edge)}
.badge{display:inline-block;padding:0 .5rem;font-size:.8125rem;font-weight:600;line-height:1.5rem;
  color:var(--quiet);background:var(--panel);border:1px solid var(--line);border-radius:1rem;max-width:100%;
  overflow-wrap:anywhere}
.badge.good{color:var(--good);background:var(--good-ground);border-color:currentColor}
.badge.bad{color:var(--wrong);background:var(--wrong-ground);border-color:currentColor}
.field{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.375rem .75rem;align-items:baseline}
.field>*{grid-column:1/-1;min-width:0}
.field>label{grid-area:1/1/auto/auto}
.field>.beside{grid-area:1/2/auto/auto;font-size:.875rem;text-align:end}
label{font-weight:600;font-size:.9375rem}
input,select{width:100%;min-height:2.875rem;padding:.5rem .8125rem;font:inherit;color:inherit;
  background:var(--card);border:1px solid var(--edge);border-radius:var(--radius)}
input:hover,select:hover{border-color:var(--text)}
input[aria-invalid=true],select[aria-invalid=true]{border-color:var(--wrong);box-shadow:inset 0 0 0 1px var(--wrong)}
.check{display:flex;gap:.625rem;align-items:center}
.check input{flex:none;width:1.25rem;min-height:1.25rem;height:1.25rem;margin:0;padding:0;accent-color:var(--link)}
.check label{flex:1;padding:.5rem 0;font-weight:500}
.secret{position:relative}
.secret input{padding-inline-end:3rem}
input::-ms-reveal{display:none}
.rules{display:grid;gap:.125rem;padding:0;list-style:none;font-size:.875rem}
.rules li{display:flex;gap:.5rem}
.rules li::before{content:"";flex:none;width:.375rem;height:.375rem;margin:.5rem .25rem 0;border-radius:50%;
  background:var(--edge)}
.rules li.met::before{${shape(CHECK, '.875rem')};margin:.25rem 0 0;border-radius:0;background:var(--good);
  -webkit-mask:var(--shape) center/contain no-repeat;mask:var(--shape) center/contain no-repeat}
.strength{display:grid;grid-template-columns:repeat(4,1fr);gap:.25rem;font-size:.875rem;font-weight:500}
.strength i{height:.25rem;border-radius:1rem;background:var(--line)}
.strength span{grid-column:1/-1}
.strength[data-level=weak] i:nth-child(-n+1),.strength[data-level=fair] i:nth-child(-n+2){background:var(--wrong)}
.strength[data-level=good] i:nth-child(-n+3),.strength[data-level=strong] i{background:var(--good)}
button,.actions a{display:flex;align-items:center;justify-content:center;gap:.5rem;width:100%;min-height:2.875rem;
  padding:.5rem 1rem;font:inherit;font-weight:600;line-height:1.375;text-align:center;text-decoration:none;
  color:var(--on-accent);background:var(--accent);border:1px solid var(--accent-edge);border-radius:var(--radius);
  cursor:pointer;transition:background-color .12s}
button:hover,.actions a:hover{background:var(--hover)}
button:disabled{opacity:.55;cursor:default}
button.quiet{color:var(--text);background:transparent;border-color:var(--edge)}
button.quiet:hover{background:var(--panel)}
button.danger{color:var(--on-wrong);background:var(--wrong);border-color:var(--wrong)}
button.danger:hover{background:var(--wrong-hover)}
button[aria-busy]{cursor:progress}
button[aria-busy]::after{content:"";flex:none;width:1em;height:1em;border:2px solid;
  border-inline-end-color:transparent;border-radius:50%;animation:turn .8s linear infinite}
@keyframes turn{to{transform:rotate(1turn)}}
.choice{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,9rem),1fr));gap:.75rem}
button.reveal{position:absolute;inset-block:1px;inset-inline-end:1px;width:2.75rem;min-height:0;padding:0;
  color:var(--quiet);background:transparent;border:0}
button.reveal:hover{color:var(--text)}
.reveal::before{${shape(EYE, '1.25rem')}}
.reveal[aria-pressed=true]::before{${swap(EYE_STRUCK)}}
.or{display:flex;gap:.75rem;align-items:center;font-size:.875rem;color:var(--quiet)}
.or::before,.or::after{content:"";flex:1;height:1px;background:var(--line)}
.connect{display:grid;gap:.75rem}
.connect a{display:flex;align-items:center;justify-content:center;gap:.625rem;min-height:2.875rem;
  padding:.5rem 1rem;font-weight:600;line-height:1.375;text-align:center;text-decoration:none;
  color:var(--provider-text);background:var(--provider);border:1px solid var(--provider-edge);
  border-radius:var(--radius)}
.connect a:hover{text-decoration:underline}
.connect svg,.connect img{flex:none;width:1.25rem;height:1.25rem}
.connect span{min-width:0;overflow-wrap:anywhere}
a{color:var(--link);text-decoration:underline;text-decoration-thickness:1px;text-underline-offset:.18em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
input:focus-visible,select:focus-visible{outline-offset:0;border-color:var(--link)}
.links{font-size:.9375rem;color:var(--quiet);text-align:center}
.alert,.wrong{color:var(--wrong)}
.alert{display:flex;gap:.625rem;padding:.75rem .875rem;font-size:.9375rem;background:var(--wrong-ground);
  border:1px solid var(--wrong);border-radius:var(--radius)}
.alert::before{${shape(WARNING, '1.25rem')};margin-top:.0625rem}
.wrong{font-size:.9375rem}
[aria-live]:empty{position:absolute}
form:not([hidden])+.instead{display:none}
.note{display:flex;gap:.625rem;padding:.75rem .875rem;font-size:.9375rem;color:var(--good);
  background:var(--good-ground);border:1px solid var(--good);border-radius:var(--radius)}
.note::before{${shape(CHECK, '1.25rem')};margin-top:.0625rem}
.note.plain{color:var(--text);background:var(--panel);border-color:var(--edge)}
.note.plain::before{${swap(WARNING)}}
.code{display:flex;flex-wrap:wrap;gap:.25rem .625rem;align-items:center;justify-content:center;font-size:.875rem;
  color:var(--quiet)}
.code code{-webkit-user-select:all;user-select:all;overflow-wrap:anywhere}
button.copy{width:auto;min-height:1.75rem;padding:0 .625rem;font-size:.8125rem;color:var(--text);
  background:transparent;border-color:var(--edge)}
button.copy:hover{background:var(--panel)}
.scopes{display:grid;gap:.5rem;padding:.875rem 1rem;list-style:none;background:var(--panel);
  border:1px solid var(--line);border-radius:var(--radius)}
.scopes li{display:flex;gap:.625rem}
.scopes li::before{${shape(CHECK, '1.125rem')};margin-top:.1875rem;background:var(--link)}
.scopes span{min-width:0}
.ways,.items{display:grid;gap:0;padding:0;list-style:none;border:1px solid var(--line);border-radius:var(--radius)}
.ways>li+li,.items>li+li{border-top:1px solid var(--line)}
.ways a{display:flex;align-items:center;gap:.75rem;min-height:3rem;padding:.5rem .875rem;color:var(--text);
  text-decoration:none;font-weight:500}
.ways a::after{${shape(CHEVRON, '1.125rem')};margin-inline-start:auto;background:var(--quiet)}
.ways{overflow:hidden}
.ways a:hover{text-decoration:underline}
.ways a:focus-visible{outline-offset:-3px}
.ways li:hover{background:var(--panel)}
.ways .danger a{color:var(--wrong)}
[dir=rtl] .ways a::after{transform:scaleX(-1)}
.items>li{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:flex-start;justify-content:space-between;
  padding:.875rem}
.items>li>div{flex:1 1 11rem;min-width:0;display:grid;gap:.25rem}
.items .hint{font-size:.875rem}
.items button{width:auto;min-height:2.25rem;padding:.25rem .875rem;font-size:.9375rem}
.items .scopes{width:100%;font-size:.9375rem}
details.more>summary{min-height:2rem;cursor:pointer;color:var(--link)}
details.more[open]{display:grid;gap:.75rem}
.items form{width:100%;display:grid;gap:.5rem}
.qr{display:block;width:min(100%,15rem);height:auto;margin-inline:auto;border-radius:.25rem}
.key{text-align:center;overflow-wrap:anywhere}
.codes{display:grid;gap:.25rem;justify-content:center;padding:0;list-style:none}
code{font:.9375em ui-monospace,SFMono-Regular,Consolas,monospace}
.foot{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;align-items:baseline;justify-content:center;margin-top:auto;
  font-size:.875rem;color:var(--quiet)}
.foot a,.foot summary{display:inline-flex;align-items:center;gap:.375rem;min-height:1.75rem;color:inherit}
.foot a{text-decoration-color:transparent}
.foot a:hover,.foot a:focus-visible{text-decoration-color:currentColor}
.foot summary{cursor:pointer;list-style:none}
.foot summary::-webkit-details-marker{display:none}
.foot summary::before{${shape(GLOBE, '1rem')}}
.foot details[open]{flex-basis:100%;text-align:center}
.foot details ul{display:flex;flex-wrap:wrap;gap:0 1rem;justify-content:center;padding:0;list-style:none}
.foot [aria-current]{font-weight:650}
@media (min-width:32rem){body{background:var(--ground)}.page{padding:clamp(1.5rem,9vh,5.5rem) 1.25rem 1.5rem}
  .card{padding:2.25rem;background:var(--card);border:1px solid var(--line);border-radius:calc(var(--radius)*1.5);
  box-shadow:0 1px 2px rgb(0 0 0/.04),0 12px 32px rgb(0 0 0/.06)}.card>.links{margin:.5rem -2.25rem -2.25rem;
  padding:1rem 2.25rem;background:var(--panel);border-top:1px solid var(--line);
  border-radius:0 0 calc(var(--radius)*1.5 - 1px) calc(var(--radius)*1.5 - 1px)}.foot{margin-top:0;
  color:var(--on-ground)}}
@media (prefers-reduced-motion:reduce){*{transition:none!important;animation:none!important}}
@media (forced-colors:active){${SHAPED},.rules li::before,.strength i{forced-color-adjust:none;
  background:CanvasText!important}.reveal::before{background:ButtonText!important}
  .strength i{background:GrayText!important}
  .strength[data-level=weak] i:nth-child(-n+1),.strength[data-level=fair] i:nth-child(-n+2),
  .strength[data-level=good] i:nth-child(-n+3),.strength[data-level=strong] i{background:Highlight!important}}
`
