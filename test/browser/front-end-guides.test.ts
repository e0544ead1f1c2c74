/** The apps of the guides for front ends, as they are printed: compiled, bundled, and walked through in Chromium. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createInterface } from 'node:readline'
import { build, type Plugin } from 'esbuild'
import type { Page } from 'playwright-core'
import { compile as compileSvelte } from 'svelte/compiler'
import t, { type Test } from '../support/tap.ts'
import { compileScript, parse } from 'vue/compiler-sfc'
import { filesOf, openWorkshop, type Project, root } from '../docs/support/guide-files.ts'
import { PASSWORD } from '../support/app.ts'
import { compilerMessages } from '../support/compile.ts'
import { freePort } from '../support/free-port.ts'
import { withChromium } from './support/chromium.ts'
import { fill, followLink, press } from './support/journeys.ts'

const EMAIL = 'ann@example.com'

const chromium = await withChromium(t)
const workshop = openWorkshop()
t.teardown(() => {
  workshop.remove()
})
const react = workshop.project('docs/guides/react.md')
const printedServer = filesOf('docs/guides/react.md').filter(({ name }) => name === 'server.js')
const vue = workshop.project('docs/guides/vue.md', { besides: printedServer })
const svelte = workshop.project('docs/guides/svelte.md', { besides: printedServer })
const plain = workshop.project('docs/guides/plain-page.md')
const twoOrigins = workshop.project('docs/guides/two-origins.md')
const fromAuth0 = workshop.project('docs/guides/from-auth0-react.md')

t.test('compiles the TypeScript code of the front-end guides', async (t) => {
  // The types in Vite's template.
  const ambient = join(react.directory, 'ambient.d.ts')
  writeFileSync(
    ambient,
    ['vite', '@vitejs/plugin-react', '@vitejs/plugin-vue', '@sveltejs/vite-plugin-svelte', '*.vue', '*.svelte']
      .map(
        (name) =>
          `declare module '${name}' { export const defineConfig: (config: object) => object; export ` +
          'const svelte: () => object; const it: any; export default it }'
      )
      .join('\n')
  )
  const files = [react, vue, svelte, twoOrigins, fromAuth0].flatMap(({ directory, files }) =>
    files.filter(({ name }) => /\.tsx?$/.test(name)).map(({ name }) => join(directory, name))
  )
  const messages = compilerMessages(react.directory, [ambient, ...files], {
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    jsx: 'react-jsx',
    module: 'esnext',
    moduleResolution: 'bundler'
  })
  t.ok(files.length >= 12)
  t.strictSame(
    [...messages].flatMap(([file, texts]) => texts.map((text) => `${basename(file)}: ${text}`)),
    []
  )
})

/** Compiles single-file components with the compilers of Vite's plugins. */
const components: Plugin = {
  name: 'components',
  setup({ onLoad }) {
    onLoad({ filter: /\.vue$/ }, ({ path }) => {
      const { descriptor } = parse(readFileSync(path, 'utf8'), { filename: path })
      return { contents: compileScript(descriptor, { id: basename(path), inlineTemplate: true }).content, loader: 'ts' }
    })
    onLoad({ filter: /\.svelte$/ }, ({ path }) => ({
      contents: compileSvelte(readFileSync(path, 'utf8'), { filename: path, generate: 'client' }).js.code
    }))
  }
}

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    conditions: ['browser'],
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [components],
    write: false,
    logLevel: 'error'
  })
  return outputFiles[0]?.text ?? ''
}

/**
 * Starts the program that a guide prints, and waits for the line that says it listens. Returns the lines so far, and
 * later ones.
 */
