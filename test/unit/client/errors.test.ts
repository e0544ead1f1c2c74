/** Every error of the browser client is an `AuthClientError` with `error` and `retryable`. */
import { fileURLToPath } from 'node:url'
import t, { type Test } from '../../support/tap.ts'
import { AuthClientError, asError } from '../../../lib/client/errors.ts'

const ISSUER = 'https://auth.example'
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  end_session_endpoint: `${ISSUER}/logout`
}

// Keep the process alive while a test waits, because neither unreferenced timers nor locks do.
const awake = setInterval(() => {}, 1000)
t.teardown(() => {
  clearInterval(awake)
})

/** The client in this process, with this `fetch`. */
async function clientWith(
  t: Test,
  answer: (url: string) => unknown,
  options: Record<string, unknown> = {}
): Promise<Record<string, (...args: unknown[]) => Promise<unknown>>> {
  t.intercept(globalThis, 'fetch', {
    value: async (input: string | Request) => await answer(typeof input === 'string' ? input : input.url)
  })
  t.intercept(globalThis, 'location' as keyof typeof globalThis, { value: new URL('https://app.example/page') })
  // Unreference timers, so that a remaining deadline does not keep the process alive.
  const { setTimeout: start } = globalThis
  t.intercept(globalThis, 'setTimeout', { value: (...args: Parameters<typeof start>) => start(...args).unref() })
  const stored = new Map<string, string>()
  t.intercept(globalThis, 'localStorage' as keyof typeof globalThis, {
    value: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
      removeItem: (key: string) => stored.delete(key)
    }
  })
  // Loaded by its path: it is compiled with the types of a browser.
  const { createAuthClient } = await import(fileURLToPath(new URL('../../../lib/client/index.ts', import.meta.url)))
  return createAuthClient({ clientId: `app of ${t.name}`, domain: ISSUER, ...options })
}

/** Checks that the call rejects with an `AuthClientError` of the expected form. */
async function typed(
  t: Test,
  call: () => Promise<unknown>,
  expected: Partial<AuthClientError>,
  name: string
): Promise<void> {
  const error: unknown = await call().then(
    () => 'no error',
    (cause: unknown) => cause
  )
  t.ok(error instanceof AuthClientError, `${name}: ${String(error)}`)
  t.match(
    error,
    {
      name: 'AuthClientError',
      error: String,
      error_description: String,
      retryable: Boolean,
      message: String,
      ...expected
    },
    name
  )
}

t.test('converts any thrown value into an AuthClientError', async (t) => {
  const timeout = new DOMException('too slow', 'TimeoutError')
  t.match(asError(timeout), { error: 'timeout', retryable: true, message: 'too slow', cause: timeout })
  for (const cause of [
    new TypeError('Failed to fetch'),
    new DOMException('stop', 'AbortError'),
    'text',
    7,
    null,
    undefined,
    {}
  ]) {
    t.match(asError(cause), { error: 'request_error', error_description: String, retryable: true })
    t.equal(asError(cause).cause, cause)
  }
  const own = new AuthClientError('state_mismatch')
  t.equal(asError(own), own)
  t.match(own, {
    error: 'state_mismatch',
    error_description: 'state_mismatch',
    retryable: false,
    message: 'state_mismatch'
  })
  t.ok(own instanceof Error)
})

t.test('rejects with an AuthClientError when the provider is unreachable or its metadata is invalid', async (t) => {
  const answers: Array<[string, () => unknown, Partial<AuthClientError>]> = [
    [
      'no network',
      () => {
        throw new TypeError('Failed to fetch')
      },
      { error: 'request_error', retryable: true }
    ],
    [
      'an outage',
      () => new Response('{}', { status: 503 }),
      { error: 'request_error', retryable: true, message: 'HTTP 503' }
    ],
    [
      'not there',
      () => new Response('Not found', { status: 404 }),
      { error: 'request_error', retryable: false, message: 'HTTP 404' }
    ],
    ['a page', () => new Response('<h1>hi', { status: 200 }), { error: 'request_error', retryable: true }],
    ['nothing', () => new Response('null', { status: 200 }), { error: 'request_error', retryable: true }],
    ['another JSON', () => Response.json({}), { error: 'request_error', retryable: true }],
    [
      'another issuer',
      () => Response.json({ ...METADATA, issuer: 'https://other.example' }),
      { error: 'issuer_mismatch', retryable: false }
    ]
  ]
  for (const [name, answer, expected] of answers) {
    const auth = await clientWith(t, answer)
    await typed(t, async () => await auth.loginWithRedirect?.(), expected, `${name}: loginWithRedirect`)
    await typed(t, async () => await auth.logout?.(), expected, `${name}: logout`)
  }
})

