import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PAGE_SCRIPT, PASSKEY_SCRIPT } from '../../pages/script.ts'
import { type Design, stylesheet } from '../../pages/stylesheet.ts'
import { type AccentColor, accentPair } from '../../pages/themes.ts'
import { digest } from '../../protocol/digest.ts'
import { callableBy } from '../edge/callers.ts'
import { describeRoute } from '../edge/schemas.ts'

const ASSET_CACHE_SECONDS = 31_536_000
/** Maximum number of stylesheets with an accent in memory: about 2 MB. */
const MOST_BRANDED = 100
/** The query parameter `accent`: the colors of a client in light and in dark mode. */
const ACCENT = /^([0-9a-f]{6})-([0-9a-f]{6})$/

interface Asset {
  /** The path of the URL, without the version. */
  path: string
  /** The URL with a version, which changes with the content. */
  url: string
  type: string
  body: string
  version: string
}

export interface PageAssets {
  style: Asset
  /**
   * The stylesheet with the accent of a client, at the path of `style`, so that every page's Content Security Policy
   * allows it.
   */
  styleWith(accent: AccentColor): Asset
  script: Asset
  /** `null`: no page asks for a passkey. */
  passkeys: Asset | null
}

/** `prefix`: the mounted prefix, which begins with the prefix of the host's instance. */
export function pageAssets({
  prefix,
  design,
  passkeys
}: {
  prefix: string
  design: Design
  passkeys: boolean
}): PageAssets {
  const asset = (name: string, type: string, body: string, more = ''): Asset => {
    const version = digest(body).slice(0, 12)
    const path = `${prefix}/${name}`
    return { path, url: `${path}?v=${version}${more}`, type: `${type}; charset=utf-8`, body, version }
  }
  const branded = new Map<string, Asset>()
  return {
    style: asset('pages.css', 'text/css', stylesheet(design)),
    styleWith(accentColor) {
      const { light, dark } = accentPair(accentColor)
      const name = `${light.slice(1)}-${dark.slice(1)}`
      let style = branded.get(name)
      if (style === undefined) {
        // Bounded, because a stranger may ask for any accent.
        if (branded.size >= MOST_BRANDED) branded.clear()
        style = asset('pages.css', 'text/css', stylesheet({ ...design, accentColor }), `&accent=${name}`)
        branded.set(name, style)
      }
      return style
    },
    script: asset('pages.js', 'text/javascript', PAGE_SCRIPT),
    passkeys: passkeys ? asset('passkeys.js', 'text/javascript', PASSKEY_SCRIPT) : null
  }
}

/**
 * Serves the assets. `prefix`: the option `prefix`, without the prefix of the host's instance. Browsers may cache the
 * current version for a year, and must revalidate any other.
 */
export function pageAssetRoutes(
  child: FastifyInstance,
  { style, styleWith, script, passkeys }: PageAssets,
  { prefix }: { prefix: string }
): void {
  for (const [name, asset, summary, what] of [
    [
      'pages.css',
      style,
      'Stylesheet of the hosted pages',
      'Browsers cache it for a year under the version that the pages ask for.'
    ],
    ['pages.js', script, 'Script of the hosted pages', 'The pages work without it.'],
    [
      'passkeys.js',
      passkeys,
      'Script of the hosted pages that ask for a passkey',
      'It loads `GET /auth/passkey-challenge` and nothing else. At most 1 kB by gzip. Exists if passkeys are on.'
    ]
  ] as const) {
    if (asset === null) continue
    child.get(
      `${prefix}/${name}`,
      {
        ...callableBy('anyone', { what: `${summary}. ${what}` }),
        schema: describeRoute({ hide: true, summary })
      },
      (request, reply) => {
        const { accent } = request.query as { accent?: unknown }
        const [, light, dark] = asset === style && typeof accent === 'string' ? (ACCENT.exec(accent) ?? []) : []
        return sendAsset(
          light === undefined ? asset : styleWith({ light: `#${light}`, dark: `#${dark}` }),
          request,
          reply
        )
      }
    )
  }
}

function sendAsset({ type, body, version }: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const etag = `"${version}"`
  const { v } = request.query as { v?: unknown }
  // Caches only a matching version. During an update, a request for the version of one release can reach an instance of
  // another release.
  reply.header('cache-control', v === version ? `public, max-age=${ASSET_CACHE_SECONDS}, immutable` : 'no-cache')
  reply
    .header('etag', etag)
    .header('cross-origin-resource-policy', 'same-origin')
    .header('x-content-type-options', 'nosniff')
  const known = request.headers['if-none-match']?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  return known === true ? reply.code(304).send() : reply.type(type).send(body)
}
