/** The event `registered`, also if the store created the account and lost the answer. */
import t from '../support/tap.ts'
import { memoryUserStore, type UserStore } from '../../lib/index.ts'
import { PASSWORD, type TestApp } from '../support/app.ts'
import { ask, emailApp, enter, STRANGER } from '../features/email-codes/support.ts'
import { connectApp } from './connect/support.ts'

function losing(method: 'create' | 'createWithIdentity', isDone: boolean): { users: UserStore; lose(): void } {
  const store = memoryUserStore()
  let isOn = false
  const act = store[method] as (...given: unknown[]) => Promise<unknown>
  const users = {
    ...store,
    async [method](...given: unknown[]) {
      if (!isOn) return await act(...given)
      if (isDone) await act(...given)
      throw new Error('The answer was lost.')
    }
  }
  return {
    users,
    lose() {
      isOn = true
    }
  }
}

async function told({ app, events, clock }: Pick<TestApp, 'app' | 'events' | 'clock'>): Promise<unknown[]> {
  for (let looks = 0; looks < 4; looks++) {
    await new Promise(setImmediate)
    clock.step(10_000)
  }
  await app.close()
  return events.filter(({ name }) => name === 'registered').map(({ payload }) => payload['username'])
}

for (const isDone of [true, false]) {
  const what = isDone ? 'emits the event once when the account was created' : 'emits no event without an account'

  t.test(`a registration by password whose store answer is lost ${what}`, async (t) => {
    const { users, lose } = losing('create', isDone)
    const test = await emailApp(t, { users })
    lose()
    const payload = { username: STRANGER, password: PASSWORD }
    t.equal((await test.app.inject({ method: 'POST', url: '/auth/register', payload })).statusCode, 503)
    t.same((await told(test)).slice(1), isDone ? [STRANGER] : [])
  })

  t.test(`a registration by an emailed code whose store answer is lost ${what}`, async (t) => {
    const { users, lose } = losing('create', isDone)
    const test = await emailApp(t, { users, emailSignIn: { signUp: true } })
    await ask(test.browser, STRANGER)
    const { code } = await test.mail()
    lose()
    t.equal((await enter(test.browser, code)).statusCode, 503)
    t.same((await told(test)).slice(1), isDone ? [STRANGER] : [])
  })

  t.test(`a registration through a connection whose store answer is lost ${what}`, async (t) => {
    const { users, lose } = losing('createWithIdentity', isDone)
    const test = await connectApp(t, { users })
    lose()
    t.equal((await test.through()).statusCode, 503)
    t.same(await told(test), isDone ? ['ann@example.com'] : [])
  })
}
