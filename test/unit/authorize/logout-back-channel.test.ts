import t from '../../support/tap.ts'
import { type BackChannelLogoutDeps, createBackChannelLogout } from '../../../lib/authorize/logout.ts'
import type { BrowserSession } from '../../../lib/ports/session-store.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'
import { turns } from '../accounts/world.ts'

const session = (sid: string, clientIds: string[]): BrowserSession => ({
  sid,
  userId: 'ann',
  authenticatedAt: 0,
  methods: [{ method: 'password', at: 0 }],
  createdAt: 0,
  lastUsedAt: 0,
  expiresAt: 1,
  idleExpiresAt: 1,
  userAgent: null,
  clientIds
})
const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `rp${index}`)

type Answer = number | { status: number; error?: string }

/** `answer` says what each client's server does; `deaf` clients have no back-channel URI. */
function setUp(
  answer: (clientId: string, attempt: number) => Answer | Promise<Answer>,
  options: Partial<BackChannelLogoutDeps> & { deaf?: string[] } = {}
) {
  const clock = steppedClock()
  const posts: Array<{ url: string; params: Record<string, string>; timeoutMs: number }> = []
  const reports: Array<{ error: unknown; what: string }> = []
  const state = { open: 0, most: 0, minted: 0 }
  const { deaf = [], ...replaced } = options
  const backChannel = createBackChannelLogout({
    clients: {
      findById: async (clientId) =>
        clientId === 'gone'
          ? null
          : { clientId, ...(deaf.includes(clientId) ? {} : { backchannelLogoutUri: `https://${clientId}.example/bc` }) }
    },
    idTokens: {
      ready: async () => {},
      mintLogoutToken: async ({ client, userId, sid }) =>
        `logout-token-${++state.minted}:${client.clientId}:${userId}:${sid}`
    },
    async formPost(url, params, { timeoutMs }) {
      const clientId = new URL(url).hostname.split('.')[0] ?? ''
      posts.push({ url, params, timeoutMs })
      state.most = Math.max(state.most, ++state.open)
      try {
        const answered = await answer(clientId, posts.filter((post) => post.url === url).length)
        return typeof answered === 'number' ? { status: answered } : answered
      } finally {
        state.open--
      }
    },
    clock,
    onError(error, what) {
      reports.push({ error, what })
    },
    ...replaced
  })
  return { clock, posts, reports, state, backChannel }
}

// covers OIDF-oidcc-backchannel-rp-initiated-logout
t.test('sends a separate logout token to each client with a back-channel logout URI', async (t) => {
  const { backChannel, posts, reports } = setUp(() => 200, { deaf: ['deaf'] })
  backChannel.sessionsEnded([
    session('s1', ['app', 'deaf', 'shop', 'gone', 'app']),
    session('s2', ['app']),
    session('s3', [])
  ])
  t.strictSame(posts, [], "nothing happens in the caller's turn")
  await turns()
  t.strictSame(
    posts.map(({ url, params, timeoutMs }) => [
      url,
      Object.keys(params),
      params.logout_token?.split(':').slice(1).join(' '),
      timeoutMs
    ]),
    [
      ['https://app.example/bc', ['logout_token'], 'app ann s1', 5000],
      ['https://shop.example/bc', ['logout_token'], 'shop ann s1', 5000],
      ['https://app.example/bc', ['logout_token'], 'app ann s2', 5000]
    ]
  )
  t.strictSame(reports, [])
})

t.test('retries a failed logout notice once with a new token, then reports it without the token', async (t) => {
  const failure = (): Error =>
    Object.assign(new TypeError('fetch failed: logout-token-1'), {
      cause: Object.assign(new Error('logout-token-1'), { code: 'ECONNREFUSED' })
    })
  for (const [what, answer, reason] of [
    ['500', () => 500, 'It answered 500.'],
    ['400', () => 400, 'It answered 400.'],
    ['L5 400 with an error', () => ({ status: 400, error: 'invalid_request' }), 'It answered 400: "invalid_request".'],
    [
      'L5 400 with an error that looks like a line of a log',
      () => ({ status: 400, error: 'x". level="fatal' }),
      'It answered 400: "x\\". level=\\"fatal".'
    ],
    ['redirect', () => 302, 'It answered 302.'],
    [
      'refused',
      () => {
        throw failure()
      },
      'It could not be reached: ECONNREFUSED.'
    ],
    [
      'timeout',
      () => {
        throw new DOMException('logout-token-1', 'TimeoutError')
      },
      'It could not be reached: TimeoutError.'
    ]
  ] as const) {
    const { backChannel, posts, reports, clock } = setUp(answer)
    backChannel.sessionsEnded([session('s1', ['app'])])
    await turns()
    clock.step(999)
    await turns()
    t.equal(posts.length, 1, what)
    clock.step(1)
    await turns()
    clock.step(60_000)
    await turns()
    t.equal(posts.length, 2, what)
    t.not(posts[0]?.params.logout_token, posts[1]?.params.logout_token, 'a client takes one it has seen for a replay')
    t.match(
      reports,
      [{ error: { message: reason }, what: 'the client app was not told that session s1 of the user ann has ended' }],
      what
    )
    t.equal(reports.length, 1)
    t.notMatch(JSON.stringify(reports) + String((reports[0] as { error: Error }).error.stack), /logout-token/)
  }
  const { backChannel, posts, reports, clock } = setUp((_clientId, attempt) => (attempt === 1 ? 503 : 204))
  backChannel.sessionsEnded([session('s1', ['app'])])
  await turns()
  clock.step(1000)
  await turns()
  t.equal(posts.length, 2)
  t.strictSame(reports, [], 'the second try was heard')
})

