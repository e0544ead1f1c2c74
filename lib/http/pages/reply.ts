import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  chooseLocale,
  directionOf,
  type Locale,
  LOCALES,
  type Messages,
  messagesOf,
  type Usernames
} from '../../pages/texts.ts'
import { type OwnTexts, withOwnTexts } from '../../pages/own-texts.ts'
import type { Design } from '../../pages/stylesheet.ts'
import type { CommonModel, ShownOptions } from '../../pages/common-model.ts'
import { type Logo, logoOf } from '../../pages/layout.ts'
import type { PageModels, PageName, RenderPage } from '../../pages/model.ts'
import type { Renderers } from '../../pages/render.ts'
import { addVary } from '../edge/cors.ts'
import { noStore } from '../edge/error-reply.ts'
import { type PageAssets, pageAssets } from './assets.ts'
import { queryOf } from './page-routes.ts'
import { type ContentSecurity, contentSecurityPolicy } from './security.ts'
import type { ClientPages } from '../../ports/client-store.ts'
import { logLine } from '../../ports/log.ts'
import { requestIdOf } from '../edge/request-origin.ts'
import { LANGUAGES } from '../../texts/languages.ts'

/** The part of a page's model that a route gives. `PageReply` adds title, logo, language and addresses. */
export type PageContent<Name extends PageName> = Omit<PageModels[Name], keyof CommonModel>

export interface PageSettings {
  /** Default 200. */
  statusCode?: number
  clientName?: string | null
  /** The brand of the client that sent the person. */
  brand?: ClientPages | undefined
  /** The languages that the authorization request asks for, most wanted first. They come before `Accept-Language`. */
  uiLocales?: readonly string[]
  /** Targets of the page's forms besides this origin: Chromium applies `form-action` to redirects too. */
  formActions?: readonly string[]
  /** Absolute URLs of images besides the logo of all pages. */
  images?: readonly string[]
  /** The page's own URL contains a token, so the browser sends only its origin as `Referer`. */
  secretAddress?: boolean
  /** The page asks for a passkey. `renewUrl`: a path of this origin that its script loads from; `null`: none. */
  passkeys?: { renewUrl: string | null } | undefined
}

/**
 * Sends hosted pages: the host's own by `pages.render`, else the built-in ones, with the headers that every page has.
 */
export interface PageReply {
  send<Name extends PageName>(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Name,
    content: PageContent<Name>,
    settings?: PageSettings
  ): Promise<FastifyReply>
  /** Sends a page that has one language and no model: the host's function and the choice of languages are left out. */
  document(
    request: FastifyRequest,
    reply: FastifyReply,
    render: (common: CommonModel) => string,
    settings?: Pick<PageSettings, 'statusCode'>
  ): Promise<FastifyReply>
  /** The texts of a page sent with the same `uiLocales`, for `pageErrorOf`. */
  messagesFor(request: FastifyRequest, settings?: Pick<PageSettings, 'uiLocales'>): Messages
  /** The files that the pages load, for `pageAssetRoutes`. */
  assets: PageAssets
}

interface PageReplyOptions {
  /** `email` if pages call the username an email address. */
  usernames: Usernames
  issuer: string
  /** The mounted prefix, which begins with the prefix of the host's instance. */
  prefix: string
  /** True if pages ask for passkeys. */
  passkeys: boolean
  /** The renderers of the features that are on. */
  renderers: Partial<Renderers>
  pages: Design & {
    title: string
    logo: Logo | null
    shown: ShownOptions
    links: CommonModel['footer']
    texts: OwnTexts
    render: RenderPage | null
  }
}

/** Loads the built-in pages when the first page is sent, because many processes only answer apps. */
const ownRenderers = () => import('../../pages/render.ts')

/**
 * Replies with a page, and replies that the host answers. These replies do not get the security headers of JSON
 * endpoints.
 */
const pageReplies = new WeakSet<FastifyReply>()

/** Answers as the host answers a path that it does not know. */
export function answerAsUnknown(reply: FastifyReply): void {
  pageReplies.add(reply)
  reply.callNotFound()
}

/** True if the reply holds a page or is the host's own: its security headers stay as they are. */
export function isPageReply(reply: FastifyReply): boolean {
  return pageReplies.has(reply)
}

