import type { AuthStorage } from './options.ts'

/** Returns 244 random bits as text that needs no escaping in a URL, a cookie or JSON. */
export const random = (): string => crypto.randomUUID() + crypto.randomUUID()

/** @see RFC 7636 §4.2 */
export async function challengeOf(verifier: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
  return btoa(String.fromCharCode(...digest))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace('=', '')
}

/** The synchronous storages of a browser. */
type TabStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export const memory = new Map<string, string>()

export const memoryStorage: AuthStorage = {
  getItem: (key) => memory.get(key) ?? null,
  setItem: (key, value) => memory.set(key, value),
  removeItem: (key) => memory.delete(key)
}

/**
 * The web storage of this name. `undefined` for `memoryStorage`, which is no web storage, and if the browser forbids
 * the storage. `undefined` also if the storage is full and `key` has no value that the next value can replace.
 */
export function webStorage(name: 'localStorage' | 'sessionStorage' | 'memoryStorage', key = '_'): Storage | undefined {
  let storage
  try {
    storage = (globalThis as unknown as Record<typeof name, Storage>)[name]
    storage.setItem('_', '_'.repeat(9999))
    storage.removeItem('_')
  } catch {
    if (!storage?.getItem(key)) return undefined
  }
  return storage
}

/** Stores sign-ins under way if web storage is blocked. A cookie survives the redirect, and every tab has it. */
const cookieStorage = {
  getItem: (key: string) => decodeURIComponent(document.cookie.split(`${key}=`)[1]?.split(';')[0] ?? ''),
  setItem(key: string, value: string, seconds = 600) {
    document.cookie = `${key}=${encodeURIComponent(value)};path=/;max-age=${seconds};samesite=lax`
  },
  removeItem(key: string) {
    cookieStorage.setItem(key, '', 0)
  }
}

/** A sign-in under way, stored for the page that receives its response. */
export type Transaction = [at: number, verifier: string, nonce: string, redirectUri: string, appState?: unknown]

/** Shared by all tabs, because the response may arrive in another tab. */
export const transactions = (): TabStorage => webStorage('localStorage') ?? cookieStorage

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/**
 * Waits for the lock of this name, which all tabs share. Resolves to a function that releases the lock. A closed tab
 * releases its locks too. Resolves after `waitMs` without the lock, because a frozen tab may hold it for ever. Resolves
 * at once without Web Locks: every supported browser has them in a secure context, and other runtimes have no tabs.
 */
export const lock = (name: string, waitMs = 15_000): Promise<() => void> =>
  new Promise((resolve) => {
    const free = resolve.bind(0, () => {})
    const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks
    if (!locks?.request(name, { signal: AbortSignal.timeout(waitMs) }, () => new Promise<void>(resolve)).catch(free))
      free()
  })
