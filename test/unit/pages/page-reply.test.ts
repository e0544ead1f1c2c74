import { Writable } from 'node:stream'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import { pageAssetRoutes } from '../../../lib/http/pages/assets.ts'
import { type PageContent, type PageSettings, createPageReply, isPageReply } from '../../../lib/http/pages/reply.ts'
import { OF_FEATURES } from '../../support/render-page.ts'
import type { CommonModel } from '../../../lib/pages/common-model.ts'
import type { PageModels, PageName } from '../../../lib/pages/model.ts'
import { PAGE_SCRIPT, PASSKEY_SCRIPT } from '../../../lib/pages/script.ts'
import { stylesheet } from '../../../lib/pages/stylesheet.ts'
import { type PagesOptions, resolvePages } from '../../../lib/settings/sections/pages.ts'
import { COMMON, MODELS, PAGES } from './models.ts'

const ISSUER = 'https://auth.example/tenant'
const STYLE = 'https://auth.example/api/auth/pages.css'
const SCRIPT = 'https://auth.example/api/auth/pages.js'

function contentOf<Name extends PageName>(name: Name): PageContent<Name> {
  const common = Object.keys(COMMON) as Array<keyof CommonModel>
  return Object.fromEntries(
    Object.entries(MODELS[name]).filter(([key]) => !common.includes(key as keyof CommonModel))
  ) as unknown as PageContent<Name>
}

interface Given extends PagesOptions {
  settings?: PageSettings
  before?: (app: FastifyInstance) => void
}

/** An app with `/<page>` for every page, and what it logged. */
function appOf(t: Test, { settings = {}, before, ...pages }: Given = {}) {
  const lines: string[] = []
  const app = Fastify({
    logger: {
      level: 'error',
      stream: new Writable({
        write(chunk, _encoding, done) {
          lines.push(String(chunk))
          done()
        }
      })
    }
  })
  before?.(app)
  const replies = createPageReply({
    usernames: 'any',
    issuer: ISSUER,
    prefix: '/api/auth',
    passkeys: true,
    renderers: OF_FEATURES,
    pages: resolvePages(pages, ISSUER)
  })
  pageAssetRoutes(app, replies.assets, { prefix: '/api/auth' })
  for (const name of PAGES)
    app.get(`/${name}`, async (request, reply) => await replies.send(request, reply, name, contentOf(name), settings))
  t.teardown(async () => {
    await app.close()
  })
  return { app, lines, replies }
}

const policy = (app: FastifyInstance, url = '/login') =>
  app.inject(url).then(({ headers }) => String(headers['content-security-policy']))

