import formbody from '@fastify/formbody'
import t from '../support/tap.ts'
import type { PageModels } from '../../lib/pages/model.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import {
  alerts,
  answerAt,
  fill,
  heading,
  press,
  signInOn,
  userAt,
  USERNAME,
  valuesOf,
  WITH_AND_AT_NIGHT_WITHOUT
} from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const QUARTER_OF_AN_HOUR = 900_000
const { newPage } = await withChromium(t)

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`supports custom pages and handlers of the host ${name}`, async (t) => {
    t.test('shows the wait after too many attempts, and signs in after it', async (t) => {
      const provider = await startProvider(t, { rateLimit: {} })
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      for (let attempt = 1; attempt <= 5; attempt++)
        t.equal((await signInOn(page, { password: 'not this one' })).status(), 400)
      const limited = await signInOn(page)
      t.equal(limited.status(), 429)
      t.equal(limited.headers()['retry-after'], '900')
      const [limit = '', ...others] = await alerts(page)
      // The script adds the time of the clock.
      t.match(limit, /^Too many attempts\. Please wait 15 minutes and try again\.(?: \(\d+:\d\d [AP]M\))?$/)
      t.strictSame(others, [])
      t.strictSame(await valuesOf(page, USERNAME, 'Password'), ['ann', ''])
      provider.clock.step(QUARTER_OF_AN_HOUR)
      await signInOn(page)
      t.equal(await userAt(page, provider), provider.ann.id)
    })

    t.test('shows the 429 page of the host handler', async (t) => {
      const provider = await startProvider(t, {
        rateLimit: {
          login: { max: 1 },
          onLimit: (_request, reply, { retryAfter }) => {
            reply.type('text/html')
            return `<!doctype html><html lang="en"><title>Slow down</title><h1>Come back in ${retryAfter} s</h1>`
          }
        }
      })
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await signInOn(page, { password: 'not this one' })
      t.equal((await signInOn(page)).status(), 429)
      t.equal(await heading(page), 'Come back in 900 s')
    })

    t.test('pages.render: shows custom HTML with its own style sheet', async (t) => {
      const provider = await startProvider(
        t,
        {
          pages: {
            title: 'Example Accounts',
            render: (page, model) => (page === 'login' ? ownLogin(model as PageModels['login']) : undefined)
          }
        },
        (host) => {
          host.get(
            '/own.css',
            async (_request, reply) => await reply.type('text/css').send('h1 { color: rgb(1, 2, 3) }')
          )
        }
      )
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      t.equal(await heading(page), 'My own sign-in for The App')
      t.equal(await page.evaluate("getComputedStyle(document.querySelector('h1')).color"), 'rgb(1, 2, 3)')
      await fill(page, { Name: 'ann', Secret: 'not this one' })
      await press(page, 'Go')
      t.strictSame(await alerts(page), ['The username or password is wrong.'])
      await fill(page, { Name: 'ann', Secret: PASSWORD })
      await press(page, 'Go')
      t.equal(await userAt(page, provider), provider.ann.id)
      await page.goto(`${provider.origin}/auth/logout`)
      t.equal(await heading(page), 'Sign out?', 'the others are built in')
    })

    t.test('pages.loginUrl: signs in on a custom page that calls app.authority.signIn', async (t) => {
      let userId = ''
      const provider = await startProvider(t, { pages: { loginUrl: '/my-login' } }, (host) => {
        host.register(async (child) => {
          await child.register(formbody)
          child.get<{ Querystring: { return_to: string; login_hint?: string } }>(
            '/my-login',
            async ({ query }, reply) =>
              await reply
                .type('text/html')
                .send(
                  '<!doctype html><html lang="en"><title>Mine</title><h1>My login</h1><form method="post" ' +
                    `action="/my-login?return_to=${encodeURIComponent(query.return_to)}"><label>Name <input ` +
                    `name="name" value="${query.login_hint ?? ''}"></label><button>Go</button></form>`
                )
          )
          child.post<{ Querystring: { return_to: string } }>('/my-login', async (request, reply) => {
            await host.authority.signIn(request, reply, userId)
            return await reply.redirect(request.query.return_to, 303)
          })
        })
      })
      userId = provider.ann.id
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ login_hint: 'ann' }))
      t.equal(await heading(page), 'My login')
      t.strictSame(await valuesOf(page, 'Name'), ['ann'])
      await press(page, 'Go')
      t.equal(await userAt(page, provider), provider.ann.id)
      await page.goto(provider.authorizeUrl({ prompt: 'login', state: 'again' }))
      t.equal(await heading(page), 'My login')
      await press(page, 'Go')
      t.equal((await answerAt(page, provider)).state, 'again')
      await page.goto(provider.authorizeUrl({ client_id: 'third' }))
      t.equal(await heading(page), 'A Third Party wants access to your account')
    })
  })
}

function ownLogin({ action, clientName, error, username }: PageModels['login']): string {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  return `<!doctype html><html lang="en"><title>Own</title><link rel="stylesheet" href="/own.css">
<h1>My own sign-in for ${escaped(clientName ?? '')}</h1>${error === null ? '' : `<p role="alert">${escaped(error.text)}</p>`}
<form method="post" action="${escaped(action)}"><label>Name <input name="username" value="${escaped(username)}"></label><label>Secret <input name="password" type="password"></label><button>Go</button></form></html>`
}
