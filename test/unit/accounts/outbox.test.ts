import t from '../../support/tap.ts'
import { createOutbox, type Post } from '../../../lib/accounts/outbox.ts'
import type { OutboxDeps } from '../../../lib/accounts/outbox.ts'
import type { LinkMessage, Message, SendMessage } from '../../../lib/ports/message.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'
import { turns } from './world.ts'

const TOKEN = 'the-token-of-the-message'
const sendable: LinkMessage<'password_reset'> = {
  kind: 'password_reset',
  user: { id: 'u1', username: 'ada@example.com', email: 'ada@example.com', passwordHash: '$argon2id$secret' },
  locale: 'de',
  token: TOKEN,
  url: `https://auth.example.com/reset#token=${TOKEN}`,
  expiresAt: new Date(0)
}
const origin = { requestId: 'req-1', ip: '192.0.2.1', userAgent: 'test' }
const message: Post = { ...sendable, origin }

function outboxOf(sendMessage: SendMessage, options: Partial<OutboxDeps> = {}) {
  const clock = steppedClock()
  const errors: Array<{ error: unknown; what: string }> = []
  const told: unknown[] = []
  const outbox = createOutbox(sendMessage, {
    clock,
    events: {
      emit(...event) {
        told.push(event)
      }
    },
    advise() {},
    onError(error, what) {
      errors.push({ error, what })
    },
    localeOf: () => 'en',
    canReset: true,
    accountUrl: 'https://auth.example.com/auth/account',
    ...options
  })
  return { clock, errors, outbox, told }
}

/** A hook that hangs until told. */
function heldHook() {
  const held: Array<() => void> = []
  return {
    held,
    send: (): Promise<void> =>
      new Promise((resolve) => {
        held.push(resolve)
      })
  }
}

t.test('sends a message after the caller has continued, without the password hash', async (t) => {
  const sent: Message[] = []
  const { outbox, errors, clock } = outboxOf((given) => {
    sent.push(given)
  })
  outbox.post(message)
  t.strictSame(sent, [])
  await turns()
  t.strictSame(sent, [
    {
      ...sendable,
      hasPassword: true,
      canReset: true,
      at: new Date(clock.now()),
      ip: '192.0.2.1',
      userAgent: 'test',
      accountUrl: 'https://auth.example.com/auth/account',
      user: { id: 'u1', username: 'ada@example.com', email: 'ada@example.com' }
    }
  ])
  outbox.post({ ...message, user: { ...message.user, passwordHash: null } })
  await turns()
  t.match(sent[1], { hasPassword: false })
  t.notOk('passwordHash' in (sent[0]?.user ?? {}))
  t.strictSame(errors, [])
})

t.test('adds IP address and user agent to a message, unless the host or another person caused it', async (t) => {
  const sent: Message[] = []
  const { outbox } = outboxOf((given) => {
    sent.push(given)
  })
  const { user, locale } = message
  const long = { requestId: null, ip: '::ffff:192.0.2.1', userAgent: 'x'.repeat(1000) }
  outbox.post({ kind: 'password_changed', user, locale, origin: long })
  outbox.post({ kind: 'password_changed', user, locale, origin: { requestId: null } })
  outbox.post({ kind: 'email_change_refused', user, locale, origin })
  for (const by of ['user', 'host'] as const) outbox.post({ kind: 'account_removed', by, user, locale, origin })
  await turns()
  t.strictSame(
    sent.map(({ ip, userAgent }) => [ip, userAgent?.length]),
    [
      ['192.0.2.1', 256],
      [null, undefined],
      [null, undefined],
      ['192.0.2.1', 4],
      [null, undefined]
    ]
  )
  t.ok(sent.every(({ at }) => at instanceof Date))
})

t.test('uses the language of the user when the request named none', async (t) => {
  const sent: string[] = []
  const { outbox } = outboxOf(
    ({ locale }) => {
      sent.push(locale)
    },
    {
      localeOf: (user) => {
        t.notOk('passwordHash' in user)
        return String(user['locale'])
      }
    }
  )
  outbox.post({ ...message, user: { ...message.user, locale: 'ja' }, locale: undefined })
  outbox.post({ ...message, user: { ...message.user, locale: 'ja' } })
  await turns()
  t.strictSame(sent, ['ja', 'de'])
})

