/** An account whose owner gets the messages, and the browser of another person who knows the password. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore, type Message, type UserStore } from '../../../lib/index.ts'
import { ISSUER, signUp, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'

export const ANN = 'ann@example.com'
export const THIEF = 'thief@evil.example'
export const NEXT = 'a quite different phrase'

export async function scene(
  t: { teardown(close: () => Promise<void>): void },
  { users = memoryUserStore(), ...options }: Parameters<typeof testApp>[0] & { users?: Required<UserStore> } = {}
) {
  const factors = memoryFactorStore()
  const test = await testApp({ users, factors, registration: { username: 'email' }, ...options })
  t.teardown(test.close)
  const { sub } = await signUp(test.app, ANN)
  await users.setEmailVerified(sub, ANN)
  const thief = testBrowser(test.app)
  const press = async (token: string) => await testBrowser(test.app).submit('/auth/undo', { token })
  const token = async (password: string) =>
    await test.app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: ANN, password }
    })
  const reset = async (password: string): Promise<number> => {
    const payload = { token: (await test.messages.next('password_reset')).token, password }
    return (await test.app.inject({ method: 'POST', url: '/auth/password-reset/confirm', payload })).statusCode
  }
  return { ...test, users, factors, sub, thief, press, token, reset }
}

/** The token of the link of the next message of this kind. */
export async function linkOf(
  test: Pick<Awaited<ReturnType<typeof scene>>, 'messages'>,
  kind: 'factor_added' | 'email_changed'
): Promise<string> {
  const message: Message = await test.messages.next(kind)
  if (message.token === undefined) throw new Error(`${kind} has no link`)
  t.equal(message.url, `${ISSUER}/auth/undo?token=${message.token}`)
  t.equal(message.user.email, ANN)
  return message.token
}