// covers ASVS-3.4.3 ASVS-3.4.6
t.test('sends the security headers with every page', async (t) => {
  const { app } = appOf(t)
  for (const name of PAGES) {
    const answer = await app.inject(`/${name}`)
    const { date: _date, connection: _connection, 'content-length': _length, ...headers } = answer.headers
    t.same(
      headers,
      {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        pragma: 'no-cache',
        vary: 'Cookie, Accept-Language',
        'content-security-policy':
          `default-src 'none'; style-src ${STYLE}; script-src ${SCRIPT}; img-src 'self' data:; ` +
          `form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
        'referrer-policy': 'same-origin',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'
      },
      name
    )
    t.match(answer.body, /^<!doctype html>/)
    t.match(answer.body, /href="\/api\/auth\/pages\.css\?v=[\w-]{12}"/)
  }
})

t.test('applies the status, the referrer policy, the languages and the client name that a route sets', async (t) => {
  const { app } = appOf(t, {
    settings: { statusCode: 400, secretAddress: true, clientName: 'Acme', uiLocales: ['qaa', 'de-AT'] }
  })
  const answer = await app.inject({ url: '/login', headers: { 'accept-language': 'fr' } })
  t.equal(answer.statusCode, 400)
  t.equal(answer.headers['referrer-policy'], 'strict-origin')
  t.match(answer.body, '<html lang="de" dir="ltr">')
  t.match(answer.body, /um mit <b><bdi>Acme<\/bdi><\/b> fortzufahren/)
  t.match(
    (await appOf(t).app.inject({ url: '/login', headers: { 'accept-language': 'fr-CA,en;q=0.5' } })).body,
    '<html lang="fr" dir="ltr">'
  )
  t.match(
    (await appOf(t).app.inject('/login')).body,
    '<title>Sign in to auth.example</title>',
    'the title is the host name of the issuer'
  )
  t.match((await appOf(t, { title: 'Example' }).app.inject('/login')).body, '<title>Sign in to Example</title>')
})

t.test('picks the language of error texts by ui_locales, then by Accept-Language', async (t) => {
  const { replies } = appOf(t)
  const request = { headers: { 'accept-language': 'es' } } as Parameters<typeof replies.messagesFor>[0]
  t.equal(replies.messagesFor(request).lang, 'es')
  t.equal(replies.messagesFor(request, { uiLocales: ['ja'] }).lang, 'ja')
  t.equal(replies.messagesFor({ headers: {} } as typeof request).lang, 'en')
})

t.test(
  'allows forms to lead only to origins and app schemes, and leaves out values that would widen the policy',
  async (t) => {
    const table: Array<[string, string]> = [
      ['https://app.example/cb?x=1#y', 'https://app.example'],
      ['https://APP.example:8443/cb;script-src *', 'https://app.example:8443'],
      ['http://127.0.0.1:49152/cb', 'http://127.0.0.1:49152'],
      ['http://[::1]:49152/cb', 'http:'],
      ['https://b\u00fccher.example/', 'https://xn--bcher-kva.example'],
      ['https://user:pass@app.example/', 'https://app.example'],
      ['com.example.app:/cb', 'com.example.app:'],
      ['https://*/', ''],
      ['https://*.example/', ''],
      ['*', ''],
      ["'unsafe-inline'", ''],
      ['https://a.example;script-src/', ''],
      ["https://a'b.example/", ''],
      ['https://a,b.example/', ''],
      ['javascript:alert(1)', ''],
      ['data:text/html,x', ''],
      ['blob:https://x/1', ''],
      ['', ''],
      ['/relative', '']
    ]
    for (const [given, source] of table) {
      t.match(
        await policy(appOf(t, { settings: { formActions: [given] } }).app),
        `form-action 'self'${source === '' ? '' : ` ${source}`};`,
        given
      )
    }
    t.match(
      await policy(
        appOf(t, { settings: { formActions: ['https://a.example/1', 'https://a.example/2', 'https://b.example'] } }).app
      ),
      "form-action 'self' https://a.example https://b.example;"
    )
  }
)

t.test('allows the origin of the logo in the image policy', async (t) => {
  const table: Array<[string, string]> = [
    ['/logo.svg', ''],
    ['https://cdn.example/logo.svg;x', ' https://cdn.example'],
    ['data:image/png;base64,AA', ''],
    ['//cdn.example/logo.svg', ' https://cdn.example']
  ]
  const logoAt = (url: string) => ({ url })
  for (const [logoUrl, source] of table)
    t.match(await policy(appOf(t, { logo: logoAt(logoUrl) }).app), `img-src 'self' data:${source};`, logoUrl)
})

t.test('allows only the origin of the stylesheet of the host for styles, fonts and images', async (t) => {
  const table: Array<[string, string]> = [
    ['/brand.css', "'self'"],
    ['https://cdn.example/a/b.css?c', 'https://cdn.example'],
    ['https://cdn.example:8443/x;script-src *', 'https://cdn.example:8443']
  ]
  for (const [stylesheetUrl, source] of table) {
    const { app } = appOf(t, { stylesheetUrl })
    const images = source === "'self'" ? '' : ` ${source}`
    t.equal(
      await policy(app),
      `default-src 'none'; style-src ${STYLE} ${source}; script-src ${SCRIPT}; font-src ` +
        `${source}; img-src 'self' data:${images}; form-action 'self'; frame-ancestors 'none'; ` +
        `base-uri 'none'`
    )
    t.match(
      await policy(appOf(t, { stylesheetUrl, render: () => '' }).app),
      `default-src 'none'; style-src 'self'${images}; script-src 'self'; font-src 'self'${images};`
    )
  }
  t.match(
    await policy(
      appOf(t, {
        logo: { url: '/l', dark: 'https://a.example/1' },
        faviconUrl: 'https://b.example/2'
      }).app
    ),
    "img-src 'self' data: https://a.example https://b.example;"
  )
})

t.test('uses texts of the host only in their language, also in errors', async (t) => {
  const { app, replies } = appOf(t, { texts: { en: { loginTitle: 'Welcome <back>', errorInvalidGrant: 'No.' } } })
  t.match((await app.inject('/login')).body, '<h1>Welcome &lt;back&gt;</h1>')
  t.match((await app.inject('/login?ui_locales=de')).body, '<h1>Welcome', 'the routes read ui_locales')
  t.match(
    (await app.inject({ url: '/login', headers: { 'accept-language': 'de' } })).body,
    '<h1>Bei auth.example anmelden</h1>'
  )
  t.equal(replies.messagesFor({ headers: {} } as Parameters<typeof replies.messagesFor>[0]).errorInvalidGrant, 'No.')
})

t.test('keeps the query in the language links, and hides the links on a completed form', async (t) => {
  const { app } = appOf(t)
  app.post(
    '/done',
    async (request, reply) =>
      await appOf(t).replies.send(request, reply, 'signup', contentOf('signup'), { statusCode: 202 })
  )
  app.post(
    '/refused',
    async (request, reply) =>
      await appOf(t).replies.send(request, reply, 'signup', contentOf('signup'), { statusCode: 400 })
  )
  const { body } = await app.inject('/login?client_id=a&ui_locales=fr&state=%22%3E&done=x&session=y')
  t.match(body, / formaction="\?client_id=a&amp;state=%22%3E&amp;ui_locales=de"[^>]* lang="de">Deutsch<\/button>/)
  t.match((await app.inject('/login')).body, / formaction="\?ui_locales=ja"[^>]* lang="ja"/)
  t.notMatch((await app.inject({ method: 'POST', url: '/done' })).body, '<details>')
  t.match((await app.inject({ method: 'POST', url: '/refused?x=1' })).body, 'formaction="?x=1&amp;ui_locales=en"')
})

t.test('sends the HTML of the render option with a policy for scripts and styles of the same origin', async (t) => {
  const seen: Array<[PageName, PageModels[PageName]]> = []
  const { app } = appOf(t, {
    logo: { url: 'https://cdn.example/l.png' },
    settings: { formActions: ['https://app.example/cb'] },
    render: async (page, model) => {
      seen.push([page, model])
      return page === 'login' ? '<p>own</p>' : undefined
    }
  })
  const own = await app.inject('/login')
  t.equal(own.body, '<p>own</p>')
  t.equal(own.headers['content-type'], 'text/html; charset=utf-8')
  t.equal(
    own.headers['content-security-policy'],
    "default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; connect-src " +
      "'self'; img-src 'self' data: https://cdn.example; form-action 'self' https://app.example; " +
      "frame-ancestors 'none'; base-uri 'none'"
  )
  t.match(seen, [
    ['login', { ...contentOf('login'), title: 'auth.example', lang: 'en', messages: { loginTitle: 'Sign in' } }]
  ])
  const builtIn = await app.inject('/signup')
  t.match(builtIn.body, 'Create your ')
  t.match(builtIn.headers['content-security-policy'], `script-src ${SCRIPT}`)
  t.equal((await appOf(t, { render: () => '' }).app.inject('/login')).body, '', 'an empty page is a page')
})

t.test('shows the built-in page when the render option fails', async (t) => {
  const table: Array<[string, () => unknown, RegExp | null]> = [
    [
      'throws',
      () => {
        throw new Error('broken template')
      },
      /broken template/
    ],
    [
      'rejects',
      async () => {
        throw new Error('broken template')
      },
      /broken template/
    ],
    ['null', () => null, null],
    ['undefined', () => undefined, null]
  ]
  for (const [what, render, logged] of table) {
    const { app, lines } = appOf(t, { render: render as PagesOptions['render'] })
    const answer = await app.inject('/login')
    t.equal(answer.statusCode, 200, what)
    t.match(answer.body, 'name="password"', what)
    t.match(answer.headers['content-security-policy'], `style-src ${STYLE}`, what)
    if (logged === null) t.same(lines, [], what)
    else t.match(lines.join(''), logged, what)
    t.notMatch(lines.join(''), 'reset-token')
  }
})

t.test('keeps changes that render makes to the model inside that call', async (t) => {
  const { app } = appOf(t, {
    render: (_page, model) => {
      const writable = model as unknown as Record<string, unknown>
      writable.title = 'changed'
      t.equal(model.footer.terms, null)
      Object.assign(model.footer, { terms: 'https://changed.example' })
      model.languages.length = 0
      if ('scopes' in model) model.scopes.length = 0
      t.throws(() => {
        ;(model.messages as Record<string, string>).consentTitle = 'changed'
      }, TypeError)
      return undefined
    }
  })
  for (const page of ['/consent', '/login']) {
    const { body } = await app.inject(page)
    t.notMatch(body, 'changed')
    t.match(body, 'ui_locales=de')
    if (page === '/consent') t.match(body, 'photos:write')
  }
})

t.test('extends the Vary header of the host, and overrides its security headers', async (t) => {
  const { app } = appOf(t, {
    before(app) {
      app.addHook('onRequest', async (_request, reply) => {
        reply.headers({
          vary: 'Origin, cookie',
          'content-security-policy': "default-src 'self'",
          'x-frame-options': 'SAMEORIGIN'
        })
      })
      app.addHook('onSend', async (_request, reply) => {
        reply.header('x-is-page', String(isPageReply(reply)))
      })
      app.get('/other', async () => 'x')
      app.setReplySerializer(() => {
        throw new Error('not for pages')
      })
    }
  })
  const { headers } = await app.inject('/login')
  t.match(headers, { vary: 'Origin, cookie, Accept-Language', 'x-frame-options': 'DENY', 'x-is-page': 'true' })
  t.match(headers['content-security-policy'], "default-src 'none'")
  t.equal((await app.inject('/other')).headers['x-is-page'], 'false')
})

// covers ASVS-3.2.1
t.test('uses no spread syntax in the script, because HtmlUnit does not parse it', async (t) => {
  t.notMatch(PAGE_SCRIPT, /\.\.\./)
})

t.test('serves the stylesheet and the script with a type, a version and long caching', async (t) => {
  const { app, replies } = appOf(t)
  const { style, script, passkeys } = replies.assets
  if (passkeys === null) throw new Error('no script of passkeys')
  for (const [asset, type, body] of [
    [style, 'text/css; charset=utf-8', stylesheet(resolvePages({}, ISSUER))],
    [script, 'text/javascript; charset=utf-8', PAGE_SCRIPT],
    [passkeys, 'text/javascript; charset=utf-8', PASSKEY_SCRIPT]
  ] as const) {
    const answer = await app.inject(asset.url)
    t.equal(answer.body, body)
    t.match(answer.headers, {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      etag: `"${asset.version}"`
    })
    for (const url of [asset.path, `${asset.path}?v=older`, `${asset.url}&v=twice`])
      t.equal((await app.inject(url)).headers['cache-control'], 'no-cache', 'of another release')
    for (const tag of [`"${asset.version}"`, `W/"${asset.version}"`, `"x", "${asset.version}"`]) {
      const known = await app.inject({ url: asset.url, headers: { 'if-none-match': tag } })
      t.equal(known.statusCode, 304)
      t.equal(known.body, '')
    }
    t.equal((await app.inject({ url: asset.url, headers: { 'if-none-match': '"x"' } })).statusCode, 200)
    t.equal((await app.inject({ method: 'HEAD', url: asset.url })).statusCode, 200)
  }
  t.not(
    createPageReply({
      usernames: 'any',
      issuer: ISSUER,
      prefix: '',
      passkeys: false,
      renderers: {},
      pages: resolvePages({ accentColor: '#ff0000' }, ISSUER)
    }).assets.style.version,
    style.version
  )
})
