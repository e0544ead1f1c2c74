/**
 * A model of a user at the sign-in page of a service with a connection, and of their action on each page. Tests run it
 * over `inject` and in a browser.
 */
import type { User } from '../../../lib/index.ts'
import { PASSWORD } from '../../support/app.ts'

/** The sign-in page, and three more. */
export const MOST_PAGES = 4

/** The account before. `null`: there is none. */
export const ACCOUNTS: Record<string, Partial<User> | null> = {
  nobody: null,
  confirmed: { emailVerified: true },
  unconfirmed: { emailVerified: false },
  'confirmed, without a password': { emailVerified: true, passwordHash: null },
  'unconfirmed, without a password': { emailVerified: false, passwordHash: null },
  disabled: { emailVerified: true, disabled: true }
}
export const DOMAINS: Record<string, object> = {
  'any domain': {},
  'its domain': { domains: ['acme.example'] },
  'its domain, enforced': { domains: ['acme.example'], enforce: true }
}
/** The provider's claims about the address. */
export const SAYS: Record<string, (email: string) => object> = {
  'decides on the mailbox': (email) => ({ email, emailAuthoritative: true }),
  'calls it verified': (email) => ({ email }),
  'says nothing': () => ({}),
  'says another': (email) => ({ email: `other.${email}` })
}
export const LINKING = ['confirm', 'verified-email', 'never'] as const
/** The first step of the person on the sign-in page. */
export const FIRST = ['password', 'button'] as const

export interface Person {
  email: string
  knowsPassword: boolean
  first: (typeof FIRST)[number]
}

/** A hosted page that the person sees. */
export interface Seen {
  statusCode: number
  body: string
}

/** The browser of the person. Each method resolves to the next page; `null`: the browser has left our pages. */
export interface Hands {
  open(): Promise<Seen | null>
  /** `isLedOn`: the name led to its connection, and the password was not checked. */
  type(email: string, password: string): Promise<{ seen: Seen | null; isLedOn: boolean }>
  /** Presses the button of the connection. */
  press(): Promise<Seen | null>
  /** Presses the button that links the accounts. */
  confirm(): Promise<Seen | null>
  follow(link: string): Promise<Seen | null>
}

/** The pages on the way, each as its path and its alert. */
export async function walk(hands: Hands, { email, knowsPassword, first }: Person): Promise<string[]> {
  const pages: string[] = []
  /** Takes each step once, because a repeat gives the same response. */
  const left = new Set<string>(knowsPassword ? ['password', 'button', 'link'] : ['button'])
  if (first === 'password' && !knowsPassword) left.add('password')
  let seen = await hands.open()
  while (seen !== null) {
    pages.push(pageOf(seen))
    if (pages.length > MOST_PAGES) break
    const { body } = seen
    const canType = /<form[^>]* action="\/auth\/login/.test(body) && left.has('password')
    const canPress = body.includes('/auth/connect/acme') && left.has('button')
    if (body.includes('action="/auth/connect/confirm')) seen = await hands.confirm()
    else if (canType && (first === 'password' || !canPress)) {
      const typed = await hands.type(email, knowsPassword ? PASSWORD : 'what I use elsewhere')
      if (!typed.isLedOn) left.delete('password')
      seen = typed.seen
    } else if (canPress) {
      left.delete('button')
      seen = await hands.press()
    } else if (left.has('link') && linkIn(body) !== '') {
      left.delete('link')
      seen = await hands.follow(linkIn(body))
    } else break
  }
  return pages
}

/** The page that asks to sign in as before. */
const linkIn = (html: string): string =>
  (/href="(\/auth\/login\?return_to=[^"]*confirm[^"]*)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')

const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

function pageOf({ statusCode, body }: Seen): string {
  const to = /<form[^>]* action="([^"]*)"/.exec(body)?.[1] ?? ''
  const heading = textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(body)?.[1] ?? '')
  const alert = textOf(/<[^>]* role="(?:alert|status)"[^>]*>(.*?)<\/(?:p|div|section)>/s.exec(body)?.[1] ?? '')
  const lead = textOf(/<h1.*?<\/h1>\s*<p>(.*?)<\/p>/s.exec(body)?.[1] ?? '')
  return [statusCode, to, heading, alert || lead].join(' | ')
}

/** The faults of the walk: too many pages, a page twice, or an end without a message. */
export function faultsOf(pages: readonly string[], isSignedIn: boolean): string[] {
  const trail = pages.join(' → ')
  return [
    ...(pages.length > MOST_PAGES ? [`too many pages: ${trail}`] : []),
    ...(new Set(pages).size < pages.length ? [`a page twice: ${trail}`] : []),
    ...(isSignedIn || / \| \S[^|]*$/.test(pages.at(-1) ?? '') ? [] : [`no sentence at the end: ${trail}`])
  ]
}
