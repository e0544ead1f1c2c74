import { gzipSync } from 'node:zlib'
import { runInNewContext } from 'node:vm'
import t from '../../support/tap.ts'
import { accentsOf, type Color, contrast, DARK, LIGHT, mix, readable, textOn } from '../../../lib/pages/themes.ts'
import { PAGE_SCRIPT } from '../../../lib/pages/script.ts'
import { type Design, stylesheet } from '../../../lib/pages/stylesheet.ts'

const ACCENTS: Color[] = [
  '#1f5fbf',
  '#000000',
  '#ffffff',
  '#808080',
  '#767676',
  '#ff0000',
  '#00ff00',
  '#0000ff',
  '#ffff00',
  '#ffd400',
  '#00ffff',
  '#ff00ff',
  '#101828',
  '#7a3cff',
  '#f97316',
  '#e11d48',
  '#16a34a',
  '#0ea5e9'
]
const PLAIN: Design = {
  accentColor: '#1f5fbf',
  colorScheme: 'auto',
  background: { light: null, dark: null },
  radius: '0.625rem',
  layout: 'card',
  font: null
}
const THEMES = [
  ['light', LIGHT, '#000000'],
  ['dark', DARK, '#ffffff']
] as const

t.test('computes the contrast as WCAG defines it', async (t) => {
  t.equal(contrast('#000000', '#ffffff'), 21)
  t.equal(contrast('#123456', '#123456'), 1)
  t.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48')
  t.equal(contrast('#767676', '#ffffff').toFixed(2), '4.54')
  t.equal(contrast('#ffffff', '#0000ff').toFixed(2), '8.59')
  t.equal(mix('#000000', '#ffffff', 0.5), '#808080')
  t.equal(mix('#102030', '#ffffff', 0), '#102030')
  t.equal(readable('#ffff00', { on: ['#ffffff'], least: 4.5, end: '#ffffff' }), '#ffffff', 'it ends')
})

t.test('keeps the contrast of both themes at WCAG AA', async (t) => {
  for (const [name, { ground, card, text, quiet, edge, wrong, wrongGround }] of THEMES) {
    for (const background of [ground, card]) {
      for (const color of [text, quiet, wrong])
        t.ok(contrast(color, background) >= 4.5, `${name} ${color} on ${background}`)
      t.ok(contrast(edge, background) >= 3, `${name} ${edge} on ${background}: ${contrast(edge, background)}`)
    }
    t.ok(contrast(wrong, wrongGround) >= 4.5, `${name} ${wrong} on ${wrongGround}`)
  }
})

t.test('keeps 18 accent colors readable in the light and the dark theme', async (t) => {
  for (const accent of ACCENTS) {
    t.ok(contrast(textOn(accent), accent) >= 4.5, `text on ${accent}`)
    for (const [name, theme, end] of THEMES) {
      const { button, onButton, hover, link, edge } = accentsOf(accent, theme, end)
      t.ok(contrast(onButton, button) >= 4.5, `${name} ${accent}: text on the button`)
      t.ok(contrast(onButton, hover) >= contrast(onButton, button), `${name} ${accent}: under the pointer`)
      for (const background of [theme.ground, theme.card]) {
        t.ok(contrast(link, background) >= 4.5, `${name} ${accent}: link ${link}`)
        t.ok(contrast(edge, background) >= 3, `${name} ${accent}: edge ${edge}`)
      }
    }
  }
  t.match(accentsOf('#1f5fbf', LIGHT, '#000000'), { button: '#1f5fbf', link: '#1f5fbf' }, 'kept where it is good')
  t.equal(accentsOf('#ffd400', LIGHT, '#000000').button, '#ffd400')
  t.not(accentsOf('#101828', DARK, '#ffffff').button, '#101828', 'a black button on black')
})

