import {
  accentPair,
  type AccentColor,
  CARD_RADIUS_FACTOR,
  DARK,
  groundsOf,
  LIGHT,
  SYSTEM_FONTS,
  variables
} from './themes.ts'
import { LANGUAGES } from '../texts/languages.ts'

/** The CSS mask of an icon, which shows in the text color. It is a data: URL, so that nothing is loaded. */
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
const KEY = mask("<circle cx='8' cy='12' r='4.5'/><path d='M12.5 12H22M18 12v4M21 12v3'/>")
const PHONE = mask("<rect x='6.5' y='2.5' width='11' height='19' rx='2.5'/><path d='M11 18.5h2'/>")
const LIST = mask("<path d='M9 6h11M9 12h11M9 18h11M4.5 6h.1M4.5 12h.1M4.5 18h.1'/>")
const PERSON = mask("<circle cx='12' cy='8' r='4'/><path d='M4 21c0-4.5 3.5-7 8-7s8 2.5 8 7'/>")
const SCREEN = mask("<rect x='3' y='4.5' width='18' height='12' rx='2'/><path d='M8 20h8'/>")
const CHAIN = mask("<path d='M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6'/>")
const GRID = mask("<path d='M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z'/>")

/** The icons, by the value of the attribute `data-icon`. */
const ICONS = {
  mail: MAIL,
  check: CHECK,
  warning: WARNING,
  lock: LOCK,
  door: DOOR,
  key: KEY,
  phone: PHONE,
  list: LIST,
  person: PERSON,
  screen: SCREEN,
  chain: CHAIN,
  grid: GRID
}
export type IconName = keyof typeof ICONS

/** The host's part of the design. The options were checked, so that no value can end a declaration. */
export interface Design {
  /** `#rrggbb`, or one color for each scheme. */
  accentColor: AccentColor
  colorScheme: 'light' | 'dark' | 'auto'
  /** `#rrggbb`, or one color for each scheme. `null`: the built-in background. */
  background: string | { light: string | null; dark: string | null }
  radius: string
  layout: 'card' | 'plain'
  font: string | null
}

const FONTS = `${SYSTEM_FONTS},var(--script)`

/**
 * The pages' one stylesheet, for phone and desktop, light and dark. Texts, links, edges and focus rings meet WCAG AA
 * with any accent and background.
 */
export function stylesheet({ accentColor, colorScheme, background, radius, font, layout }: Design): string {
  const accents = accentPair(accentColor)
  const grounds = groundsOf(background, colorScheme)
  const light = variables(LIGHT, { accent: accents.light, background: grounds.light, end: '#000000' }) + PROVIDERS.light
  const dark = variables(DARK, { accent: accents.dark, background: grounds.dark, end: '#ffffff' }) + PROVIDERS.dark
  const corners = radius === '0' ? '0px' : radius
  const fonts = font === null ? FONTS : `${font},${FONTS}`
  const common = `--script:sans-serif;--radius:${corners};--font:${fonts}`
  const colors = {
    light: `:root{color-scheme:light;${common};${light}}`,
    dark: `:root{color-scheme:dark;${common};${dark}}`,
    auto: `:root{color-scheme:light dark;${common};${light}}\n@media (prefers-color-scheme:dark){:root{${dark}}}`
  }
  return `${colors[colorScheme]}\n${SCRIPTS}\n${layout === 'card' ? RULES : RULES.replace(CARD, '')}`
}

/** The colors of links to other providers. All follow Google's brand rules, because these are the strictest. */
const PROVIDERS = {
  light: ';--provider:#fff;--provider-edge:#747775;--provider-text:#1f1f1f',
  dark: ';--provider:#131314;--provider-edge:#8e918f;--provider-text:#e3e3e3'
}

const shape = (icon: string, size: string): string => `--shape:${icon};width:${size};height:${size}`
const swap = (icon: string): string => `--shape:${icon}`

/** The elements that show an icon in the text color. */
const SHAPED =
  '[data-icon]::before,.reveal::before,.foot summary::before,.rows a::after,.pick>summary::after,' +
  '.scopes li::before,.points li::before,' +
  '.alert::before,.note::before,.wrong:not(:empty)::before,.back::before'

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

