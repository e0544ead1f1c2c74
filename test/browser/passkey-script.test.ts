/**
 * The script of passkeys in a browser: on pages of ours, under their policy, with a server that records the posted
 * forms.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import t from '../support/tap.ts'
import { createPageReply } from '../../lib/http/pages/reply.ts'
import { resolvePages } from '../../lib/settings/sections/pages.ts'
import { pageAssetRoutes } from '../../lib/http/pages/assets.ts'
import { RENDERERS } from '../../lib/features/passkeys/pages/renderers.ts'
import { MODELS } from '../unit/pages/models.ts'
import { addAuthenticator } from './support/passkeys.ts'
import { withChromium } from './support/chromium.ts'

const { newPage } = await withChromium(t)

interface Posted {
  id: string
  type: string
  response: Record<string, string> & { transports?: string[] }
}

const challenge = (): string => randomBytes(40).toString('base64url')
const HANDLE = randomBytes(32).toString('base64url')
const made = { exclude: [] as string[], signals: {} }
const posts: Posted[] = []
const challenges: string[] = []

/** `localhost`, because passkeys need a domain name. */
async function startPages(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  const app = Fastify({ serverFactory: (handler) => server.on('request', handler) }) as unknown as FastifyInstance
  const pages = createPageReply({
    usernames: 'any',
    issuer: origin,
    prefix: '/auth',
    passkeys: true,
    renderers: RENDERERS,
    pages: resolvePages({}, origin)
  })
  const scriptUrl = pages.assets.passkeys?.url ?? ''
  const form = { action: '/post', error: null }
  pageAssetRoutes(app, pages.assets, { prefix: '/auth' })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body)
  })
  app.get('/favicon.ico', async (_request, reply) => await reply.code(204).send())
  app.get('/login', async (request, reply) => {
    const passkey = {
      scriptUrl,
      renewUrl: '/again',
      signals: made.signals,
      options: {
        rpId: 'localhost',
        challenge: challenge(),
        timeout: 300_000,
        userVerification: 'required',
        allowCredentials: []
      }
    }
    return await pages.send(
      request,
      reply,
      'login',
      { ...MODELS.login, ...form, connections: [], passkey },
      { passkeys: { renewUrl: '/again' } }
    )
  })
  app.get('/add', async (request, reply) => {
    const options = {
      rp: { id: 'localhost', name: 'Example' },
      user: { id: HANDLE, name: 'ann', displayName: 'Ann' },
      challenge: challenge(),
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
      timeout: 300_000,
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      excludeCredentials: made.exclude.map((id) => ({ type: 'public-key', id, transports: ['internal'] }))
    }
    return await pages.send(
      request,
      reply,
      'account_passkey',
      { ...MODELS.account_passkey, ...form, passkey: { scriptUrl, renewUrl: null, signals: {}, options } },
      { passkeys: { renewUrl: null } }
    )
  })
  app.get('/again', async () => {
    challenges.push(challenge())
    return {
      options: {
        rpId: 'localhost',
        challenge: challenges.at(-1),
        timeout: 300_000,
        userVerification: 'required',
        allowCredentials: []
      }
    }
  })
  app.post('/post', async (request, reply) => {
    posts.push(JSON.parse(new URLSearchParams(String(request.body)).get('credential') ?? '') as Posted)
    return await reply.type('text/html').send('<!doctype html><html lang="en"><title>Done</title><h1>Done</h1>')
  })
  await app.ready()
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
    await app.close()
  })
  return origin
}

const origin = await startPages()
/** The kinds of the page's calls, and the methods that throw when a password manager replaces the browser API. */
const WATCH = `
  const { get } = CredentialsContainer.prototype
  CredentialsContainer.prototype.get = function (options) { tell(options.mediation ?? 'modal'); return get.call(this, options) }
  PublicKeyCredential.prototype.toJSON = AuthenticatorAttestationResponse.prototype.getPublicKey = () => { throw new TypeError('Illegal invocation') }
`

/** The kinds of the page's requests, in their order. */
interface Asked {
  kinds: string[]
  /** Resolves after that many requests. */
  reach(count: number): Promise<void>
}

async function watch(page: Page): Promise<Asked> {
  const kinds: string[] = []
  const waiting = new Map<number, () => void>()
  await page.exposeFunction('tell', (kind: string) => {
    kinds.push(kind)
    waiting.get(kinds.length)?.()
  })
  await page.addInitScript(WATCH)
  return {
    kinds,
    reach: async (count) => {
      if (kinds.length < count)
        await new Promise<void>((resolve) => {
          waiting.set(count, resolve)
        })
    }
  }
}

const done = async (page: Page): Promise<Posted> => {
  await page.getByRole('heading', { name: 'Done' }).waitFor()
  const posted = posts.pop()
  if (posted === undefined) throw new Error('nothing was posted')
  return posted
}
const said = (page: Page): ReturnType<Page['locator']> => page.locator('form[data-passkey] [aria-live]')
const clientData = ({
  response: { clientDataJSON = '' }
}: Posted): { type: string; challenge: string; origin: string } =>
  JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as { type: string; challenge: string; origin: string }

