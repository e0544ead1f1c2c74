import t from '../support/tap.ts'
import { plainUrl, testApp } from '../support/app.ts'
import { CANARY, everything, HEADERS, QUERY, replyToo } from '../support/canary.ts'

// covers ASVS-16.2.5
t.test('logs no secret from the query of any route', async (t) => {
  const lines: string[] = []
  const routes: Array<{ method: string; url: string }> = []
  const { app, close } = await testApp(
    { clients: [{ clientId: 'spa', redirectUris: ['https://spa.example/cb'] }] },
    {
      logger: {
        level: 'trace',
        serializers: { req: everything as never, res: replyToo as never },
        stream: {
          write: (line: string) => {
            lines.push(line)
          }
        }
      }
    },
    (app) => {
      app.addHook('onRoute', ({ method, url }) => {
        for (const one of [method].flat()) routes.push({ method: one, url: plainUrl(url) })
      })
    }
  )
  t.teardown(close)
  const ours = routes.filter(({ url }) => url.startsWith('/auth/') || url.startsWith('/.well-known/'))
  for (const url of [
    '/auth/authorize',
    '/auth/login',
    '/auth/logout',
    '/auth/consent',
    '/auth/token',
    '/auth/revoke',
    '/auth/userinfo'
  ])
    t.ok(
      ours.some((route) => route.url === url),
      url
    )
  for (const { method, url } of ours) {
    const form = method === 'POST' ? { payload: QUERY } : {}
    const before = lines.length
    const reply = await app.inject({
      method: method as 'GET',
      url: `${url}?${QUERY}`,
      headers: {
        ...HEADERS,
        origin: 'https://spa.example',
        ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {})
      },
      ...form
    })
    const said = lines.slice(before).join('')
    t.notMatch(said, CANARY, `${method} ${url} ${reply.statusCode}`)
    t.match(said, 'incoming request')
    t.match(said, 'code=***', url)
  }
})

// covers C13
t.test('redacts the header that rateLimit.apiKey names, also with a log serializer of the host', async (t) => {
  const lines: string[] = []
  const { app, close } = await testApp(
    { rateLimit: { apiKey: { header: 'X-Partner-Key', verify: () => true } } },
    {
      logger: {
        level: 'trace',
        stream: {
          write(line: string) {
            lines.push(line)
          }
        },
        serializers: { req: (request) => ({ url: request.url, headers: request.headers, raw: request.raw?.headers }) }
      }
    },
    (host) => {
      host.addHook('onRequest', async (request) => {
        request.log.info(
          {
            req: {
              url: request.url,
              headers: { ...request.headers, 'X-Partner-Key': CANARY, Referer: `https://a.example/?token=${CANARY}` }
            }
          },
          'as the host likes'
        )
      })
    }
  )
  t.teardown(close)
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'x-partner-key': CANARY, 'x-other': 'shown' },
    payload: { grant_type: 'password', username: 'a', password: 'b' }
  })
  const text = lines.join('')
  t.match(text, /x-partner-key":"\*\*\*/)
  t.match(text, /X-Partner-Key":"\*\*\*/)
  t.match(text, /x-other":"shown/)
  t.notMatch(text, CANARY)
})
