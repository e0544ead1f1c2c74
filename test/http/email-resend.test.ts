import t from '../support/tap.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'
import { formAction, testBrowser } from '../support/browser.ts'

t.test('reports that no new link was sent while a link of the last five minutes still works', async (t) => {
  const { app, clock, messages, close } = await testApp({ rateLimit: {} })
  t.teardown(close)
  await signUp(app, 'eve@mail.example')
  await messages.next('verify_email')
  const browser = testBrowser(app)
  await browser.submit('/auth/login', { username: 'eve@mail.example', password: PASSWORD })
  const again = async (): Promise<string> => {
    const { body } = await browser.get('/auth/account/email')
    const reply = await browser.submit(formAction(body), { decision: 'resend' })
    return (await browser.get(String(reply.headers.location), { 'sec-fetch-site': 'same-origin' })).body
  }
  clock.step(5 * 60_000 - 1)
  t.match(await again(), /role="status"[^>]*>A link went to you a few minutes ago and still works/)
  clock.step(1)
  t.match(await again(), /role="status"[^>]*>We’ve sent a link/)
  await messages.next('verify_email')
  t.equal(messages.messages.filter(({ kind }) => kind === 'verify_email').length, 2)
})
