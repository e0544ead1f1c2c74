/** Passkeys of one domain on pages of another: how Chromium itself reads `/.well-known/webauthn`. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from '../support/tap.ts'
import type { Page } from 'playwright-core'
import { memoryFactorStore } from '../../lib/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { withChromium } from './support/chromium.ts'
import { heading, press, signInOn } from './support/journeys.ts'
import { addAuthenticator } from './support/passkeys.ts'
import { startProvider } from './support/provider.ts'

const HOST = 'accounts.example.test'
const ISSUER = `https://${HOST}`
/** A listed origin of another site, and one below the passkeys' domain. */
const LISTED = 'https://shop.test'
const BELOW = `https://shop.${HOST}`
const UNLISTED = 'https://other.test'

/** One TLS server for all names: the app at its own, a bare page at all others. Records the requests, oldest first. */
async function startHosts(app: RequestListener): Promise<{ port: number; asked: string[] }> {
  const pem = readFileSync(new URL('../support/upstream/self-signed.pem', import.meta.url))
  const asked: string[] = []
  const server = createServer({ key: pem, cert: pem }, (request, response) => {
    asked.push(`${request.headers.host}${request.url}`)
    if (request.headers.host === HOST) app(request, response)
    else
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Shop</title><h1>Shop</h1>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, asked }
}

/** A front end with the program of docs/guides/passkeys.md. Shows the tokens, or the error. */
async function signInAt(page: Page, origin: string): Promise<{ sub?: unknown; error?: string | undefined }> {
  await page.goto(origin)
  const { token, error } = await page.evaluate<{ token?: string; error?: string }>(`(async () => {
    const { options } = await (await fetch('${ISSUER}/auth/passkey-challenge')).json()
    try {
      const given = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
      const body = new URLSearchParams({ grant_type: 'urn:fastify-authority:grant-type:passkey', client_id: 'shop', credential: JSON.stringify(given.toJSON()) })
      const { access_token: token, error } = await (await fetch('${ISSUER}/auth/token', { method: 'POST', body })).json()
      return { token, error }
    } catch ({ name }) {
      return { error: name }
    }
  })()`)
  return token === undefined ? { error } : { sub: decodeJwt(token).claims.sub }
}

// covers PK-31
t.test('signs in by a passkey of the issuer on listed origins only', async (t) => {
  const provider = await startProvider(t, {
    issuer: ISSUER,
    factors: memoryFactorStore(),
    passkeys: { relatedOrigins: [LISTED, BELOW] },
    // All pages may read responses of the token endpoint, so that they differ only in passkeys.
    clients: [
      {
        clientId: 'shop',
        redirectUris: [LISTED, BELOW, UNLISTED].map((origin) => `${origin}/cb`),
        grantTypes: ['password']
      }
    ]
  })
  const { port, asked } = await startHosts((request, response) => {
    provider.app.routing(request, response)
  })
  // The browser itself requests the document on port 443, and the context's setting to ignore certificate errors does
  // not apply to that.
  const { newPage } = await withChromium(t, [
    `--host-resolver-rules=MAP *.test 127.0.0.1:${port}`,
    '--ignore-certificate-errors'
  ])
  const page = await newPage(t, { locale: 'en' })
  const { credentials } = await addAuthenticator(page)

  await page.goto(`${ISSUER}/auth/login?return_to=/auth/security`)
  await signInOn(page)
  t.equal(await heading(page), 'Sign in faster next time')
  await press(page, 'Create passkey')
  t.equal(page.url(), `${ISSUER}/auth/security`)
  t.equal((await credentials()).length, 1)

  const listAsked = (): boolean => asked.includes(`${HOST}/.well-known/webauthn`)
  t.same(await signInAt(page, BELOW), { sub: provider.ann.id })
  t.notOk(listAsked(), 'below its domain a page needs no list')
  t.same(await signInAt(page, LISTED), { sub: provider.ann.id })
  t.ok(listAsked(), 'of another site it has to be on it')
  t.same(await signInAt(page, UNLISTED), { error: 'SecurityError' })
})
