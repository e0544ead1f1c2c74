/** The framework bindings of the browser client outside a browser: their state and its changes. */
import { fileURLToPath } from 'node:url'
import t, { type Test } from '../../support/tap.ts'
import { effectScope, watch } from 'vue'
import { get } from 'svelte/store'

interface FakeClient {
  emit(name: string, payload?: unknown): void
  user: unknown
  listeners: number
  getUser(): Promise<unknown>
  on(name: string, listener: (payload: unknown) => void): () => void
}

/** The part of a client that the bindings use. */
function fakeClient(): FakeClient {
  const listeners: Array<[string, (payload: unknown) => void]> = []
  return {
    user: null,
    get listeners() {
      return listeners.length
    },
    async getUser() {
      return this.user
    },
    on(name, listener) {
      listeners.push([name, listener])
      return () => {}
    },
    emit(name, payload) {
      for (const [own, listener] of listeners) if (own === name) listener(payload)
    }
  }
}

// Loaded by its path: it is compiled with the types of a browser.
// eslint-disable-next-line typescript/no-explicit-any
const load = async (name: string): Promise<Record<string, (client: unknown) => any>> =>
  await import(fileURLToPath(new URL(`../../../lib/client/${name}.ts`, import.meta.url)))

/** Lets pending promises settle. */
const settled = async (): Promise<void> => {
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
}

const ANN = { sub: 'ann' }

/** Takes the client through sign-in, refresh and sign-out, and checks the state after each step. */
async function story(t: Test, client: FakeClient, state: () => unknown): Promise<void> {
  const failure = new Error('no network')
  await settled()
  t.strictSame(state(), { user: null, isLoading: false, error: null }, 'nobody')
  client.emit('error', failure)
  await settled()
  t.strictSame(state(), { user: null, isLoading: false, error: failure })
  client.user = ANN
  client.emit('authenticated', ANN)
  await settled()
  t.strictSame(state(), { user: ANN, isLoading: false, error: null }, 'an error is over when somebody signs in')
  client.user = { ...ANN, name: 'Ann' }
  client.emit('token_refreshed')
  await settled()
  t.strictSame(state(), { user: { ...ANN, name: 'Ann' }, isLoading: false, error: null })
  // Keep the user until after the event, because a storage may return the old user for a moment.
  client.emit('unauthenticated')
  await settled()
  t.strictSame(state(), { user: null, isLoading: false, error: null })
  client.user = null
}

t.test('Svelte: emits one state for each change, and none after unsubscribing', async (t) => {
  const { authStore } = await load('svelte')
  const client = fakeClient()
  const store = authStore?.(client)
  t.strictSame(get(store), { user: null, isLoading: true, error: null }, "Svelte's own reader takes it")
  const seen: unknown[] = []
  const end = store.subscribe((state: unknown) => {
    seen.push(state)
  })
  await story(t, client, () => seen.at(-1))
  t.equal(seen.length, 6, 'one for each change, and the first')
  client.emit('token_refreshed')
  await settled()
  t.equal(seen.length, 6, 'none where nothing has changed')
  end()
  client.emit('error', new Error('late'))
  await settled()
  t.equal(seen.length, 6, 'none after the end')
  t.equal(authStore?.(client) === store, false)
  t.equal(client.listeners, 4, 'one set of listeners for all stores of a client')
})

t.test('Vue: updates the refs at each change until the scope of the component stops', async (t) => {
  const { useAuth } = await load('vue')
  t.intercept(globalThis, 'document' as keyof typeof globalThis, { value: {} })
  const client = fakeClient()
  const scope = effectScope()
  let changes = 0
  const refs = scope.run(() => {
    const all = useAuth?.(client)
    watch(
      all.user,
      () => {
        changes++
      },
      { flush: 'sync' }
    )
    return all
  })
  t.equal(refs.isLoading.value, true)
  await story(t, client, () => ({ user: refs.user.value, isLoading: refs.isLoading.value, error: refs.error.value }))
  t.equal(changes, 3)
  scope.stop()
  client.user = ANN
  client.emit('authenticated', ANN)
  await settled()
  t.equal(changes, 3, 'the component is gone')
})

t.test('Vue: registers no listener during server rendering', async (t) => {
  const { useAuth } = await load('vue')
  const client = fakeClient()
  t.equal(useAuth?.(client).isLoading.value, true)
  t.equal(client.listeners, 0)
})

