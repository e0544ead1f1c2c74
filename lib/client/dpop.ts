/**
 * `fastify-authority/client/dpop`: `createAuthClient` with tokens that are bound to a key of this browser. The private
 * key cannot be exported, so a stolen token alone is useless. @see RFC 9449
 */
import { AuthClientError } from './errors.ts'
import { sendBy } from './http.ts'
import { createAuthClient as create } from './index.ts'
import type { AuthClient, AuthClientOptions } from './options.ts'
import { challengeOf, random } from './storage.ts'

type Key = CryptoKeyPair

/**
 * The keys of the clients of this page, by `clientId`. `undefined`: the client exists, and its key is not loaded yet.
 */
const keys = new Map<string, Promise<Key> | undefined>()
/** The `clientId` of recent bound tokens, by token. */
const holders = new Map<string, string>()
/** The nonce for the next proof, by origin. @see RFC 9449 §8 */
const nonces = new Map<string, string>()

const answerOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener('success', () => {
      resolve(request.result)
    })
    request.addEventListener('error', reject)
  })

/** The key of a client, the same in all tabs. Without IndexedDB the key lives as long as the page. */
async function keyOf(clientId: string): Promise<Key> {
  const made = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
  try {
    const opening = indexedDB.open('authority.dpop')
    opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('keys'))
    const store = (await answerOf(opening)).transaction('keys', 'readwrite').objectStore('keys')
    // One transaction, so that two tabs get one key.
    const known = (await answerOf(store.get(clientId))) as Key | undefined
    if (known) return known
    await answerOf(store.put(made, clientId))
  } catch {
    // Without IndexedDB, uses the new key for this page.
  }
  return made
}

const encoded = (value: ArrayBuffer | object): string =>
  btoa(
    String.fromCharCode(
      ...new Uint8Array(value instanceof ArrayBuffer ? value : new TextEncoder().encode(JSON.stringify(value)))
    )
  )
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '')

/** @see RFC 9449 §4.2 */
async function proofOf(clientId: string, { url, method }: Request, token: string | undefined): Promise<string> {
  const made = keys.get(clientId) ?? keyOf(clientId)
  keys.set(clientId, made)
  const { privateKey, publicKey } = await made
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const { origin, pathname } = new URL(url)
  const text = `${encoded({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } })}.${encoded({
    jti: random(),
    htm: method,
    htu: origin + pathname,
    iat: Math.floor(Date.now() / 1000),
    nonce: nonces.get(origin),
    ath: token && (await challengeOf(token))
  })}`
  const data = new TextEncoder().encode(text)
  return `${text}.${encoded(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, data))}`
}

/** Sends a request of a client with a proof. Sends it once more if a 400 or 401 brings another nonce. */
async function proved(clientId: string, request: Request, token?: string): Promise<Response> {
  const { origin } = new URL(request.url)
  const attempt = async (): Promise<Response> => {
    const copy = request.clone()
    copy.headers.set('dpop', await proofOf(clientId, request, token))
    if (token) copy.headers.set('authorization', `DPoP ${token}`)
    return fetch(copy)
  }
  const before = nonces.get(origin)
  const response = await attempt()
  const nonce = response.headers.get('dpop-nonce')
  if (nonce) nonces.set(origin, nonce)
  return nonce && nonce !== before && [400, 401].includes(response.status) ? attempt() : response
}

function remember(token: string, clientId: string): void {
  if (holders.size > 99) holders.clear()
  holders.set(token, clientId)
}

/** Sends a proof with token requests and with requests that have a bound token. Sends all others as they are. */
async function send(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const form = init?.body instanceof URLSearchParams ? init.body : undefined
  const clientId = form?.get('grant_type') && form.get('client_id')
  if (clientId && keys.has(clientId)) {
    const response = await proved(clientId, new Request(input, init))
    if (response.ok) {
      const { access_token: token, token_type: type } = (await response.clone().json()) as Record<string, string>
      // Rejects a bearer token, which a provider without DPoP issues. @see RFC 9449 §5
      if (type?.toLowerCase() !== 'dpop') throw new AuthClientError('token_not_bound')
      remember(token as string, clientId)
    }
    return response
  }
  const { headers } = input instanceof Request ? input : { headers: new Headers(init?.headers) }
  const token = headers.get('authorization')?.replace('Bearer ', '')
  const holder = token && holders.get(token)
  return holder ? proved(holder, new Request(input, init), token) : fetch(input, init)
}

/**
 * Creates a client whose tokens are bound to a key in the IndexedDB of this origin. The client's `fetch` sends a proof
 * with each token. Not for `cookie` mode, which has no tokens.
 * @throws AuthClientError `invalid_options`; its methods throw `token_not_bound` for a provider without DPoP
 */
export const createAuthClient = ((options: AuthClientOptions) => {
  const { clientId, mode } = options
  if (mode === 'cookie') throw new AuthClientError('invalid_options', 'mode')
  const client = create(options) as AuthClient
  const { getAccessToken } = client
  sendBy(send)
  if (!keys.has(clientId)) keys.set(clientId, undefined)
  client.getAccessToken = async (asked) => {
    const token = await getAccessToken(asked)
    remember(token, clientId)
    return token
  }
  return client
}) as typeof create

export * from './index.ts'