t.test('retries after 1, 10 and 60 seconds, then reports the failure without the token', async (t) => {
  const failures: Array<[string, SendMessage]> = [
    [
      'throws',
      () => {
        throw new Error(`550 <${message.url}>`)
      }
    ],
    [
      'rejects',
      async (given) => {
        throw Object.assign(new Error(`550 token ${given.token}`), { mail: given })
      }
    ],
    ['rejects with no Error', () => Promise.reject(TOKEN as unknown as Error)]
  ]
  for (const [name, fail] of failures) {
    let calls = 0
    const { outbox, clock, errors } = outboxOf((given) => {
      calls++
      return fail(given)
    })
    outbox.post(message)
    await turns()
    t.equal(calls, 1, name)
    for (const [delay, expected] of [
      [1_000, 2],
      [10_000, 3],
      [60_000, 4]
    ] as const) {
      clock.step(delay - 1)
      await turns()
      t.equal(calls, expected - 1, `${name}: not before ${delay} ms`)
      clock.step(1)
      await turns()
      t.equal(calls, expected, `${name}: at ${delay} ms`)
    }
    clock.step(3_600_000)
    await turns()
    t.equal(calls, 4, name)
    t.equal(errors.length, 1, name)
    t.match(errors[0]?.what, /password_reset to the user u1 was given up after attempt 4/)
    const { error } = errors[0] ?? {}
    const reported =
      error instanceof Error
        ? [
            error.message,
            error.stack,
            error.cause,
            JSON.stringify(Object.getOwnPropertyNames(error).map((key) => Reflect.get(error, key)))
          ]
        : ['no error']
    t.notMatch(reported.join('\n'), TOKEN, name)
  }
})

t.test('reports no failure for a message that a retry delivered', async (t) => {
  let calls = 0
  const { outbox, clock, errors } = outboxOf(() => {
    if (++calls < 3) throw new Error('no')
  })
  outbox.post(message)
  await turns()
  clock.step(1_000)
  await turns()
  clock.step(10_000)
  await turns()
  clock.step(3_600_000)
  await turns()
  t.equal(calls, 3)
  t.strictSame(errors, [])
})

t.test('sends at most 8 messages at the same time', async (t) => {
  const { held, send } = heldHook()
  const { outbox } = outboxOf(send)
  for (let index = 0; index < 20; index++) outbox.post(message)
  await turns()
  t.equal(held.length, 8)
  for (const release of held.slice(0, 3)) release()
  await turns()
  t.equal(held.length, 11)
})

t.test('frees the slot of a send hook that hangs for two minutes, and does not retry the message', async (t) => {
  let hang = true
  let calls = 0
  const { outbox, clock, errors } = outboxOf(async () => {
    calls++
    if (hang) await new Promise(() => {})
  })
  for (let index = 0; index < 9; index++) outbox.post(message)
  await turns()
  hang = false
  clock.step(119_999)
  await turns()
  t.equal(calls, 8)
  clock.step(1)
  await turns()
  t.equal(calls, 9)
  clock.step(3_600_000)
  await turns()
  t.equal(calls, 9)
  t.equal(errors.length, 8)
})

t.test('frees no second slot when a send hook ends after its timeout', async (t) => {
  const { held, send } = heldHook()
  const { outbox, clock } = outboxOf(send)
  for (let index = 0; index < 8; index++) outbox.post(message)
  await turns()
  clock.step(120_000)
  for (const release of held) release()
  await turns()
  for (let index = 0; index < 20; index++) outbox.post(message)
  await turns()
  t.equal(held.length, 16)
})

t.test('DOS-outbox drops messages over the capacity, and reports the overload once', async (t) => {
  const { held, send } = heldHook()
  const { outbox, errors } = outboxOf(send, { capacity: 10 })
  for (let index = 0; index < 30; index++) outbox.post(message)
  t.equal(errors.length, 1)
  for (let round = 0; round < 5; round++) {
    for (const release of held) release()
    await turns()
  }
  t.equal(held.length, 10, 'ten were sent')
  outbox.post(message)
  await turns()
  t.equal(held.length, 11, 'there is room again')
})