// covers PK-01 PK-02 PK-03 PK-06 PK-26 PK-29 PK-30
t.test('creates a passkey, signs in by autofill and by button, and shows errors', async (t) => {
  const page = await newPage(t, { locale: 'en', allow: [/Illegal invocation/] })
  const asked = await watch(page)
  const authenticator = await addAuthenticator(page)

  await page.goto(`${origin}/add`)
  await page.getByLabel('Name of the passkey').fill('My key')
  await page.getByRole('button', { name: 'Create passkey' }).click()
  const added = await done(page)
  t.match(clientData(added), { type: 'webauthn.create', origin })
  t.strictSame(Object.keys(added.response).sort(), ['attestationObject', 'clientDataJSON', 'transports'])
  t.strictSame(added.response.transports, ['internal'])
  t.notMatch([added.id, added.response.clientDataJSON, added.response.attestationObject].join(''), /[^A-Za-z0-9_-]/)
  t.equal(await page.locator('.instead').count(), 0)
  const [stored] = await authenticator.credentials()
  t.equal(Buffer.from(stored?.credentialId ?? '', 'base64').toString('base64url'), added.id)
  t.equal(Buffer.from(stored?.userHandle ?? '', 'base64').toString('base64url'), HANDLE)

  await t.test('reports a passkey that the device already has, and keeps the typed name', async (t) => {
    made.exclude = [added.id]
    await page.goto(`${origin}/add`)
    await page.getByLabel('Name of the passkey').fill('My key')
    await page.getByLabel('Name of the passkey').press('Enter')
    await said(page).filter({ hasText: 'This device already has a passkey for your account.' }).waitFor()
    t.equal(await page.getByLabel('Name of the passkey').inputValue(), 'My key')
    t.equal(posts.length, 0)
    t.equal(await page.locator('.instead').isVisible(), false)
  })

  await t.test('signs in by a passkey that the browser proposes at the username field', async (t) => {
    // The page may navigate before all of it has loaded.
    await page.goto(`${origin}/login`, { waitUntil: 'commit' })
    const used = await done(page)
    t.equal(used.id, added.id)
    t.match(clientData(used), { type: 'webauthn.get', origin })
    t.strictSame(Object.keys(used.response).sort(), ['authenticatorData', 'clientDataJSON', 'signature', 'userHandle'])
    t.equal(used.response.userHandle, HANDLE)
  })

  await t.test('replaces the pending passkey request at each press, and shows one error text', async (t) => {
    await authenticator.answers(false)
    asked.kinds.length = 0
    await page.goto(`${origin}/login`)
    await asked.reach(1)
    t.strictSame(asked.kinds, ['conditional'])
    const button = page.getByRole('button', { name: 'Sign in with a passkey' })
    await button.click()
    await button.click()
    await asked.reach(3)
    t.strictSame(asked.kinds, ['conditional', 'modal', 'modal'])
    t.equal(await said(page).textContent(), '', 'what was given up is no failure')
    await authenticator.answers(true)
    await authenticator.recognizes(false)
    await button.click()
    await said(page).filter({ hasText: 'That did not work. Try again or choose another way.' }).waitFor()
    await asked.reach(5)
    t.equal(asked.kinds.at(-1), 'conditional', 'the field proposes again')
    t.equal(await said(page).getAttribute('aria-live'), 'polite')
    await page.getByLabel('Username or email').fill('ann')
    t.equal(
      await page.getByRole('button', { name: 'Sign in', exact: true }).isEnabled(),
      true,
      'the password form is there all the time'
    )
    await authenticator.recognizes(true)
    await button.click()
    t.equal((await done(page)).id, added.id)
  })

  await t.test('signals removed passkeys and a new username to the device', async (t) => {
    const about = { rpId: 'localhost', userId: HANDLE }
    made.signals = {
      signalCurrentUserDetails: { ...about, name: 'anna', displayName: 'Anna' },
      signalAllAcceptedCredentials: { ...about, allAcceptedCredentialIds: [added.id] },
      signalNotOfThisBrowser: {}
    }
    const updated = new Promise((resolve) => {
      authenticator.cdp.once('WebAuthn.credentialUpdated', resolve)
    })
    await authenticator.answers(false)
    await page.goto(`${origin}/login`)
    await updated
    t.match(await authenticator.credentials(), [{ userName: 'anna', userDisplayName: 'Anna' }])
    made.signals = { signalUnknownCredential: { rpId: 'localhost', credentialId: added.id } }
    const deleted = new Promise((resolve) => {
      authenticator.cdp.once('WebAuthn.credentialDeleted', resolve)
    })
    await page.goto(`${origin}/login`)
    await deleted
    t.strictSame(await authenticator.credentials(), [])
    made.signals = {}
  })
})

/**
 * A fake password manager: its own objects with the browser's prototypes, whose getters and methods throw, and views
 * instead of buffers. It fails with the errors in `failures`.
 */
