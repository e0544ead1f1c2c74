/** Ways of people to use a page: by touch, by the keyboard alone, or by the names that a screen reader says. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'
import type { PageOptions } from './chromium.ts'
import { isFirefox } from './firefox.ts'

export interface Hand {
  name: string
  options: PageOptions
  /** Presses the button or link of this name. */
  press(page: Page, name: string): Promise<void>
  /** Types into the field of this name. */
  type(page: Page, name: string, value: string): Promise<void>
}

const control = (page: Page, name: string): Locator =>
  page
    .getByRole('button', { name, exact: true })
    .or(page.getByRole('link', { name, exact: true }))
    .first()
const field = (page: Page, name: string): Locator => page.getByLabel(name, { exact: true })

const PHONE: PageOptions = { locale: 'en', viewport: { width: 360, height: 740 }, hasTouch: true }
const TRIES = 60

const touch: Pick<Hand, 'press' | 'type'> = {
  async press(page, name) {
    const found = control(page, name)
    const box = await found.boundingBox()
    const bottom = (box?.y ?? 0) + (box?.height ?? 0) + (await page.evaluate<number>('scrollY'))
    const isPrimary = (await found.getAttribute('type')) === 'submit' && (await found.getAttribute('class')) === null
    if (isPrimary && bottom > 740) throw new Error(`"${name}" is ${bottom} px down the page`)
    await found.tap()
  },
  async type(page, name, value) {
    await field(page, name).tap()
    await page.keyboard.insertText(value)
  }
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, name: string, found: Locator): Promise<void> {
  // Some buttons can be pressed only after a moment.
  await found.click({ trial: true })
  for (let tries = 0; tries < TRIES; tries++) {
    if ((await found.and(page.locator(':focus')).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no Tab leads to "${name}"`)
}

/** Acts on the one node of the accessibility tree that has the name and one of the roles. */
async function actOn(page: Page, name: string, roles: readonly string[], act: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const { nodes } = await session.send('Accessibility.getFullAXTree')
      const found = nodes.filter(
        (node) =>
          !node.ignored &&
          node.name?.value === name &&
          roles.includes(String(node.role?.value)) &&
          !(node.properties ?? []).some((property) => property.name === 'disabled' && property.value.value === true)
      )
      if (found.length > 1) throw new Error(`${found.length} controls are called "${name}"`)
      const [node] = found
      if (node !== undefined) {
        const { object } = await session.send('DOM.resolveNode', { backendNodeId: node.backendDOMNodeId ?? 0 })
        await session.send('Runtime.callFunctionOn', {
          objectId: object.objectId ?? '',
          functionDeclaration: act,
          userGesture: true
        })
        return
      }
      await wait(50)
    }
    throw new Error(`no ${roles.join(' or ')} is called "${name}"`)
  } finally {
    // The page may be gone by the act.
    await session.detach().catch(() => {})
  }
}

const ALL: readonly Hand[] = [
  { name: 'by touch', options: { ...PHONE, javaScriptEnabled: true }, ...touch },
  { name: 'by touch, with scripts off', options: { ...PHONE, javaScriptEnabled: false }, ...touch },
  {
    name: 'by keyboard alone',
    options: { locale: 'en', javaScriptEnabled: true },
    async press(page, name) {
      await tabTo(page, name, control(page, name))
      await page.keyboard.press('Enter')
    },
    async type(page, name, value) {
      await tabTo(page, name, field(page, name))
      await page.keyboard.type(value)
    }
  },
  {
    name: 'by accessibility names alone',
    options: { locale: 'en', javaScriptEnabled: true },
    async press(page, name) {
      await actOn(page, name, ['button', 'link'], 'function () { this.click() }')
    },
    async type(page, name, value) {
      await actOn(page, name, ['textbox'], 'function () { this.focus() }')
      await page.keyboard.insertText(value)
    }
  }
]

/** Firefox offers neither the accessibility tree nor pages without scripts. */
export const HANDS = isFirefox ? ALL.slice(0, 1) : ALL