t.test('DOS-outbox counts messages that wait for a retry against the capacity', async (t) => {
  const { outbox, errors } = outboxOf(
    () => {
      throw new Error('no')
    },
    { capacity: 3 }
  )
  for (let index = 0; index < 3; index++) outbox.post(message)
  await turns()
  t.strictSame(errors, [])
  outbox.post(message)
  t.match(errors, [{ what: /dropped/ }])
})

t.test('close sends what is accepted, and waits 5 seconds at most', async (t) => {
  t.test('resolves without a wait when the outbox has no message', async () => {
    await outboxOf(() => {}).outbox.close()
  })

  t.test('finishes accepted messages and drops new ones', async (t) => {
    const { held, send } = heldHook()
    const { outbox, errors } = outboxOf(send)
    for (let index = 0; index < 9; index++) outbox.post(message)
    await turns()
    let closed = false
    const closing = outbox.close().then(() => {
      closed = true
    })
    outbox.post(message)
    t.match(errors, [{ what: /dropped/ }])
    for (const release of held.slice(0, 8)) release()
    await turns()
    t.equal(closed, false)
    t.equal(held.length, 9)
    held[8]?.()
    await closing
    t.equal(held.length, 9)
  })

  t.test('stops waiting after 5 seconds, and reports the message that was not begun', async (t) => {
    const { held, send } = heldHook()
    const { outbox, clock, errors } = outboxOf(send)
    for (let index = 0; index < 9; index++) outbox.post(message)
    await turns()
    let closed = false
    const closing = outbox.close().then(() => {
      closed = true
    })
    clock.step(4_999)
    await turns()
    t.equal(closed, false)
    clock.step(1)
    await closing
    t.equal(errors.length, 1, 'the one that was not begun is reported')
    held[0]?.()
    await turns()
    t.equal(held.length, 8, 'and stays undone')
  })

  t.test('retries a waiting message once, and then gives up', async (t) => {
    let calls = 0
    const { outbox, clock, errors } = outboxOf(() => {
      calls++
      throw new Error('no')
    })
    outbox.post(message)
    await turns()
    await outbox.close()
    clock.step(3_600_000)
    await turns()
    t.equal(calls, 2)
    t.equal(errors.length, 1)
  })
})

t.test('emits one event for each message, with the causing request and without the content', async (t) => {
  const sent = ['message_sent', { kind: 'password_reset', userId: 'u1', attempts: 1 }, origin]
  const good = outboxOf(() => {})
  good.outbox.post(message)
  await turns()
  t.strictSame(good.told, [sent])

  let calls = 0
  const late = outboxOf(() => {
    if (++calls < 3) throw new Error(`550 ${TOKEN}`)
  })
  late.outbox.post(message)
  await turns()
  t.strictSame(late.told, [], 'nothing as long as it is tried again')
  for (const ms of [1_000, 10_000]) {
    late.clock.step(ms)
    await turns()
  }
  t.strictSame(late.told, [['message_sent', { kind: 'password_reset', userId: 'u1', attempts: 3 }, origin]])

  const broken = outboxOf(() => {
    throw new Error(`550 ${TOKEN}`)
  })
  broken.outbox.post(message)
  await turns()
  for (const ms of [1_000, 10_000, 60_000]) {
    broken.clock.step(ms)
    await turns()
  }
  t.strictSame(broken.told, [['message_failed', { kind: 'password_reset', userId: 'u1', attempts: 4 }, origin]])

  const hook = heldHook()
  const full = outboxOf(hook.send, { capacity: 1 })
  full.outbox.post(message)
  full.outbox.post({ ...message, origin: { requestId: 'req-2' } })
  t.strictSame(
    full.told,
    [['message_failed', { kind: 'password_reset', userId: 'u1', attempts: 0 }, { requestId: 'req-2' }]],
    'one for which there is no room'
  )

  await turns()
  full.clock.step(120_000)
  await turns()
  hook.held[0]?.()
  await turns()
  t.strictSame(
    full.told.slice(1),
    [['message_failed', { kind: 'password_reset', userId: 'u1', attempts: 1 }, origin]],
    'one that answers after its time is told of once'
  )
})