async function start(
  t: Test,
  { directory }: Project,
  file: string,
  env: Record<string, string>
): Promise<{ lines: string[]; line(pattern: RegExp): Promise<string> }> {
  const program = spawn(process.execPath, [file], {
    cwd: directory,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const closed = once(program, 'close')
  t.teardown(async () => {
    program.kill()
    await closed
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: program.stdout }).on('line', (text) => {
    lines.push(text)
    waiting.forEach((look) => {
      look()
    })
  })
  const line = async (pattern: RegExp): Promise<string> =>
    await new Promise((resolve) => {
      const look = (): void => {
        const found = lines.find((text) => pattern.test(text))
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  await line(/Server listening|^Open /)
  return { lines, line }
}

/**
 * Replaces `npx vite`: serves the app, under a Content Security Policy, and forwards the paths in the guide's
 * configuration.
 */
async function devServer(
  t: Test,
  policy = ''
): Promise<{ origin: string; app: { script: string; proxy: Record<string, string> }; to(port: number): void }> {
  const app = { script: '', proxy: {} }
  let port = 0
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://app.invalid')
    if (Object.keys(app.proxy).some((prefix) => pathname.startsWith(prefix))) {
      const onward = httpRequest(
        { host: 'localhost', port, path: request.url, method: request.method, headers: request.headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
        }
      )
      onward.on('error', () => {
        response.destroy()
      })
      request.pipe(onward)
    } else if (pathname === '/app.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(app.script)
    else {
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy })
        .end(
          '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>App</title><div ' +
            'id="root"></div><div id="app"></div><script type="module" src="/app.js"></script></html>'
        )
    }
  })
  await once(server.listen(0, 'localhost'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    origin: `http://localhost:${(server.address() as { port: number }).port}`,
    app,
    to(its) {
      port = its
    }
  }
}

/** The `server.proxy` setting in the vite.config.ts of a guide. */
async function proxyOf({ directory }: Project): Promise<Record<string, string>> {
  const outfile = join(directory, 'vite.config.mjs')
  const stubs: Plugin = {
    name: 'stubs',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /vite/ }, ({ path, kind }) => (kind === 'entry-point' ? null : { path, namespace: 'stub' }))
      onLoad({ filter: /.*/, namespace: 'stub' }, () => ({
        contents:
          'export const defineConfig = (config) => config; export const svelte = () => ({}); export default svelte'
      }))
    }
  }
  await build({
    entryPoints: [join(directory, 'vite.config.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    plugins: [stubs],
    logLevel: 'error'
  })
  const { default: config } = (await import(pathToFileURL(outfile).href)) as {
    default: { server: { port: number; strictPort: boolean; proxy: Record<string, string> } }
  }
  t.match(config.server, { port: 5173, strictPort: true })
  return config.server.proxy
}

async function signIn(page: Page): Promise<void> {
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await fill(page, { Email: EMAIL, Password: PASSWORD })
  await press(page, 'Sign in')
}

t.test('React, Vue and Svelte: signs up, confirms the address, calls an API and signs out', async (t) => {
  const [, policy = ''] =
    /Content Security Policy[^`]*`([^`]*)`/.exec(readFileSync(join(root, react.page), 'utf8')) ?? []
  t.match(policy, /^default-src 'none'/)
  const vite = await devServer(t, policy)
  const port = await freePort()
  const server = await start(t, react, 'server.js', { PORT: String(port), ISSUER: vite.origin })
  vite.to(port)
  const page = await chromium.newPage(t, { locale: 'en' })

  for (const [project, entry] of [
    [react, 'src/main.tsx'],
    [vue, 'src/main.ts'],
    [svelte, 'src/main.ts']
  ] as const) {
    vite.app.script = await bundle(join(project.directory, entry))
    vite.app.proxy = await proxyOf(project)
    await page.goto(`${vite.origin}/orders`)
    if (project === react) {
      await page.waitForURL((url) => url.pathname === '/auth/login')
      await followLink(page, 'Create an account')
      await fill(page, { Email: EMAIL, Password: PASSWORD })
      await press(page, 'Create account')
      const [, link = ''] = /: (http\S+)$/.exec(await server.line(new RegExp(`^verify_email for ${EMAIL}: `))) ?? []
      await page.goto(link)
      // The link was opened in the browser that asked for it, so it signs in and leads back to the app.
      await page.getByRole('button', { name: 'Confirm email', exact: true }).click()
    } else await signIn(page)
    await page.getByText('Two chairs').waitFor()
    await page.getByText(`Signed in as ${EMAIL}`).waitFor()
    t.equal(page.url(), `${vite.origin}/orders`, `${project.page}: on the page that was asked for`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign up' }).waitFor()
    t.equal(page.url(), `${vite.origin}/`)
    // The page reports an unexpected callback and offers a way on.
    await page.goto(`${vite.origin}/callback?code=x&state=y`)
    t.match(await page.getByRole('alert').innerText(), /^state_mismatch.* Go on$/)
  }
  const answer = await fetch(`${vite.origin}/api/orders`)
  t.equal(answer.status, 401)
})

t.test('signs up and out with the program of the plain-page guide, which serves only client modules', async (t) => {
  const port = await freePort()
  await start(t, plain, 'server.mjs', { PORT: String(port) })
  const origin = `http://localhost:${port}`
  const page = await chromium.newPage(t, { locale: 'en', allow: [/favicon/] })
  await page.goto(origin)
  await page.getByText('Nobody is signed in.').waitFor()
  await page.getByRole('button', { name: 'Sign up' }).click()
  await page.waitForURL((url) => url.pathname === '/auth/signup')
  await fill(page, { Email: EMAIL, Password: PASSWORD })
  await press(page, 'Create account')
  await page.getByText(`Signed in as ${EMAIL}`).waitFor()
  await page.locator('output', { hasText: '"sub"' }).waitFor()
  t.equal(page.url(), `${origin}/`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('Nobody is signed in.').waitFor()
  for (const path of [
    '/client/..%2Findex.js',
    '/client/%2e%2e%2findex.js',
    '/client/index.d.ts',
    '/client/index.js.map',
    '/server.mjs'
  ])
    t.equal((await fetch(`${origin}${path}`)).status, 404, path)
})

t.test('signs up on a page whose API has another origin', async (t) => {
  const [port, vite] = [await freePort(), await devServer(t)]
  const api = `http://localhost:${port}`
  await start(t, twoOrigins, 'server.mjs', { PORT: String(port), ISSUER: api, PAGE: vite.origin })
  const own = workshop.project('docs/guides/two-origins.md', {
    change: (text) => text.replaceAll('http://localhost:3000', api)
  })
  vite.app.script = await bundle(join(own.directory, 'page.ts'))
  t.ok(Object.keys(await proxyOf(twoOrigins)).includes('/orders'))
  const page = await chromium.newPage(t, { locale: 'en' })
  await page.goto(`${vite.origin}/`)
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await followLink(page, 'Create an account')
  await fill(page, { Email: EMAIL, Password: PASSWORD })
  await press(page, 'Create account')
  await page.getByText('["A lamp","Two chairs"]').waitFor()
  t.equal(page.url(), `${vite.origin}/`)
})