const MANAGER = `
  const bytes = (text) => new TextEncoder().encode('--' + text).subarray(2)
  const like = (own, { prototype }) => Object.setPrototypeOf(own, prototype)
  const failures = [undefined, null, 'no', new DOMException('The operation either timed out or was not allowed.', 'NotAllowedError')]
  const answer = (response, kind) => async () => {
    if (location.hash === '#fails' && failures.length > 0) throw failures.shift()
    const own = Object.fromEntries(Object.entries(response).map(([name, text]) => [name, bytes(text)]))
    for (const name of Object.keys(own)) Object.defineProperty(own, name, { value: own[name] })
    return like(Object.fromEntries([['id', 'the-id'], ['rawId', bytes('id')], ['type', 'public-key'], ['response', like(own, kind)]]), PublicKeyCredential)
  }
  for (const [name, response, kind] of [['create', { clientDataJSON: 'client', attestationObject: 'attestation' }, AuthenticatorAttestationResponse], ['get', { clientDataJSON: 'client', authenticatorData: 'data', signature: 'signature' }, AuthenticatorAssertionResponse]]) {
    navigator.credentials[name] = answer(response, kind)
  }
  PublicKeyCredential.isConditionalMediationAvailable = undefined
`

// covers PK-29
t.test('accepts a credential of a password manager that replaces the browser API', async (t) => {
  const page = await newPage(t, { locale: 'en' })
  await page.addInitScript(MANAGER)
  const text = (value = ''): string => Buffer.from(value, 'base64url').toString()
  await page.goto(`${origin}/add`)
  t.equal(
    await page.evaluate(
      'navigator.credentials.create().then((made) => { try { return JSON.stringify(made) } catch ' +
        '(error) { return error.message } })'
    ),
    'Illegal invocation'
  )
  await page.getByRole('button', { name: 'Create passkey' }).click()
  const added = await done(page)
  t.same(
    {
      ...added,
      id: text(added.id),
      response: Object.fromEntries(Object.entries(added.response).map(([name, value]) => [name, text(String(value))]))
    },
    { id: 'id', type: 'public-key', response: { clientDataJSON: 'client', attestationObject: 'attestation' } }
  )
  await page.goto(`${origin}/login#fails`)
  const button = page.getByRole('button', { name: 'Sign in with a passkey' })
  for (let failed = 0; failed < 4; failed++) {
    await page.evaluate("document.querySelector('form[data-passkey] [aria-live]').textContent = ''")
    await button.click()
    await said(page).filter({ hasText: 'That did not work. Try again or choose another way.' }).waitFor()
  }
  await button.click()
  const used = await done(page)
  t.same(Object.fromEntries(Object.entries(used.response).map(([name, value]) => [name, text(String(value))])), {
    clientDataJSON: 'client',
    authenticatorData: 'data',
    signature: 'signature'
  })
})

t.test('renews a passkey challenge of eight minutes while the page is visible, and before its use', async (t) => {
  const page = await newPage(t, { locale: 'en' })
  await page.clock.install()
  const asked = await watch(page)
  const authenticator = await addAuthenticator(page)
  await authenticator.answers(false)
  await page.goto(`${origin}/login`)
  await asked.reach(1)
  t.equal(challenges.length, 0)
  await page.clock.runFor(7 * 60_000)
  const renewed = page.waitForResponse(`${origin}/again`)
  await page.clock.runFor(2 * 60_000)
  await renewed
  await asked.reach(2)
  t.strictSame(asked.kinds, ['conditional', 'conditional'])
  t.equal(challenges.length, 1)

  await page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, value: true })")
  await page.clock.runFor(20 * 60_000)
  t.equal(challenges.length, 1, 'nobody sees it')
  await page.evaluate('delete document.hidden')
  const again = page.waitForResponse(`${origin}/again`)
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await again
  await asked.reach(3)

  await page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, value: true })")
  await page.clock.runFor(20 * 60_000)
  const pressed = page.waitForResponse(`${origin}/again`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await pressed
  await asked.reach(4)
  t.equal(asked.kinds.at(-1), 'modal')
  t.equal(challenges.length, 3)
})

// covers PK-28
t.test('shows no passkey button without JavaScript or passkey support, and explains why', async (t) => {
  for (const options of [{ javaScriptEnabled: false }, {}]) {
    const page = await newPage(t, { locale: 'en', ...options })
    if (options.javaScriptEnabled === undefined) await page.addInitScript('delete window.PublicKeyCredential')
    await page.goto(`${origin}/login`)
    t.strictSame(await page.getByRole('button').filter({ visible: true }).allInnerTexts(), [
      ...(options.javaScriptEnabled === undefined ? [''] : []),
      'Sign in',
      'Forgot your password?',
      'Email me a code'
    ])
    t.equal(await page.locator('form[data-passkey]').boundingBox(), null)
    await page.goto(`${origin}/add`)
    t.equal(await page.getByText('This browser can’t use passkeys here').isVisible(), true)
    t.equal(await page.getByRole('button').filter({ visible: true }).count(), 0)
  }
})
