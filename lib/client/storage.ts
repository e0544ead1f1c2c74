import type { AuthStorage } from './options.ts'

/** The synchronous storages of a browser. */
type TabStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export const memory = new Map<string, string>()

export const memoryStorage: AuthStorage = {
  getItem: (key) => memory.get(key) ?? null,
  setItem: (key, value) => memory.set(key, value),
  removeItem: (key) => memory.delete(key)
}

/**
 * The web storage of this name. `undefined` where there is none (`memoryStorage` is no web storage), where the browser
 * forbids it, and where it is full, unless there is a former session at `key` that the next one replaces.
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

/** Stores sign-ins under way if web storage is blocked. It survives the redirect, and every tab has it. */
const cookieStorage = {
  getItem: (key: string) => decodeURIComponent(document.cookie.split(`${key}=`)[1]?.split(';')[0] ?? ''),
  setItem(key: string, value: string, seconds = 600) {
    document.cookie = `${key}=${encodeURIComponent(value)};path=/;max-age=${seconds};samesite=lax`
  },
  removeItem(key: string) {
    cookieStorage.setItem(key, '', 0)
  }
}

/** Shared by all tabs, because the response may arrive in another tab. */
export const transactions = (): TabStorage => webStorage('localStorage') ?? cookieStorage
