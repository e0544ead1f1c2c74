/**
 * The common script of every page of the bench. A client is an object of eight methods (login, callback, user, token,
 * api, logout, forget, listen), made at its first call, so that this call finds the error of a constructor.
 */
export function start(make, variant = {}) {
  const config = {
    ...variant,
    clientId: 'app',
    provider: document.documentElement.dataset.provider,
    redirectUri: location.origin + location.pathname.replace(/[^/]*$/, 'callback'),
    signedOut: `${location.origin}/signed-out`
  }
  const clients = []
  const clientAt = (index) => (clients[index] ??= make(config))

  const callOn = async (index, method, argument) => {
    try {
      return { value: (await clientAt(index)[method](argument)) ?? null }
    } catch (error) {
      return { error: String(error?.error ?? error?.name ?? error), message: String(error?.message ?? error) }
    }
  }
  globalThis.bench = {
    heard: 0,
    client: () => clientAt(0),
    show: () => {
      show(clientAt(0))
    },
    persisted: false,
    call: async (method, argument) => await callOn(0, method, argument),
    /** A second client with the same options. */
    second: async (method, argument) => await callOn(1, method, argument),
    many: async (count, method) => await Promise.all(Array.from({ length: count }, async () => await callOn(0, method)))
  }
  addEventListener('pageshow', ({ persisted }) => {
    globalThis.bench.persisted = persisted
  })
  if (location.pathname.endsWith('/show')) show(clientAt(0))
}

/** As an app would: shows who is signed in, and again whenever the client tells of a change. */
function show(client) {
  const render = async () => {
    document.querySelector('h1').textContent = (await client.user()) ? 'signed in' : 'nobody'
  }
  client.onChange?.(render)
  void render()
}