/** Fakes a page at this address, and collects its calls of the client. */
function fakePage(t: Test, client: FakeClient, href: string): string[] {
  const asked: string[] = []
  t.intercept(globalThis, 'location' as keyof typeof globalThis, { value: { href } })
  t.intercept(globalThis, 'addEventListener' as keyof typeof globalThis, { value: () => {} })
  Object.assign(client, {
    loginWithRedirect: async ({ appState }: { appState?: string } = {}) => {
      asked.push(`login ${appState ?? ''}`)
    },
    handleRedirectCallback: async () => {
      asked.push('callback')
    }
  })
  return asked
}

// covers D1
t.test('Svelte: asks for a sign-in once, and again after a sign-out', async (t) => {
  const { requireAuth } = await load('svelte')
  const client = fakeClient()
  const asked = fakePage(t, client, 'https://app.example/cart')
  for (let i = 0; i < 2; i++) requireAuth?.(client).subscribe(() => {})
  t.strictSame(asked, [], 'nobody knows yet')
  await settled()
  t.strictSame(asked, ['login '])
  client.emit('error', new Error('no network'))
  await settled()
  t.strictSame(asked, ['login '], 'what failed is not tried again by itself')
  client.emit('authenticated', ANN)
  client.emit('unauthenticated')
  await settled()
  t.strictSame(asked, ['login ', 'login '])
})

// covers D1
t.test('Vue: RequireAuth finishes a sign-in, and shows its slot only to a signed-in user', async (t) => {
  const { RequireAuth } = (await load('vue')) as unknown as {
    RequireAuth: { setup(props: object, context: object): () => unknown }
  }
  t.intercept(globalThis, 'document' as keyof typeof globalThis, { value: {} })
  const client = fakeClient()
  const asked = fakePage(t, client, 'https://app.example/callback?code=a&state=b')
  const scope = effectScope()
  const render = scope.run(() =>
    RequireAuth.setup(
      { client, login: { appState: 'x' } },
      { slots: { default: () => 'secret', fallback: () => 'wait' } }
    )
  ) as () => unknown
  t.equal(render(), 'wait')
  await settled()
  t.strictSame(asked, ['callback', 'login x'])
  client.emit('authenticated', ANN)
  t.equal(render(), 'secret')
  client.emit('unauthenticated')
  t.equal(render(), 'wait')
  scope.stop()
})

/** The part of a browser that `RequireAuth` reads, until the end of the test. */
function fakeBrowser(t: Test, kept: Record<string, unknown> | null): void {
  const globals: Record<string, PropertyDescriptor> = {
    location: { value: { href: 'https://app.example/?state=x&code=y' } },
    addEventListener: { value() {} },
    sessionStorage: {
      get() {
        if (kept === null) throw new Error('blocked')
        return kept
      }
    }
  }
  for (const [name, descriptor] of Object.entries(globals)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name)
    Object.defineProperty(globalThis, name, { ...descriptor, configurable: true })
    t.teardown(() => {
      if (before === undefined) Reflect.deleteProperty(globalThis, name)
      else Object.defineProperty(globalThis, name, before)
    })
  }
}

t.test('RequireAuth starts one sign-in after a callback without a transaction, and none after a denial', async (t) => {
  const { requireUser } = await load('require')
  const http = (await load('http')) as unknown as { answered: Record<string, Promise<unknown> | undefined> }
  const kept: Record<string, unknown> = {}
  const rows: Array<[string, Record<string, unknown> | null, number]> = [
    ['state_mismatch', kept, 1],
    ['state_mismatch', kept, 0],
    ['missing_transaction', kept, 0],
    ['state_mismatch', { authority: '1' }, 0],
    ['state_mismatch', { state_mismatch: 'of the app' }, 1],
    ['missing_transaction', {}, 1],
    ['state_mismatch', null, 0],
    ['login_required', {}, 1],
    ['access_denied', {}, 0]
  ]
  for (const [error, storage, count] of rows) {
    await t.test(`starts ${count} sign-ins after ${error}`, async (t) => {
      fakeBrowser(t, storage)
      let began = 0
      const client = {
        getUser: async () => null,
        async handleRedirectCallback() {
          const failed = Promise.reject(Object.assign(new Error(error), { error }))
          http.answered['the answer'] = failed
          await failed
        },
        async loginWithRedirect() {
          began++
        }
      }
      t.teardown(() => {
        delete http.answered['the answer']
      })
      ;(requireUser as unknown as (client: unknown, state: object) => void)(client, { user: null, isLoading: false })
      await settled()
      await settled()
      t.equal(began, count)
    })
  }
})
