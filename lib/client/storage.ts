import type { AuthStorage } from './options.ts'

const memory = new Map<string, string>()

export const memoryStorage: AuthStorage = {
  getItem: (key) => memory.get(key) ?? null,
  setItem: (key, value) => memory.set(key, value),
  removeItem: (key) => memory.delete(key)
}

/**
 * The web storage of this name. Not where there is none (there is no `memoryStorage`), where the browser does not let us use it, and
 * where it has no room for a session nor a former one at `key`, whose room the next one takes.
 */
export function webStorage (name: 'localStorage' | 'sessionStorage' | 'memoryStorage', key = '_'): Storage | undefined {
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

/** For sign-ins under way, where web storage is blocked: outlives the redirect, and every tab has it. */
export const cookieStorage: AuthStorage = {
  getItem: (key) => decodeURIComponent(document.cookie.split('; ').find((cookie) => cookie.startsWith(`${key}=`))?.slice(key.length + 1) ?? ''),
  setItem: (key, value) => { document.cookie = `${key}=${encodeURIComponent(value)};path=/;max-age=600;samesite=lax` },
  removeItem: (key) => { document.cookie = `${key}=;path=/;max-age=0` }
}