t.test('rejects a call that cannot succeed with an AuthClientError', async (t) => {
  const auth = await clientWith(t, () => Response.json(METADATA))
  await typed(t, async () => await auth.handleRedirectCallback?.(), { error: 'missing_transaction' }, 'no answer in it')
  await typed(
    t,
    async () => await auth.handleRedirectCallback?.('/callback?code=a&state=b'),
    { error: 'request_error' },
    'no whole address'
  )
  // Forget the answered callback, because other test files of this process use the same module.
  const { answered } = (await import(new URL('../../../lib/client/http.ts', import.meta.url).href)) as {
    answered: Record<string, unknown>
  }
  for (const key of Object.keys(answered)) Reflect.deleteProperty(answered, key)
  await typed(
    t,
    async () => await auth.getAccessToken?.(),
    { error: 'login_required', retryable: false },
    'nobody signed in'
  )
  await typed(t, async () => await auth.fetch?.('http://'), { error: 'request_error' }, 'no address')
  await typed(t, async () => await auth.loginWithRedirect?.({ appState: 1n }), { error: 'request_error' }, 'no JSON')
  await typed(
    t,
    async () =>
      await auth.loginWithRedirect?.({
        redirectUri: 'https://app.example/cb',
        openUrl: async () => await Promise.reject(new Error('no window'))
      }),
    { error: 'request_error' },
    'openUrl fails'
  )
})

t.test('fetch: converts a rejection into a retryable AuthClientError with its cause', async (t) => {
  for (const reason of [null, 'stop', new DOMException('stop', 'AbortError')]) {
    const auth = await clientWith(t, async () => await Promise.reject(reason as Error))
    await typed(
      t,
      async () => await auth.fetch?.('https://app.example/api'),
      { error: 'request_error', retryable: true, cause: reason },
      String(reason)
    )
  }
})

t.test('returns no user and rejects a sign-out with an AuthClientError when a custom storage fails', async (t) => {
  const fail = async (): Promise<never> => await Promise.reject(new Error('no disk'))
  const auth = await clientWith(t, () => Response.json(METADATA), {
    storage: { getItem: fail, setItem: fail, removeItem: fail }
  })
  t.equal(await auth.getUser?.(), null)
  await typed(t, async () => await auth.logout?.(), { error: 'request_error', message: 'no disk' }, 'logout')
})

t.test('fetch: emits one error when a custom storage fails to keep a new token', async (t) => {
  const session = { access_token: 'old', refresh_token: 'r', user: { sub: 'u' }, at: 0, until: 0 }
  const auth = await clientWith(
    t,
    (url) => Response.json(url.endsWith('/token') ? { access_token: 'new', expires_in: 60 } : METADATA),
    {
      storage: {
        getItem: () => JSON.stringify(session),
        setItem: async () => await Promise.reject(new Error('no disk')),
        removeItem: () => {}
      }
    }
  )
  const heard: unknown[] = []
  await auth.on?.('error', (error: unknown) => heard.push(error))
  for (const count of [1, 2]) {
    await typed(t, async () => await auth.fetch?.('https://app.example/api'), { message: 'no disk' }, 'fetch')
    t.equal(heard.length, count)
  }
})

t.test('emits one error for two calls that share a failed discovery', async (t) => {
  // Another provider, because the page keeps the metadata of the usual one.
  const auth = await clientWith(t, async () => await Promise.reject(new TypeError('Failed to fetch')), {
    domain: 'https://down.example'
  })
  const heard: unknown[] = []
  await auth.on?.('error', (error: unknown) => heard.push(error))
  await Promise.allSettled([auth.loginWithRedirect?.(), auth.loginWithRedirect?.()])
  t.equal(heard.length, 1)
})

t.test('fetchWithStepUp: the signal of the caller replaces the time limit', async (t) => {
  const { fetchWithStepUp } = (await import(
    fileURLToPath(new URL('../../../lib/client/step-up.ts', import.meta.url))
  )) as { fetchWithStepUp(...args: unknown[]): Promise<Response> }
  const auth = await clientWith(t, () => null)
  const policies: string[] = []
  t.intercept(globalThis, 'fetch', {
    value: async ({ referrerPolicy }: Request) => {
      policies.push(referrerPolicy)
      await new Promise((resolve) => setImmediate(resolve))
      return new Response('late')
    }
  })
  // Each time limit below a day ends at once.
  const { setTimeout: start } = globalThis
  t.intercept(globalThis, 'setTimeout', {
    value: (run: () => void, ms: number) => (ms < 86_400_000 ? queueMicrotask(run) : start(run, ms).unref())
  })
  const url = 'https://app.example/api'
  await typed(t, async () => await fetchWithStepUp(auth, url), { error: 'timeout' }, 'without a signal')
  const response = await fetchWithStepUp(auth, url, { signal: new AbortController().signal, referrerPolicy: 'origin' })
  t.equal(await response.text(), 'late')
  t.equal(policies.at(-1), 'origin')
})
