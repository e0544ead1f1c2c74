import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PAGE_SCRIPT, PASSKEY_SCRIPT } from '../../pages/script.ts'
import { type Look, stylesheet } from '../../pages/stylesheet.ts'
import { digest } from '../../protocol/digest.ts'
import { callableBy } from '../edge/callers.ts'
import { describeRoute } from '../edge/schemas.ts'

const MAX_AGE_SECONDS = 31_536_000

interface Asset {
  /** Without the version. */
  path: string
  /** The URL with a version, which changes with the content. */
  url: string
  type: string
  body: string
  version: string
}

export interface PageAssets {
  style: Asset
  script: Asset
  /** `null`: no page asks for a passkey. */
  passkeys: Asset | null
}

/** `prefix` as mounted, with that of the host's instance in front. */
export function pageAssets({ prefix, look, passkeys }: { prefix: string; look: Look; passkeys: boolean }): PageAssets {
  const asset = (name: string, type: string, body: string): Asset => {
    const version = digest(body).slice(0, 12)
    const path = `${prefix}/${name}`
    return { path, url: `${path}?v=${version}`, type: `${type}; charset=utf-8`, body, version }
  }
  return {
    style: asset('pages.css', 'text/css', stylesheet(look)),
    script: asset('pages.js', 'text/javascript', PAGE_SCRIPT),
    passkeys: passkeys ? asset('passkeys.js', 'text/javascript', PASSKEY_SCRIPT) : null
  }
}

/**
 * Serves them. `prefix` as the child's own routes have it. Browsers may cache the current version for a year, and must
 * revalidate any other.
 */
export function pageAssetRoutes(
  child: FastifyInstance,
  { style, script, passkeys }: PageAssets,
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
      (request, reply) => sendAsset(asset, request, reply)
    )
  }
}

function sendAsset({ type, body, version }: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const etag = `"${version}"`
  const { v } = request.query as { v?: unknown }
  // During an update, a request for one release's version can reach an instance of the other.
  reply.header('cache-control', v === version ? `public, max-age=${MAX_AGE_SECONDS}, immutable` : 'no-cache')
  reply
    .header('etag', etag)
    .header('cross-origin-resource-policy', 'same-origin')
    .header('x-content-type-options', 'nosniff')
  const known = request.headers['if-none-match']?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  return known === true ? reply.code(304).send() : reply.type(type).send(body)
}