export function createPageReply({
  issuer,
  prefix,
  usernames,
  passkeys,
  renderers,
  pages
}: PageReplyOptions): PageReply {
  const { origin, protocol } = new URL(issuer)
  // Names the origin, because with `no-referrer` a form of the page would come with `Origin: null`, which does not say
  // where the form is from.
  const originAlone = protocol === 'https:' ? 'strict-origin' : 'origin'
  const { shown, links: footer, texts, render } = pages
  let builtIn: Partial<Renderers> | undefined
  const assets = pageAssets({ prefix, design: pages, passkeys })
  const sources: ContentSecurity = {
    style: `${origin}${assets.style.path}`,
    script: `${origin}${assets.script.path}`,
    images: [pages.logo?.url, pages.logo?.dark, shown.faviconUrl].filter((url) => typeof url === 'string'),
    stylesheet: shown.stylesheetUrl,
    passkeys: assets.passkeys === null ? null : `${origin}${assets.passkeys.path}`
  }
  const catalogues: { [Lang in Locale]?: Messages } = {}
  const catalogueOf = (locale: Locale): Messages =>
    (catalogues[locale] ??= withOwnTexts(messagesOf(locale, usernames), texts[locale]))

  function localeFor(request: FastifyRequest, uiLocales: readonly string[] = []): ReturnType<typeof chooseLocale> {
    return chooseLocale(uiLocales, request.headers['accept-language'])
  }

  /**
   * The host's own HTML. `null` if the host has none for this page, or if its function fails, because such a failure
   * must not stop a sign-in.
   */
  async function hostHtml<Name extends PageName>(
    request: FastifyRequest,
    page: Name,
    model: PageModels[Name]
  ): Promise<string | null> {
    if (render === null) return null
    // Gives the function a copy, so that its changes stay in this call. `messages` is frozen.
    const copy: object = structuredClone({ ...model, messages: null })
    try {
      return (await render(...([page, { ...copy, messages: model.messages }] as Parameters<RenderPage>))) ?? null
    } catch (error) {
      request.log.error(
        ...logLine('FST_AUTHORITY_PAGE_FAILED', 'pages.render failed; the built-in page was sent', { err: error, page })
      )
    }
    return null
  }

  /**
   * The brand of a page: title, logo and accent, each from the client if the client has one, otherwise from the
   * service. A client with a title of its own never gets the logo of the service.
   */
  function brandOf({ title, logo, accentColor }: ClientPages = {}): Pick<CommonModel, 'title' | 'logo' | 'styleUrl'> {
    const shown = title ?? pages.title
    const image = logo ?? (title === undefined ? pages.logo : null)
    return {
      title: shown,
      logo: image && logoOf(image, shown),
      styleUrl: (accentColor === undefined ? assets.style : assets.styleWith(accentColor)).url
    }
  }

  const policyOf = (given: PageSettings['passkeys']): PageSettings['passkeys'] =>
    given && { renewUrl: given.renewUrl === null ? null : `${origin}${given.renewUrl}` }

  function commonOf(
    request: FastifyRequest,
    { uiLocales, brand, clientName = null }: PageSettings,
    languages: CommonModel['languages']
  ): CommonModel {
    const lang = localeFor(request, uiLocales)
    return {
      ...brandOf(brand),
      ...shown,
      footer,
      languages,
      requestId: requestIdOf(request),
      lang,
      dir: directionOf(lang),
      messages: catalogueOf(lang),
      scriptUrl: assets.script.url,
      clientName
    }
  }

  async function deliver(
    reply: FastifyReply,
    body: string | undefined,
    settings: PageSettings,
    { own, logo }: Pick<CommonModel, 'logo'> & { own: boolean }
  ): Promise<FastifyReply> {
    pageReplies.add(reply)
    noStore(reply)
    addVary(reply, ['Cookie', 'Accept-Language'])
    return await reply
      .code(settings.statusCode ?? 200)
      .type('text/html; charset=utf-8')
      .headers({
        'content-security-policy': contentSecurityPolicy(sources, {
          own,
          formActions: settings.formActions ?? [],
          images: [logo?.url, logo?.dark, ...(settings.images ?? [])].filter((url) => typeof url === 'string'),
          passkeys: policyOf(settings.passkeys)
        }),
        'referrer-policy': settings.secretAddress === true ? originAlone : 'same-origin',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'
      })
      .send(body)
  }

  return {
    assets,
    messagesFor: (request, { uiLocales } = {}) => catalogueOf(localeFor(request, uiLocales)),
    async send<Name extends PageName>(
      request: FastifyRequest,
      reply: FastifyReply,
      page: Name,
      content: PageContent<Name>,
      settings: PageSettings = {}
    ): Promise<FastifyReply> {
      const common = commonOf(
        request,
        settings,
        // Offers no languages on an error page, because their addresses would repeat the refused request.
        page === 'error' || page === 'connect_failed' ? [] : languagesOf(request, settings.statusCode ?? 200)
      )
      const model = { ...common, ...content } as unknown as PageModels[Name]
      const own = await hostHtml(request, page, model)
      if (own === null) builtIn ??= { ...(await ownRenderers()).RENDERERS, ...renderers }
      const body = own ?? builtIn?.[page]?.(model)
      return await deliver(reply, body, settings, { own: own !== null, logo: common.logo })
    },
    async document(request, reply, render, settings = {}) {
      const common = commonOf(request, { ...settings, uiLocales: ['en'] }, [])
      return await deliver(reply, render(common), settings, { own: false, logo: common.logo })
    }
  }
}

/**
 * Parameters of a page's address that belong to one view: the language, the note of a finished form, and the session
 * that a form was shown to.
 */
const OF_ONE_VIEW = ['ui_locales', 'done', 'session']

/**
 * Maximum length of a query that the addresses of other languages repeat, in characters. Several times what clients
 * send.
 */
const MAX_QUERY = 1500

/**
 * The page's own address in each language, as a URL with the query only, because a proxy may change the path. The page
 * after a successful post offers no languages, because a GET can't show it again. A refused form can be opened again.
 */
function languagesOf(request: FastifyRequest, statusCode: number): CommonModel['languages'] {
  if (request.method !== 'GET' && statusCode < 400) return []
  const query = queryOf(request)
  // Offers no languages for a long query, because each address repeats the query and the page could grow to a hundred
  // kilobytes.
  if (query.length > MAX_QUERY) return []
  const kept = query.split('&').filter((pair) => pair !== '' && !OF_ONE_VIEW.includes(pair.split('=', 1)[0] ?? ''))
  return LOCALES.map((lang) => ({
    lang,
    name: LANGUAGES[lang].name,
    url: `?${[...kept, `ui_locales=${lang}`].join('&')}`
  }))
}
