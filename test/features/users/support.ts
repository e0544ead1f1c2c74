/** An app with the user Ann, and its `app.authority.users`. */
import { memoryUserStore } from '../../../lib/index.ts'
import { signUp, testApp } from '../../support/app.ts'

export const ANN = 'ann@example.com'

export async function withAnn(
  t: { teardown(handler: () => unknown): unknown },
  options: Parameters<typeof testApp>[0] = {}
) {
  const users = memoryUserStore()
  const test = await testApp({ users, ...options })
  t.teardown(test.close)
  const { sub: id } = await signUp(test.app, ANN)
  test.events.length = 0
  return { ...test, store: users, users: test.app.authority.users, id }
}

export const oauth = (error: string, statusCode: number) => ({ name: 'OAuthError', error, statusCode })