t.test('retries a logout notice when the client store fails', async (t) => {
  let calls = 0
  const { backChannel, posts, clock, reports } = setUp(() => 200, {
    clients: {
      findById: async (clientId) => {
        if (++calls === 1) throw new Error('down')
        return { clientId, backchannelLogoutUri: 'https://app.example/bc' }
      }
    }
  })
  backChannel.sessionsEnded([session('s1', ['app'])])
  await turns()
  clock.step(1000)
  await turns()
  t.equal(posts.length, 1)
  t.strictSame(reports, [])
})

t.test('retries a logout notice when the signing key fails', async (t) => {
  for (const method of ['ready', 'mintLogoutToken'] as const) {
    let calls = 0
    const { backChannel, posts, clock, reports } = setUp(() => 200, {
      idTokens: {
        ready: async () => {},
        mintLogoutToken: async () => 'logout-token',
        [method]: async () => {
          if (++calls === 1) throw new Error('no key')
          return 'logout-token'
        }
      }
    })
    backChannel.sessionsEnded([session('s1', ['app'])])
    await turns()
    t.equal(posts.length, 0, method)
    clock.step(1000)
    await turns()
    t.match(posts, [{ params: { logout_token: 'logout-token' } }], method)
    t.strictSame(reports, [], method)
  }
})

t.test('sends at most four notices at once, and limits the time of a client that hangs', async (t) => {
  const { backChannel, posts, state, clock, reports } = setUp(async (clientId) =>
    clientId === 'rp0' ? await new Promise<number>(() => {}) : 200
  )
  backChannel.sessionsEnded([session('s1', many(20))])
  await turns()
  t.equal(posts.length, 20)
  t.ok(state.most <= 4, `${state.most} at once`)
  clock.step(10_000)
  await turns()
  clock.step(1000)
  await turns()
  clock.step(10_000)
  await turns()
  t.match(reports, [{ error: { message: 'It took more than 10 seconds.' } }])
  t.equal(reports.length, 1)
  t.equal(posts.length, 21)
})

// covers B17
t.test('drops notices over the capacity, and reports an overload once and its end with a count', async (t) => {
  const pending: Array<(status: number) => void> = []
  const { backChannel, posts, reports } = setUp(
    async () =>
      await new Promise<number>((resolve) => {
        pending.push(resolve)
      }),
    { capacity: 10 }
  )
  backChannel.sessionsEnded([session('s1', many(30))])
  backChannel.sessionsEnded([session('s2', many(30))])
  await turns()
  t.match(reports, [{ error: { message: /More than 10 sign-out notices wait/ } }])
  t.equal(reports.length, 1)
  // At the limit: one is sent, one is queued, and one more is dropped.
  for (let round = 0; round < 5; round++) {
    pending.shift()?.(200)
    await turns()
    backChannel.sessionsEnded([session(`s4-${round}`, ['one', 'more'])])
    await turns()
  }
  t.equal(reports.length, 1, 'it is the same overload')
  for (let round = 0; round < 10; round++) {
    for (const resolve of pending.splice(0)) resolve(200)
    await turns()
  }
  t.equal(posts.length, 15)
  t.match(reports.slice(1), [
    { what: 'the overload of sign-out notices is over', error: { message: '55 sign-out notices were dropped in all.' } }
  ])
  backChannel.sessionsEnded([session('s3', ['later'])])
  await turns()
  t.equal(posts.length, 16, 'there is room again')
})

t.test('close: retries each waiting notice once, and sends nothing afterwards', async (t) => {
  const { backChannel, posts, reports } = setUp((_clientId, attempt) => (attempt === 1 ? 500 : 200))
  backChannel.sessionsEnded([session('s1', many(6))])
  await turns()
  t.equal(posts.length, 6)
  await backChannel.close()
  t.equal(posts.length, 12, 'none waited for its second')
  t.strictSame(reports, [])
  backChannel.sessionsEnded([session('s2', many(2))])
  await turns()
  t.equal(posts.length, 12)
  t.match(reports, [{ error: { message: 'The server stops.' } }])
})

t.test('close: finishes within five seconds when a client hangs', async (t) => {
  const { backChannel, posts, reports, clock } = setUp(async () => await new Promise<number>(() => {}))
  backChannel.sessionsEnded([session('s1', many(6))])
  await turns()
  const closed = backChannel.close()
  await turns()
  clock.step(5000)
  await closed
  t.equal(posts.length, 4)
  t.equal(reports.length, 2, 'those that never had their turn')
  await setUp(() => 200).backChannel.close()
})
