/**
 * The entry `step-up` of the browser client in Chromium: signs in for a requirement of an API, and repeats the request.
 */
import t from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import { clientSubject, signIn } from './support/client-app.ts'
import { fill, signInOn, USERNAME } from './support/journeys.ts'

const SCRIPT = `
  import { answerPopup, loginWithPopup } from '/client/popup.ts'
  import { fetchWithStepUp, stepUpChallenge } from '/client/step-up.ts'
  import '/client/silent.ts'
  let windows = 0
  const signIn = (options) => (windows++, loginWithPopup(auth, { ...options, redirectUri: location.origin + '/popup' }))
  const pay = (body, options = { signIn }) => fetchWithStepUp(auth, '/api', { method: 'POST', body }, options).then(async (response) => [response.status, await response.text()])
  Object.assign(globalThis, { pay, fetchWithStepUp, stepUpChallenge, windows: () => windows })
  if (location.pathname === '/popup') globalThis.started = settle(() => answerPopup())
`

const chromium = await withChromium(t)

t.test('signs the user in again for a step-up challenge, and repeats the request once', async (t) => {
  const clock = steppedClock(Date.now())
  const subject = await clientSubject(t, { script: SCRIPT, modules: true }, { clock })
  const { app, provider } = subject
  await provider.addUser('bob')
  // Chromium's message on an answer with 401.
  const page = await chromium.newPage(t, { allow: [/Failed to load resource/] })
  const required = {
    since: 0,
    challenge:
      'DPoP algs="ES256", Bearer error="insufficient_user_authentication", error_description="A ' +
      'more recent sign-in, please.", acr_values="password", max_age="1"'
  }
  const paid: string[] = []
  await page.context().route(`${app.origin}/api`, async (route) => {
    const token = (await route.request().headerValue('authorization'))?.replace('Bearer ', '') ?? ''
    const isEnough = Number(decodeJwt(token).claims['auth_time']) * 1000 >= required.since
    const body = route.request().postData() ?? ''
    if (isEnough) paid.push(body)
    await route.fulfill(
      isEnough
        ? { body: `paid ${body}` }
        : { status: 401, headers: { 'www-authenticate': required.challenge }, body: 'refused' }
    )
  })
  const grow = (): void => {
    clock.step(2000)
    required.since = clock.now() - 999
  }
  const popupOf = async (expression: string, username: string) => {
    const opened = page.waitForEvent('popup')
    const outcome = app.call(page, expression)
    const popup = await Promise.race([
      opened,
      outcome.then((came) => {
        throw new Error(JSON.stringify(came))
      })
    ])
    await popup.waitForURL((url) => url.pathname === '/auth/login')
    const { searchParams } = new URL(popup.url())
    const closed = popup.waitForEvent('close')
    await fill(popup, { [USERNAME]: username, Password: PASSWORD })
    await popup.getByRole('button', { name: 'Sign in', exact: true }).click()
    await closed
    return { outcome: await outcome, asked: [searchParams.get('acr_values'), searchParams.get('max_age')] }
  }
  await signIn(page, subject)
  await page.goto(`${app.origin}/`)
  t.same(await app.value(page, "pay('a')"), [200, 'paid a'], 'what is enough is let through')

  grow()
  t.same(
    await popupOf("Promise.all([pay('b'), pay('c')])", 'ann'),
    {
      outcome: {
        value: [
          [200, 'paid b'],
          [200, 'paid c']
        ]
      },
      asked: ['password', '1']
    },
    'two that are refused at once'
  )
  t.equal(await page.evaluate('windows()'), 1, 'share a sign-in')
  t.same(paid.toSorted(), ['a', 'b', 'c'], 'and each is done once')

  grow()
  required.challenge = 'Bearer error="invalid_token"'
  t.same(await app.value(page, "pay('e')"), [401, 'refused'], 'another refusal is handed back')
  required.challenge = 'Bearer error="insufficient_user_authentication", max_age=1'
  await app.leave(page, "pay('f', { appState: { draft: 'f' } })")
  await page.waitForURL((url) => url.origin === provider.origin && url.pathname === '/auth/login')
  await signInOn(page)
  t.same(await app.arrived(page), { value: { appState: { draft: 'f' } } }, 'led away, and back')
  t.same(await app.value(page, "pay('f')"), [200, 'paid f'])

  grow()
  t.match(await popupOf("pay('d')", 'bob'), { outcome: { error: 'login_required', typed: true } }, 'somebody else')
  t.notOk(paid.includes('d'), 'for whom nothing is repeated')
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id }, 'and who is not signed in here')

  const challenge = async (status: number, header?: string): Promise<unknown> =>
    await page.evaluate(
      `stepUpChallenge(new Response(null, { status: ${status}, headers: ` +
        `${JSON.stringify(header === undefined ? {} : { 'WWW-Authenticate': header })} }))`
    )
  t.same(await challenge(401, 'Bearer error=insufficient_user_authentication'), {})
  t.same(await challenge(401, 'bearer acr_values="mfa phr", max_age="300", error="insufficient_user_authentication"'), {
    acr_values: 'mfa phr',
    max_age: '300'
  })
  for (const [status, header] of [
    [401],
    [401, 'Bearer'],
    [403, 'Bearer error="insufficient_user_authentication"'],
    [401, 'Bearer error="insufficient_scope"']
  ] as Array<[number, string?]>)
    t.equal(await challenge(status, header), null)
})
