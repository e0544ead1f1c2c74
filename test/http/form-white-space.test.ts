/** People type and paste names, addresses and codes with white space around them. */
import t from '../support/tap.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'

const ANN = 'ann@mail.example'

t.test('trims a username at sign-up, sign-in and forgotten password, but does not trim a password', async (t) => {
  const { app, events, messages, close } = await testApp()
  t.teardown(close)
  t.equal(
    (await testBrowser(app).submit('/auth/signup', { username: `\t${ANN} `, password: PASSWORD })).statusCode,
    303
  )
  t.match(events.find(({ name }) => name === 'registered')?.payload, { username: ANN })
  for (const username of [`${ANN} `, ` ${ANN}`, `${ANN}\u00a0`, `\t${ANN}\r\n`]) {
    const reply = await testBrowser(app).submit('/auth/login', { username, password: PASSWORD })
    t.equal(reply.statusCode, 303, JSON.stringify(username))
  }
  await testBrowser(app).submit('/auth/forgot-password', { username: `${ANN}\u00a0` })
  t.match(await messages.next('password_reset'), { user: { username: ANN } })
  const padded = await testBrowser(app).submit('/auth/login', { username: ANN, password: `${PASSWORD} ` })
  t.equal(padded.statusCode, 400, 'white space may be of the password')
})
