import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import {
  answerAt,
  followLink,
  heading,
  press,
  signInOn,
  tokensAt,
  WITH_AND_AT_NIGHT_WITHOUT
} from './support/journeys.ts'
import { type Provider, startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t)

/** A host with a page that shows the signed-in user. */
async function withAccountPage(t: Parameters<typeof startProvider>[0]): Promise<Provider> {
  return await startProvider(t, {}, (host) => {
    host.get(
      '/account',
      {
        onRequest: (request, reply, done) => {
          host.authority.readSession.call(host, request, reply, done)
        }
      },
      async (request, reply) =>
        await reply
          .type('text/html')
          .header('cache-control', 'no-store')
          .send(
            '<!doctype html><html ' +
              `lang="en"><title>Account</title><h1>${request.authSession === null ? 'Nobody' : `User ${request.authSession.sub}`}</h1>`
          )
    )
  })
}

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`signs out ${name}`, async (t) => {
    t.test('asks before it signs out, and shows nothing of the user afterwards', async (t) => {
      const provider = await withAccountPage(t)
      const page = await newPage(t, options)
      await page.goto(`${provider.origin}/account`)
      t.equal(await heading(page), 'Nobody')
      await page.goto(`${provider.origin}/auth/login?return_to=/account`)
      await signInOn(page)
      t.equal(await heading(page), `User ${provider.ann.id}`)

      await page.goto(`${provider.origin}/auth/logout`)
      t.equal(await heading(page), 'Sign out?')
      t.equal(await page.locator('.chip').getAttribute('title'), 'ann')
      t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 1, 'opening it ends nothing')
      t.equal((await press(page, 'Sign out')).status(), 200)
      t.equal(await heading(page), 'You are signed out')
      t.strictSame(await provider.app.authority.sessions(provider.ann.id), [])
      t.strictSame(
        await page
          .context()
          .cookies(provider.origin)
          .then((cookies) => cookies.filter((cookie) => cookie.name.includes('session'))),
        []
      )

      const back = await page.goBack()
      t.equal(back?.headers()['cache-control'], 'no-store')
      t.equal(await heading(page), 'Nobody was signed in here')
      await page.goBack()
      t.equal(await heading(page), 'Nobody')
      t.notMatch(await page.content(), provider.ann.id)

      await page.goto(provider.authorizeUrl())
      t.equal(await heading(page), 'Sign in to Example Accounts', 'single sign-on has ended too')
    })

    t.test('signs out without a question with an ID token hint, and returns to the client', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await signInOn(page)
      const { id_token: hint = '' } = await tokensAt(page, provider)
      await page.goto(
        `${provider.origin}/auth/logout?${new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: `${provider.client.origin}/logged-out`, state: 's' }).toString()}`
      )
      t.equal(page.url(), `${provider.client.origin}/logged-out?state=s`)
      t.strictSame(await provider.app.authority.sessions(provider.ann.id), [])
      await page.goBack()
      await page.goto(provider.authorizeUrl({ prompt: 'none' }))
      t.match(await answerAt(page, provider), { error: 'login_required' })
    })

    t.test('asks before it signs out without an ID token hint, and returns to the client', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await signInOn(page)
      await answerAt(page, provider)
      await page.goto(
        `${provider.origin}/auth/logout?${new URLSearchParams({ client_id: 'spa', post_logout_redirect_uri: `${provider.client.origin}/logged-out` }).toString()}`
      )
      t.equal(await heading(page), 'Sign out?')
      t.equal((await press(page, 'Sign out')).status(), 303)
      t.equal(page.url(), `${provider.client.origin}/logged-out`)
    })

    t.test('reports that nobody was signed in, and offers a sign-in', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(`${provider.origin}/auth/logout`)
      t.equal(await heading(page), 'Nobody was signed in here')
      await followLink(page, 'Sign in again')
      await signInOn(page)
      t.equal(page.url(), `${provider.origin}/`)
    })

    t.test('signs out in all tabs when the user signs out in one', async (t) => {
      const provider = await withAccountPage(t)
      const one = await newPage(t, options)
      const two = await one.context().newPage()
      await one.goto(`${provider.origin}/auth/login?return_to=/account`)
      await signInOn(one)
      await two.goto(`${provider.origin}/auth/logout`)
      await one.goto(`${provider.origin}/auth/logout`)
      await press(two, 'Sign out')
      await one.reload()
      t.equal(await heading(one), 'Nobody was signed in here')
      await one.goto(`${provider.origin}/account`)
      t.equal(await heading(one), 'Nobody')
    })
  })
}
