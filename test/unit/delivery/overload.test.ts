import { setImmediate } from 'node:timers/promises'
import t from '../../support/tap.ts'
import { createBackground } from '../../../lib/accounts/background.ts'
import { createOutbox, type Post } from '../../../lib/accounts/outbox.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'

interface Told {
  what: string
  message: string
}

/** Records the calls of `onError`. */
function ear(): { told: Told[]; onError: (error: unknown, what: string) => void } {
  const told: Told[] = []
  return {
    told,
    onError: (error, what) => {
      told.push({ what, message: (error as Error).message })
    }
  }
}

// covers B17
t.test('reports an overload of background work once, and its end with a count', async (t) => {
  const { told, onError } = ear()
  const background = createBackground({ clock: steppedClock(), onError })
  const pending: Array<() => void> = []
  const start = (key: number): void => {
    background.run(String(key), 'a message could not be prepared', async () => {
      await new Promise<void>((resolve) => {
        pending.push(resolve)
      })
    })
  }
  let key = 0
  while (key < 256) start(key++)
  await setImmediate()
  // At the capacity: one work ends, one starts, and one more is dropped.
  for (let turn = 0; turn < 50; turn++) {
    start(key++)
    pending.shift()?.()
    await setImmediate()
    start(key++)
    await setImmediate()
  }
  t.equal(told.length, 1)
  t.match(told[0], { what: 'a message could not be prepared', message: /More than 256 works in the background wait/ })
  while (pending.length > 0) {
    for (const end of pending.splice(0)) end()
    await setImmediate()
  }
  await background.idle()
  t.match(told.slice(1), [
    {
      what: 'the overload of works in the background is over',
      message: '50 works in the background were dropped in all.'
    }
  ])
})

t.test('runs other work while retries wait, and runs a key with a waiting retry only once', async (t) => {
  const { told, onError } = ear()
  const clock = steppedClock()
  const background = createBackground({ clock, onError })
  const tried: string[] = []
  let isDown = true
  const insist = (key: string): void => {
    background.run(
      key,
      'a work',
      async () => {
        tried.push(key)
        if (isDown) throw new Error('the server is gone')
      },
      { retries: true }
    )
  }
  for (let key = 0; key < 257; key++) insist(String(key))
  await setImmediate()
  await setImmediate()
  t.match(told.splice(0), [
    { what: 'a work', message: /More than 256 works in the background that are tried again wait/ }
  ])
  let done = false
  background.run('other', 'another work', async () => {
    done = true
  })
  await setImmediate()
  t.equal(done, true)
  insist('0')
  const over = background.done('0')
  isDown = false
  tried.length = 0
  clock.step(1_000)
  await over
  await background.idle()
  t.equal(tried.filter((key) => key === '0').length, 1, 'once for both')
  t.equal(tried.length, 256)
  t.match(
    told.map(({ what }) => what),
    ['the overload of works in the background that are tried again is over']
  )
})

// covers B17
t.test('reports an overload of messages once, and its end with a count', async (t) => {
  const { told, onError } = ear()
  const pending: Array<() => void> = []
  const outbox = createOutbox(
    async () => {
      await new Promise<void>((resolve) => {
        pending.push(resolve)
      })
    },
    {
      clock: steppedClock(),
      events: { emit() {} },
      advise() {},
      onError,
      localeOf: () => 'en',
      canReset: true,
      accountUrl: null,
      capacity: 4
    }
  )
  const message: Post = {
    kind: 'password_changed',
    user: { id: '1', username: 'ann' },
    locale: 'en',
    origin: { requestId: null }
  }
  for (let i = 0; i < 4; i++) outbox.post(message)
  for (let turn = 0; turn < 20; turn++) {
    outbox.post(message)
    await setImmediate()
    pending.shift()?.()
    await setImmediate()
    outbox.post(message)
  }
  t.match(told, [{ what: /was dropped/, message: /More than 4 messages wait/ }])
  for (let turn = 0; turn < 5; turn++) {
    await setImmediate()
    for (const end of pending.splice(0)) end()
  }
  await setImmediate()
  t.match(told.slice(1), [{ what: 'the overload of messages is over', message: '20 messages were dropped in all.' }])
})
