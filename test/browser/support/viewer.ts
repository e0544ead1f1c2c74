import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Frame, Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The findings on one document. */
export interface Sight {
  lang: string
  /**
   * Each element with its attributes, and whether it has text and in which language, in no order: the structure without
   * texts.
   */
  parts: string[]
  /** One entry per size. */
  views: View[]
}

/** A document in one size. */
export interface View {
  /** The findings of axe: the rule, and the elements that break it. */
  violations: string[]
  /** The pixels of horizontal overflow, in the page or in an element, at each of the `textSizes`. */
  overflow: number[]
  /** Words of headings that a line end divides without a hyphen, at any of the `textSizes`. */
  broken: string[]
  /** The box of each element that `measure` selects. */
  boxes: Array<{ y: number; height: number }>
}

export interface Look {
  /** The size in pixels, like a browser window's. */
  width: number
  height: number
  /** Options of `axe.run`. Without them axe is skipped. */
  axe?: Record<string, unknown> | undefined
  /** In percent. */
  textSizes?: readonly number[]
  measure?: string
}

/**
 * The axe rules on colours, sizes and positions. Only these can differ between two sizes or colour schemes of a
 * document.
 */
export const BY_SIGHT = { runOnly: ['color-contrast', 'link-in-text-block', 'target-size'] }
export const ALL_RULES = { rules: { 'target-size': { enabled: true } } }
/**
 * The axe rules on `lang`, neighbouring texts and space. With the same elements and attributes, only these can differ
 * between languages.
 */
export const BY_LANGUAGE = {
  runOnly: [
    'document-title',
    'html-has-lang',
    'html-lang-valid',
    'html-xml-lang-mismatch',
    'valid-lang',
    'frame-title-unique',
    'landmark-unique',
    'image-redundant-alt',
    'label-title-only',
    'table-duplicate-name',
    'link-in-text-block',
    'scrollable-region-focusable',
    'target-size'
  ]
}

/** The findings of axe in the current page. */
export async function violationsOf(page: Page, options: Record<string, unknown>): Promise<string[]> {
  await page.evaluate(AXE)
  return await page.evaluate<string[]>(
    `axe.run(${JSON.stringify({ preload: false, resultTypes: ['violations'], ...options })}).then(({ ` +
      'violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary ' +
      `}) => id + ': ' + html + ' ' + (failureSummary ?? ''))))`
  )
}

/**
 * Inspects documents one after another in a frame that already has axe, which takes a tenth of the time of loading each
 * as a page.
 */
export interface Viewer {
  page: Page
  frame: Frame
  /**
   * Uses the colour scheme of the page. Each document becomes the content of the frame once, and the frame takes each
   * size.
   */
  look(documents: readonly string[], looks: readonly Look[]): Promise<Sight[]>
}

/** `style` replaces the style sheets that the documents link to, `script` their scripts, and runs in each. */
export async function viewerIn(page: Page, { style = '', script = '' } = {}): Promise<Viewer> {
  // Invisible, so that nothing is painted. The size of the frame changes without a message between browser and test.
  await page.setContent(
    '<!doctype html><html lang="en"><title>Viewer</title><h1>Viewer</h1><iframe ' +
      'title="Document" style="position:absolute;left:-5000px;border:0" srcdoc="<!doctype ' +
      'html><title>Document</title>"></iframe>'
  )
  const [, frame] = page.frames()
  if (frame === undefined) throw new Error('the viewer has no frame')
  await frame.evaluate(AXE)
  await frame.evaluate(
    `globalThis.lookAt = ${lookAt}; globalThis.SCRIPT = new ` +
      `Function(${JSON.stringify(script)}); document.adoptedStyleSheets = [new CSSStyleSheet()]; ` +
      `document.adoptedStyleSheets[0].replaceSync(${JSON.stringify(style)})`
  )
  return {
    page,
    frame,
    look: async (documents, looks) =>
      await frame.evaluate<Sight[]>(`(async () => {
      const sights = []
      for (const html of ${JSON.stringify(documents)}) sights.push(await lookAt(html, ${JSON.stringify(looks)}))
      return sights
    })()`)
  }
}

/** Runs in the frame. */
const lookAt = `async (html, looks) => {
  const parsed = new DOMParser().parseFromString(html, 'text/html')
  for (const element of parsed.querySelectorAll('link[rel=stylesheet], script')) element.remove()
  document.documentElement.replaceWith(document.adoptNode(parsed.documentElement))
  const root = document.documentElement
  SCRIPT()
  await Promise.all([...document.images].map((image) => image.decode()))
  const all = [...document.querySelectorAll('body *')]
  const titles = all.filter((element) => element.matches('h1, h2'))
  const brokenWords = () => titles.flatMap((title) => {
    const texts = document.createTreeWalker(title, NodeFilter.SHOW_TEXT)
    const broken = []
    while (texts.nextNode())
      for (const { 0: word, index } of texts.currentNode.data.matchAll(/[^\\s\\u00ad-]+/gu)) {
        const range = document.createRange()
        // The drawn hyphen counts as part of the letter after the soft one.
        range.setStart(texts.currentNode, texts.currentNode.data[index - 1] === '\\u00ad' ? index + 1 : index)
        range.setEnd(texts.currentNode, index + word.length)
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word)
      }
    return broken
  })
  const views = []
  for (const { width, height, textSizes = [], measure, axe: options } of looks) {
    frameElement.style.width = width + 'px'
    frameElement.style.height = height + 'px'
    const broken = []
    const overflow = textSizes.map((size) => {
      root.style.fontSize = size + '%'
      broken.push(...brokenWords())
      // A page that runs from the right overflows on the left.
      const sides = all.map((element) => element.getBoundingClientRect())
      return Math.max(root.scrollWidth - root.clientWidth, ...sides.flatMap(({ left, right }) => [Math.ceil(right) - root.clientWidth, -Math.floor(left)]))
    })
    root.style.fontSize = ''
    views.push({
      overflow,
      broken,
      boxes: measure === undefined ? [] : [...document.querySelectorAll(measure)].map((element) => element.getBoundingClientRect()).map(({ y, height }) => ({ y, height })),
      violations: options === undefined ? [] : (await axe.run({ preload: false, resultTypes: ['violations'], ...options })).violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + (failureSummary ?? '')))
    })
  }
  // The part of an attribute that does not depend on the language.
  const meant = (name, value) => {
    if (['lang', 'hreflang'].includes(name)) return value === root.lang
    if (/^(alt|aria-label|title|data-(reveal|copy|copied|weak|fair|good|strong|failed|exists))$/.test(name)) return value !== ''
    return /^(href|formaction)$/.test(name) ? value.replace(/ui_locales=[\\w-]+/, 'ui_locales') : value
  }
  return {
    lang: root.lang,
    parts: all.map((element) => [element.localName, ...[...element.attributes].map(({ name, value }) => name + '=' + meant(name, value)), element.textContent.trim() !== ''].join(' ')).sort(),
    views
  }
}`
