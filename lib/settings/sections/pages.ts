import { Type } from '@sinclair/typebox'
import type { RenderPage } from '../../pages/model.ts'
import { fn, optional, section } from '../schema-words.ts'

export interface PagesOptions {
  /** Name of the service, at the top of every page. Default: the issuer's host name. */
  title?: string | undefined
  /** An absolute URL or a path. */
  logoUrl?: string | undefined
  /** `#rrggbb` */
  accentColor?: string | undefined
  /** Where a sign-in leads that came from nowhere. Default: the issuer's root. */
  home?: string | undefined
  /** HTML of the host's own for any page; `undefined`: the built-in one. */
  render?: RenderPage | undefined
  /** Whether people have a page for their own account. Default: true. */
  account?: boolean | undefined
  /** The host has its own sign-in page: an absolute URL or a path. It ends with `app.authority.signIn`. */
  loginUrl?: string | undefined
}

export interface PagesSettings {
  title: string
  logoUrl: string | null
  /** `#rrggbb` */
  accentColor: string
  /** Where a sign-in leads that came from nowhere. */
  homeUrl: string
  render: RenderPage | null
  /** Whether there is a page for a person's own account. */
  account: boolean
  /** The host's own sign-in page, in place of ours. */
  loginUrl: string | null
}

export const PAGES_DEFAULTS = { accentColor: '#1f5fbf', account: true } as const

export const PAGES_SCHEMA = optional(Type.Union([Type.Literal(false), section({
  title: optional(Type.String({ minLength: 1, maxLength: 100, default: 'the issuer\'s host name', takes: 'a string of 1 to 100 characters', description: 'Name of the service, at the top of every page.' })),
  logoUrl: optional(Type.String({ minLength: 1, takes: 'an https: URL or a path', description: 'Logo at the top of every page.' })),
  accentColor: optional(Type.String({ pattern: '^#[0-9a-fA-F]{6}$', default: PAGES_DEFAULTS.accentColor, takes: 'a colour such as "#1f5fbf"', description: 'Colour of buttons and links. Text on it is black or white, whichever reads better.' })),
  home: optional(Type.String({ minLength: 1, default: 'the issuer\'s root', takes: 'an https: URL or a path', description: 'Where a sign-in leads that came from nowhere.' })),
  render: optional(fn({ takes: 'a function', description: '`(page, model) => html`: the host\'s own HTML for any page; `undefined` takes the built-in one.' })),
  account: optional(Type.Boolean({ default: PAGES_DEFAULTS.account, takes: 'true or false', description: 'Whether there is the account page, where people see and change what they have here.' })),
  loginUrl: optional(Type.String({ minLength: 1, takes: 'an https: URL or a path', description: 'The host\'s own sign-in page, in place of the built-in sign-in and sign-up. It finishes through `app.authority.signIn`.' }))
}, 'The hosted pages.')], { default: 'built in', takes: 'false or { title, logoUrl, accentColor, home, render, account, loginUrl }', description: 'The hosted pages. `false`: none, and then no redirect sign-in either.' }))

export function resolvePages (given: PagesOptions = {}, issuer: string): PagesSettings {
  const { hostname, pathname } = new URL(issuer)
  const { title = hostname, logoUrl = null, accentColor = PAGES_DEFAULTS.accentColor, home = pathname, render = null, account = PAGES_DEFAULTS.account, loginUrl = null } = given
  return { title, logoUrl, accentColor, homeUrl: home, render, account, loginUrl }
}