const SPINNER =
  'content:"";flex:none;width:1em;height:1em;border:2px solid;border-inline-end-color:transparent;border-radius:50%'

const CARD = `@media (min-width:32rem){body{background:var(--ground)}.card{padding:2rem;background:var(--card);
  border:1px solid var(--line);border-radius:calc(var(--radius)*${CARD_RADIUS_FACTOR});
  box-shadow:0 1px 2px rgb(0 0 0/.04),0 12px 32px rgb(0 0 0/.06)}.foot{color:var(--on-ground)}
  .top{color:var(--title)}.foot{margin-top:0}}`

const RULES = `*,::before,::after{box-sizing:border-box}
html{--h:2.75rem;font:100%/1.5 var(--font);-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--card);color:var(--text)}
${SHAPED}{content:"";flex:none;width:1.25rem;height:1.25rem;background:currentColor;
  -webkit-mask:var(--shape) center/contain no-repeat;mask:var(--shape) center/contain no-repeat}
${Object.entries(ICONS)
  .map(([name, icon]) => `[data-icon=${name}]{${swap(icon)}}`)
  .join('\n')}
h1,h2,p,ul,ol,label,button,summary{margin:0;padding:0;overflow-wrap:anywhere}
ul,ol{list-style:none}
[hidden]{display:none!important}
.unseen{position:absolute;width:1px;height:1px;min-height:0;padding:0;border:0;overflow:hidden;clip-path:inset(50%)}
.page{display:flex;flex-direction:column;width:100%;max-width:27.5rem;min-height:100vh;min-height:100svh;
  margin:0 auto;padding:2rem min(1.25rem,6vw)}
.card,.card form,.stack,[data-submit]{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem}
.top{margin-bottom:1.25rem}
.brand{display:flex;align-items:center;justify-content:center;gap:.625rem;font-weight:600;line-height:1.375}
.brand img{display:block;max-width:100%;object-fit:contain}
.head{display:grid;grid-template-columns:minmax(0,1fr);justify-items:center;gap:.375rem;
  margin-bottom:.5rem;text-align:center}
.mark,.icon,.avatar{flex:none;display:grid;place-items:center;font-weight:650;line-height:1}
.mark{width:2.25rem;height:2.25rem;border-radius:min(var(--radius),1.125rem);font-size:1.125rem;
  color:var(--on-accent);background:var(--accent);border:1px solid var(--accent-edge)}
.icon{width:3rem;height:3rem;margin-bottom:.375rem;border-radius:50%;font-size:1.25rem;color:var(--on-soft);
  background:var(--soft);overflow:hidden}
.icon::before{width:1.5rem;height:1.5rem}
img.icon{object-fit:contain;background:#fff;border:1px solid var(--line)}
.icon[data-icon=check]{color:var(--good);background:var(--good-ground)}
.icon[data-icon=warning]{color:var(--wrong);background:var(--wrong-ground)}
h1{font-size:min(1.5rem,9.5vw);line-height:1.25;font-weight:650;letter-spacing:-.015em;text-wrap:balance}
h2{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;justify-content:space-between;
  font-size:1.0625rem;line-height:1.5rem;font-weight:600}
.head p{text-wrap:pretty}
b{font-weight:600}
${LINES}
.hint,.lead,.links{color:var(--quiet)}
.hint,.links,.note,.alert,.wrong,.steps{font-size:.875rem;line-height:1.43}
.lead{font-size:.9375rem}
.hint b,.lead b,.links b{color:var(--text)}
.message{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem;text-align:center}
.chip,.address{justify-self:center;display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;max-width:100%;
  width:fit-content;
  padding:.25rem .75rem .25rem .25rem;font-size:.875rem;border:1px solid var(--line);border-radius:1.25rem}
.chip{margin:.375rem auto 0}
.address{padding-inline:.875rem;font-weight:600;background:var(--panel)}
[dir=rtl] .chip{padding:.25rem .25rem .25rem .75rem}
.chip a{white-space:nowrap;padding-block:.25rem;margin-block:-.25rem}
.chip bdi{display:flex;min-width:0}
.chip bdi span{flex:0 999 auto;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.chip bdi span+span{flex:0 1 auto;max-width:55vw}
.avatar{width:1.5rem;height:1.5rem;border-radius:50%;font-size:.75rem;color:var(--on-accent);background:var(--accent);
  border:1px solid var(--accent-edge)}
.badge{display:inline-block;padding:0 .5rem;font-size:.8125rem;font-weight:600;line-height:1.25rem;max-width:100%;
  color:var(--on-soft);background:var(--soft);border-radius:1rem;overflow-wrap:anywhere}
.badge.good{color:var(--good);background:var(--good-ground)}
.badge.bad{color:var(--warn);background:var(--warn-ground)}
.field{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.375rem .75rem;align-items:baseline}
.field>*{grid-column:1/-1;min-width:0}
.field>label{grid-area:1/1/auto/auto}
label{font-weight:550;font-size:.875rem;line-height:1.43}
label i{font-style:normal;font-weight:400;color:var(--quiet)}
input,select,textarea{width:100%;min-height:var(--h);padding:.5rem .8125rem;font:inherit;color:inherit;
  background:var(--card);border:1px solid var(--edge);border-radius:var(--radius)}
input:hover,select:hover,textarea:hover{border-color:var(--text)}
[aria-invalid]{border:2px solid var(--wrong);padding-inline:.75rem}
.digits{font:500 1.25rem/1.4 ui-monospace,SFMono-Regular,Consolas,monospace;letter-spacing:.12em;text-align:center}
fieldset{display:grid;min-width:0;margin:0;padding:0;border:0}
legend{padding:0;font-size:.875rem;font-weight:550}
fieldset.field{gap:0}
fieldset[aria-invalid]{padding-bottom:.75rem;border-radius:var(--radius)}
.check{display:flex;gap:.625rem;align-items:center}
.check input{flex:none;width:1.25rem;min-height:1.25rem;height:1.25rem;margin:0;padding:0;accent-color:var(--link)}
.check label{flex:1;min-height:2.75rem;padding:.75rem 0;font-weight:400;font-size:.9375rem}
.secret{position:relative}
.secret input{padding-inline-end:3rem}
input::-ms-reveal{display:none}
button,.button,.actions a{display:flex;align-items:center;justify-content:center;gap:.5rem;width:100%;
  min-height:var(--h);padding:.5rem 1rem;font:inherit;font-weight:600;line-height:1.375;text-align:center;
  text-decoration:none;color:var(--on-accent);background:var(--accent);border:1px solid var(--accent-edge);
  border-radius:var(--radius);cursor:pointer;transition:background-color .12s ease-out}
form>button{margin-top:.25rem}
form>button+button,.actions+.actions{margin-top:-.25rem}
button:hover,.button:hover,.actions a:hover{background:var(--hover)}
button:disabled{opacity:.55;cursor:default}
.quiet:is(a,button){color:var(--text);background:transparent;border-color:var(--edge)}
.plain:is(a,button){color:var(--link);background:transparent;border-color:transparent}
.quiet:is(a,button):hover,.plain:is(a,button):hover{background:var(--panel)}
button.danger{color:var(--on-wrong);background:var(--wrong);border-color:var(--wrong)}
button.danger:hover{background:var(--wrong-hover)}
button.small,a.small{width:auto;min-height:2.25rem;padding:.25rem .875rem;font-size:.875rem}
button[aria-busy]{cursor:progress}
button[aria-busy]::after{${SPINNER};opacity:0;animation:turn .8s linear infinite,show 0s .15s forwards}
@keyframes turn{to{transform:rotate(1turn)}}
@keyframes show{to{opacity:1}}
@keyframes enter{from{transform:translateY(-4px)}}
.choice{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,11rem),1fr));gap:.75rem;margin-top:.25rem}
button.reveal{position:absolute;inset-block:0;inset-inline-end:0;width:2.75rem;min-height:0;padding:0;
  color:var(--quiet);background:transparent;border:0}
button.reveal:hover{color:var(--text)}
.reveal::before{${swap(EYE)}}
.reveal[aria-pressed=true]::before{${swap(EYE_STRUCK)}}
.keeps{display:flex;flex-wrap:wrap;gap:.5rem;margin:0}
.keeps button{flex:1 0 auto;width:auto;margin:0;padding-inline:.75rem}
.decide{grid-template-columns:1fr}
@media (min-width:30rem){.decide{grid-template-columns:1fr 1fr}.decide button:first-child{order:1}}
.or{display:flex;gap:.75rem;align-items:center;font-size:.875rem;color:var(--quiet)}
.or::before,.or::after{content:"";flex:1;height:1px;background:var(--line)}
.ways{display:flex;flex-wrap:wrap;gap:.5rem}
.ways a,.ways button{flex:1 0 auto;width:auto;min-width:calc(50% - .25rem);max-width:100%;display:flex;
  align-items:center;justify-content:center;gap:.5rem;min-height:var(--h);margin:0;padding:.375rem .5rem;
  font-size:.9375rem;font-weight:550;line-height:1.25;text-align:center;
  text-decoration:none;color:var(--provider-text);background:var(--provider);border:1px solid var(--provider-edge);
  border-radius:var(--radius)}
.ways a:hover,.ways button:hover{text-decoration:underline;background:var(--provider)}
.ways svg,.ways img{flex:none;width:1.25rem;height:1.25rem}
.ways span{min-width:0;overflow-wrap:anywhere}
a{color:var(--link);text-decoration:underline;text-decoration-thickness:1px;text-underline-offset:.18em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
[aria-invalid]:focus-visible{outline-color:var(--wrong)}
.note:focus-visible{outline:0}
.links{display:grid;gap:.75rem;margin-top:.5rem;text-align:center}
.links a{display:inline-block;padding-block:.75rem;margin-block:-.75rem}
.alert,.wrong{color:var(--wrong)}
.wrong:not(:empty){display:flex;gap:.375rem}
.wrong::before{${shape(WARNING, '1rem')};margin-top:.125rem}
.alert,.note{display:flex;gap:.625rem;padding:.75rem .875rem;background:var(--wrong-ground);
  border-radius:var(--radius);animation:enter .16s ease-out}
.alert::before,.note::before{${swap(WARNING)}}
.note{color:var(--good);background:var(--good-ground)}
.note::before{${swap(CHECK)}}
.note.plain{color:var(--warn);background:var(--warn-ground)}
.note.plain::before{${swap(WARNING)}}
[aria-live]:empty{position:absolute}
form[data-passkey]{align-content:start}
form[data-passkey]:has(+.ways){margin-bottom:-.5rem}
form+button.plain{margin-top:-.5rem}
@media (scripting:enabled){form[data-passkey][hidden]{display:grid!important;visibility:hidden}}
.without form[data-passkey]{display:none!important}
form:not([hidden])+.instead{display:none}
@media (scripting:enabled){body:not(.without) .instead{display:none}}
.code{display:flex;flex-wrap:wrap;gap:.25rem .625rem;align-items:center;justify-content:center;text-align:center;
  font-size:.875rem;color:var(--quiet)}
.code code{-webkit-user-select:all;user-select:all;overflow-wrap:anywhere}
.scopes{display:grid;gap:.5rem;width:100%;padding:.75rem 1rem;font-size:.9375rem;background:var(--panel);
  border:1px solid var(--line);border-radius:var(--radius)}
.points{display:grid;gap:.625rem}
.scopes li,.points li{display:flex;gap:.625rem}
.scopes li::before,.points li::before{${shape(CHECK, '1.125rem')};margin-top:.1875rem;background:var(--link)}
.scopes span{min-width:0}
.rows,.items{display:grid;background:var(--card);border:1px solid var(--line);border-radius:calc(var(--radius)*1.4)}
.rows>li+li,.items>li+li{border-top:1px solid var(--line)}
.rows a{display:flex;align-items:center;gap:.75rem;min-height:3.5rem;padding:.5rem 1rem;color:var(--text);
  text-decoration:none}
.rows a>span{flex:1;min-width:0}
small{display:block;font-size:.875rem;color:var(--quiet);overflow-wrap:anywhere}
.rows [data-icon]{color:var(--quiet)}
.rows a::after{${shape(CHEVRON, '1.125rem')};color:var(--quiet)}
.rows{overflow:hidden}
.rows a:hover{background:var(--panel)}
.rows a:focus-visible{outline-offset:-2px;border-radius:var(--radius)}
[dir=rtl] .rows a::after,[dir=rtl] .pick:not([open])>summary::after{transform:scaleX(-1)}
.items>li{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:center;justify-content:space-between;
  min-height:3.75rem;padding:.75rem 1rem}
.items>li>div{flex:1 1 11rem;min-width:0;display:grid;gap:.125rem}
.items button,.items .quiet{width:auto;min-height:2.25rem;margin:0;padding:.25rem .875rem;font-size:.875rem}
.items form{max-width:100%;display:grid;gap:.5rem}
.items>li>[data-icon]{align-self:start;margin-top:.125rem;color:var(--quiet)}
[data-icon]:not(.icon){display:inline-flex;flex:none}
.change>summary{display:inline-flex;align-items:center;min-height:2.25rem;padding:.25rem .875rem;font-size:.875rem;
  font-weight:600;border:1px solid var(--edge);border-radius:var(--radius);list-style:none}
:is(.change,.pick,.who)>summary::-webkit-details-marker{display:none}
.change[open]{flex-basis:100%;display:grid;gap:.75rem}
.change[open]>summary{justify-self:end}
.pick{border:1px solid var(--edge);border-radius:var(--radius)}
.pick>summary{display:flex;align-items:center;gap:.75rem;min-height:4rem;padding:.75rem 1rem;list-style:none}
.pick>summary>span+span{flex:1}
.pick>summary::after{${shape(CHEVRON, '1.125rem')};color:var(--quiet)}
.pick[open]>summary::after{transform:rotate(90deg)}
.pick>.stack{padding:.25rem 1rem 1rem}
.group{font-size:.875rem;color:var(--quiet)}
.remove a{display:inline-block;padding-block:.75rem;font-size:.9375rem;color:var(--wrong);text-decoration:none}
.remove a:hover{text-decoration:underline}
section.stack{gap:.75rem}
section+section,.rows+.actions{margin-top:1rem}
.back{display:inline-flex;align-items:center;gap:.25rem;justify-self:start;min-height:2.75rem;font-size:.9375rem;
  text-decoration:none}
.back::before{${shape(CHEVRON, '1.125rem')};transform:scaleX(-1)}
[dir=rtl] .back::before{transform:none}
.own-app{text-align:center}
.wide{padding-top:0}
.wide .head{justify-items:start;text-align:start}
.wide .top{display:flex;gap:1rem;align-items:center;justify-content:space-between;min-height:3.5rem;
  margin-bottom:1.5rem;color:var(--text);
  border-image:linear-gradient(var(--card) calc(100% - 1px),var(--line) 0) fill 0//0 100vmax}
.column{display:none}
.column a{display:block;padding:.625rem .75rem;font-size:.9375rem;color:var(--title);text-decoration:none;
  border-radius:var(--radius)}
.column a:hover{background:var(--panel);color:var(--text)}
.column [aria-current]{font-weight:600;color:var(--on-soft)!important;background:var(--soft)!important}
.tabs{display:block;margin-bottom:1rem}
.tabs ul{display:flex;flex-wrap:wrap;gap:.25rem}
table{width:100%;border-collapse:collapse;background:var(--card);border:1px solid var(--line);font-size:.9375rem}
th,td{padding:.625rem .75rem;text-align:start;vertical-align:top}
td bdi{overflow-wrap:anywhere}
th{font-size:.875rem;font-weight:550;color:var(--quiet)}
th,td .badge,td time{overflow-wrap:normal;white-space:nowrap}
.inline{display:flex;flex-wrap:wrap;gap:0 1.25rem}
tbody tr{border-top:1px solid var(--line)}
@media (max-width:47.99rem){thead{display:none}table,tbody,tr,td{display:block}tr{padding:.5rem 0}
  td{padding:.125rem 1rem}td::before{content:attr(data-label) " ";font-size:.875rem;color:var(--quiet)}}
.pager{display:flex;gap:1rem}
dl,dd{margin:0;min-width:0;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:minmax(0,1fr);gap:.5rem}
dt{font-size:.875rem;color:var(--quiet)}
.who{position:relative;flex:none;max-width:60%}
.who summary{margin:0;padding:.25rem!important;background:var(--card);list-style:none}
.who bdi{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.who>div{position:absolute;z-index:1;inset-inline-end:0;top:100%;display:grid;gap:.75rem;width:max-content;
  min-width:min(12rem,85vw);max-width:min(20rem,85vw);margin-top:.375rem;padding:.75rem;background:var(--card);
  border:1px solid var(--line);border-radius:var(--radius);box-shadow:0 12px 32px rgb(0 0 0/.12)}
.who p bdi{all:unset}
details.more>summary{min-height:2.75rem;padding-block:.625rem;color:var(--link)}
details.more[open]{display:grid;gap:.75rem}
.qr{display:block;width:min(100%,12rem);height:auto;margin-inline:auto}
.key{text-align:center;overflow-wrap:anywhere}
.codes{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,12rem),1fr));gap:.25rem 1rem;padding:.75rem;
  line-height:1.25;text-align:center;background:var(--panel);border:1px solid var(--line);border-radius:var(--radius)}
.codes code{font-size:1rem;-webkit-user-select:all;user-select:all}
code{font:.9375em ui-monospace,SFMono-Regular,Consolas,monospace}
.foot{display:flex;flex-wrap:wrap;gap:0 1.25rem;align-items:center;justify-content:center;margin-top:auto;
  padding-top:1.25rem;font-size:.875rem;color:var(--quiet)}
.foot a,.foot summary{display:inline-flex;align-items:center;gap:.375rem;min-height:2rem;color:inherit}
.foot button{width:auto;min-height:2rem;margin:0;padding:0;font-weight:400;color:inherit}
.foot a{text-decoration-color:transparent}
.foot a:hover,.foot a:focus-visible{text-decoration-color:currentColor}
summary{cursor:pointer}
.foot summary{list-style:none}
.foot summary::-webkit-details-marker{display:none}
.foot summary::before{${shape(GLOBE, '1rem')}}
.foot details[open]{flex-basis:100%;text-align:center}
.foot details ul{display:flex;flex-wrap:wrap;gap:0 1rem;justify-content:center}
.foot [aria-current]{font-weight:650}
@media (pointer:coarse){.stack>.stack{order:1}html{--h:3rem}
  .items button,.items .quiet,button.small,a.small{min-height:2.5rem}}
${CARD}
@media (min-width:32rem){.wide .card{padding:0;background:none;border:0;box-shadow:none}}
@media (min-width:48rem){.wide{display:grid;grid-template:auto 1fr auto/clamp(11rem,21vw,12.5rem) minmax(0,1fr);
  gap:0 2rem;align-items:start;max-width:57rem}.wide>*{grid-column:1/-1}.wide .card{grid-column:2}
  .wide .column{display:block;grid-column:1}.tabs ul{display:block}.wide .back{display:none}
  .wide .choice{display:flex;flex-wrap:wrap}.wide .choice>*{width:auto}.wide:has(table){max-width:72rem}
  .wide h1{font-size:1.75rem;line-height:2.125rem}
  .wide .who bdi{position:static;width:auto;height:auto;clip-path:none}
  .who summary::after{content:"▾"/"";padding-inline-end:.25rem}.wide .who p{display:none}
  .wide .links{text-align:start}
  .wide form:has(>.field){padding:1.5rem;background:var(--card);border:1px solid var(--line);
  border-radius:calc(var(--radius)*1.4)}.wide form>button,.wide .actions a,.wide .choice{width:auto;
  min-width:min(100%,12rem);
  justify-self:start}.wide form>button+button{margin-top:0}.wide .qr{margin-inline:0}
  .wide .key,.own-app{text-align:start}}
@media (min-width:32rem) and (min-height:56.25rem){.page:not(.wide){padding-top:12vh}}
@media (prefers-reduced-motion:reduce){*,::after{transition:none!important;animation:none!important}
  button[aria-busy]::after{opacity:1}}
@media (prefers-contrast:more){:root{--line:var(--text);--edge:var(--text);--quiet:var(--text)}}
@media (forced-colors:active){${SHAPED}{forced-color-adjust:none;background:CanvasText!important}
  .reveal::before{background:ButtonText!important}[aria-invalid]{border-style:dashed}
  button:not(.quiet,.plain,.reveal),.button:not(.quiet,.plain){forced-color-adjust:none;color:ButtonFace;
  background:ButtonText;border-color:ButtonText}}
@media print{.top,.foot,.actions,button,form{display:none!important}}
`
