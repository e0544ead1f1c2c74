/** The second step asks for one method per page, and links to the others with the same parameters. */
import t from '../../support/tap.ts'
import { authAs, softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { factorApp, type FactorApp, formOf, logIn } from '../../support/factors.ts'
import { answer, askingForm } from '../../support/passkey-pages.ts'
import { addWith } from '../../support/passkeys.ts'

const QUERY = '?return_to=%2Fcart'
const STEP = `/auth/second-factor${QUERY}`
const TITLES = { passkey: 'Passkey', code: 'Authenticator app', recovery_code: 'Recovery code' }
type Way = keyof typeof TITLES

/** The methods that the page asks for, its links to other methods, and its title. */
function shown(html: string): { asks: string[]; links: string[]; title: string } {
  const names = [...html.matchAll(/<input(?![^>]*hidden)[^>]* name="([^"]*)"/g)].map(([, name = '']) => name)
  const asks = [askingForm(html) === null ? '' : 'passkey', ...names.filter((name) => name in TITLES)]
  const links = [...html.matchAll(/<a href="(\/auth[^"]*[?;]way=[^"]*)"/g)].map(([, url = '']) =>
    url.replaceAll('&amp;', '&')
  )
  const [, title = ''] = /<title>([^<]*)<\/title>/.exec(html) ?? []
  return { asks: asks.filter((name) => name !== ''), links, title }
}

async function step(subject: FactorApp): Promise<TestBrowser> {
  const browser = testBrowser(subject.app)
  await logIn(browser, 'ann', undefined, QUERY)
  return browser
}

async function withPasskey(subject: FactorApp) {
  const passkey = softPasskey({ origin: ISSUER })
  await addWith(
    subject,
    passkey,
    (await authAs(subject.app, { id: subject.sub }, { acr: 'phr' })).authorization.slice(7)
  )
  return passkey
}

t.test('asks for a passkey first in the second step, and links to the other methods of the account', async (t) => {
  const subject = await factorApp(t, { mfa: { rememberDevice: {} } })
  await withPasskey(subject)
  const browser = await step(subject)
  const rows: Array<[asked: string, way: Way]> = [
    ['', 'passkey'],
    ['&way=passkey', 'passkey'],
    ['&way=code', 'code'],
    ['&way=recovery_code', 'recovery_code'],
    ['&way=', 'passkey'],
    ['&way=sms', 'passkey'],
    ['&way=__proto__', 'passkey'],
    ['&way=code&way=recovery_code', 'passkey']
  ]
  for (const [asked, way] of rows) {
    const { statusCode, body } = await browser.get(`${STEP}${asked}`)
    if (statusCode === 400) {
      t.match(asked, /way=.*way=/, 'only a repeated parameter is refused')
      continue
    }
    const { asks, links, title } = shown(body)
    t.same(asks, [way], asked)
    t.match(title, TITLES[way], asked)
    t.match(body, /name="remember"/, 'each way can remember the browser')
    t.same(
      links,
      Object.keys(TITLES)
        .filter((other) => other !== way)
        .map((other) => `${STEP}&way=${other}`),
      asked
    )
  }
})

t.test('offers no second-step method that the account lacks', async (t) => {
  const subject = await factorApp(t)
  const browser = await step(subject)
  for (const asked of ['', '&way=passkey'])
    t.same(shown((await browser.get(`${STEP}${asked}`)).body).asks, ['code'], asked)
  await subject.store.countFailure({ userId: subject.sub, max: 1 })
  for (const asked of ['', '&way=code', '&way=passkey']) {
    const { body } = await browser.get(`${STEP}${asked}`)
    t.match(shown(body), { asks: ['recovery_code'], links: [] }, asked)
    t.match(body, 'After too many wrong codes', asked)
  }
})

t.test('shows the error of a second-step method on its own page, and signs in by each method', async (t) => {
  for (const way of Object.keys(TITLES) as Way[]) {
    const subject = await factorApp(t)
    const passkey = await withPasskey(subject)
    const browser = await step(subject)
    const { body } = await browser.get(`${STEP}&way=${way}`)
    const { action } = way === 'passkey' ? (askingForm(body) ?? { action: '' }) : formOf(body)
    const wrong = await browser.submit(action, { [way === 'passkey' ? 'credential' : way]: '000000' })
    t.equal(wrong.statusCode, 400, way)
    t.match(shown(wrong.body), { asks: [way], title: `Error: ${TITLES[way]}` }, way)
    const done =
      way === 'passkey'
        ? await answer(browser, wrong.body, passkey)
        : await browser.submit(formOf(wrong.body).action, {
            [way]: way === 'code' ? subject.code() : (subject.codes[0] ?? '')
          })
    t.match(done, { statusCode: 303, headers: { location: '/cart' } }, way)
  }
})