t.test('makes a stylesheet of at most 6 KiB compressed with the accent color and no external address', async (t) => {
  for (const accent of ACCENTS) {
    const css = stylesheet({ ...PLAIN, accentColor: accent })
    t.ok(gzipSync(css).length <= 6144, `${gzipSync(css).length} bytes, compressed`)
    t.match(css, accent)
    t.notMatch(css, /@import|https?:(?!\/\/www\.w3\.org\/2000\/svg)|undefined|\n\n/)
    t.equal(css.split('{').length, css.split('}').length)
  }
  const pair = stylesheet({ ...PLAIN, accentColor: { light: '#8a1f5b', dark: '#f4b6d6' } })
  const [inLight = '', inDark = ''] = pair.split('@media (prefers-color-scheme:dark)')
  t.match(inLight, '--accent:#8a1f5b')
  t.match(inDark, '--accent:#f4b6d6')
  const alone = { light: '#8a1f5b', dark: null }
  t.equal(stylesheet({ ...PLAIN, accentColor: alone }), stylesheet({ ...PLAIN, accentColor: '#8a1f5b' }))
  t.equal(stylesheet({ ...PLAIN, accentColor: '#FFD400' }), stylesheet({ ...PLAIN, accentColor: '#ffd400' }))
  for (const part of ['prefers-color-scheme:dark', 'prefers-reduced-motion:reduce', ':focus-visible', 'forced-colors'])
    t.match(stylesheet(PLAIN), part)
})

interface FakeButton {
  attributes: Record<string, string>
  /** The effects of a click. */
  clicks: Array<() => void>
}

/** The part of a document that the script of the pages uses. */
function fakeDocument({ form = false }: { form?: boolean } = {}) {
  const listeners: Record<string, Array<() => void>> = {}
  const made: FakeButton[] = []
  const input = {
    type: 'password',
    id: 'password',
    dataset: { reveal: 'Show password' },
    form: {
      addEventListener(type: string, task: () => void) {
        ;(listeners[type] ??= []).push(task)
      }
    },
    after(element: FakeButton) {
      made.push(element)
    }
  }
  const sent: unknown[] = []
  const submit = { disabled: false }
  const answer = { submit: { name: 'submit' }, querySelector: () => submit }
  const document = {
    body: { append() {}, dataset: {} },
    querySelectorAll: (selector: string) => (!form && selector.startsWith('input') ? [input] : []),
    querySelector: (selector: string) => (form && selector.startsWith('[data-submit]') ? answer : null),
    createElement(): FakeButton & Record<string, unknown> {
      const attributes: Record<string, string> = {}
      const clicks: Array<() => void> = []
      return {
        attributes,
        clicks,
        setAttribute(name: string, value: string) {
          attributes[name] = value
        },
        addEventListener(_type: string, task: () => void) {
          clicks.push(task)
        }
      }
    }
  }
  const HTMLFormElement = {
    prototype: {
      submit(this: unknown) {
        sent.push(this)
      }
    }
  }
  runInNewContext(PAGE_SCRIPT, {
    document,
    navigator: {},
    HTMLFormElement,
    addEventListener() {},
    setTimeout() {},
    clearTimeout() {}
  })
  return { input, made, listeners, sent, answer, submit }
}

t.test('adds a button that shows the password, and hides the password before the form is sent', async (t) => {
  t.ok(gzipSync(PAGE_SCRIPT).length <= 2500, 'compressed')
  const { input, made, listeners, sent } = fakeDocument()
  const [button] = made
  if (button === undefined) throw new Error('no button')
  const click = (): void => {
    for (const task of button.clicks) task()
  }
  t.match(button, { type: 'button', attributes: { 'aria-label': 'Show password', 'aria-pressed': 'false' } })
  click()
  t.equal(input.type, 'text')
  t.equal(button.attributes['aria-pressed'], 'true')
  click()
  t.equal(input.type, 'password')
  click()
  listeners.submit?.[0]?.()
  t.equal(input.type, 'password')
  t.equal(button.attributes['aria-pressed'], 'false')
  t.same(sent, [], 'no form is sent by itself')
})

t.test('submits the form_post answer once by script', async (t) => {
  const { sent, answer, submit } = fakeDocument({ form: true })
  t.same(sent, [answer])
  t.equal(submit.disabled, true)
})

t.test('leaves only the rules of the card out of the stylesheet of the plain layout', async (t) => {
  const card = stylesheet(PLAIN)
  const plain = stylesheet({ ...PLAIN, layout: 'plain' })
  t.match(card, 'body{background:var(--ground)}.card{padding:2rem')
  t.notMatch(plain, 'body{background:var(--ground)}')
  const at = card.indexOf('@media (min-width:32rem){body')
  t.equal(card.slice(0, at) + card.slice(at + card.length - plain.length), plain)
})
