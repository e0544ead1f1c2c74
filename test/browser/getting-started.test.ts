/**
 * The front end of docs/getting-started.md, as it is printed there, in Chromium: it signs in by redirect and calls a
 * route.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import cors from '@fastify/cors'
import { build } from 'esbuild'
import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { signInOn } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'
import { staticServer } from './support/static-server.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const HTML =
  '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>App</title><script ' +
  'type="module" src="/app.js"></script>'

const chromium = await withChromium(t)

t.test('signs in with the front end of the getting-started guide, and shows the caller', async (t) => {
  const guide = readFileSync(`${root}docs/getting-started.md`, 'utf8')
  const [, printed = ''] =
    [...guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].find(([, code = '']) => code.includes('createAuthClient')) ?? []
  let script = ''
  const { origin } = await staticServer(t, 'localhost', (path) =>
    path === '/app.js' ? { type: 'text/javascript', body: script } : { type: 'text/html', body: HTML }
  )
  const provider = await startProvider(
    t,
    {
      clients: [{ clientId: 'spa', name: 'Shop', redirectUris: [`${origin}/`], postLogoutRedirectUris: [`${origin}/`] }]
    },
    (host) => {
      host.register(cors, { origin })
    }
  )
  const { outputFiles } = await build({
    stdin: {
      contents: printed
        .replaceAll('http://localhost:3000', provider.origin)
        .replaceAll('http://localhost:5173', origin),
      loader: 'ts',
      resolveDir: root
    },
    alias: { 'fastify-authority/client': `${root}lib/client/index.ts` },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false
  })
  script = outputFiles[0]?.text ?? ''

  const page = await chromium.newPage(t)
  await page.goto(`${origin}/`)
  await page.waitForURL(/\/auth\/login/)
  const greeted = page.waitForEvent('console', (message) => message.text().startsWith('hello '))
  const called = page.waitForEvent('console', (message) => message.text().includes('client_id: spa'))
  await signInOn(page)
  const [, sub = ''] = (await greeted).text().split(' ')
  t.match((await called).text(), `sub: ${sub}`)
  t.equal(page.url(), `${origin}/`, 'the code is out of the address')
})
