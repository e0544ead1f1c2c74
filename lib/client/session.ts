import type { TokenAnswer } from './http.ts'
import type { Claims } from './id-token.ts'
import { sleep } from './locks.ts'
import type { AuthClientOptions, AuthStorage, UserProfile } from './options.ts'
import { memoryStorage, webStorage } from './storage.ts'

/** The last token answer, with what a later one left out, and whose it is. */
export interface Session extends TokenAnswer {
  user: Claims
  /** When the access token was got and when it is to be replaced, by this device's clock. */
  at: number
  until: number
}

/** What tabs tell each other. `session` only where they share no storage. */
interface TabMessage { name?: string, user?: Claims | null, ask?: true, session?: string | null | undefined }

type Listener = (payload: unknown) => void

/** The session of a client, wherever it is kept, and all that hear of it. */
export interface Keeper<Profile> {
  read(): Promise<Session | null>
  /** Keeps it (`null`: nobody is signed in), and tells every tab by this event. */
  save(name: string, session: Session | null): Promise<void>
  /** Hears what other tabs have. What one stored before it let go of a lock may come to another process a little later. */
  hearTabs(): Promise<void>
  /** The same object for as long as it says the same. */
  profile(session: Session): Profile
  emit(name: string, payload?: unknown): void
  on(name: string, listener: Listener): () => void
  off(name: string, listener: Listener): void
}

export function createKeeper<Profile extends UserProfile> (key: string, kind: AuthClientOptions['storage'] = 'local'): Keeper<Profile> {
  const listeners: Record<string, Set<Listener>> = {}
  const inMemory = kind === 'memory'
  let opening: Promise<AuthStorage> | undefined
  let channel: BroadcastChannel | undefined
  let shown: { text: string, profile: Profile } | undefined
  /** The user that listeners know of; empty: nobody; none: nobody has looked yet. */
  let known: string | undefined

  const isKnown = (user?: Claims | null): boolean => known === (user?.sub ?? '')

  async function open (): Promise<AuthStorage> {
    if (globalThis.document) {
      channel = new BroadcastChannel(key)
      channel.addEventListener('message', receive)
      addEventListener('storage', (event) => { if (event.key === key) void sync() })
      // Back from the page cache, from sleep, from offline.
      for (const name of ['pageshow', 'visibilitychange', 'online']) addEventListener(name, sync)
      if (inMemory) await keeper.hearTabs()
    }
    return typeof kind === 'object' ? kind : webStorage(`${kind}Storage`, key) ?? memoryStorage
  }

  const storage = (): Promise<AuthStorage> => opening ??= open()

  async function receive ({ data: { name, user, ask, session } }: MessageEvent<TabMessage>): Promise<void> {
    if (ask) {
      channel?.postMessage({ session: await memoryStorage.getItem(key) ?? undefined })
    } else if (session !== undefined) {
      put(memoryStorage, session)
      void sync()
    }
    // A change of the storage may have told it before.
    if (name && (name === 'token_refreshed' || !isKnown(user))) keeper.emit(name, user)
  }

  function put (store: AuthStorage, text: string | null): unknown {
    return text ? store.setItem(key, text) : store.removeItem(key)
  }

  /** Tells what happened while this page could not hear it. */
  async function sync (): Promise<void> {
    const session = await keeper.read()
    if (!isKnown(session?.user)) keeper.emit(session ? 'authenticated' : 'unauthenticated', session && keeper.profile(session))
  }

  const keeper: Keeper<Profile> = {
    async read () {
      try {
        const session = JSON.parse(await (await storage()).getItem(key) as string) as Session | null
        known ??= session?.user.sub ?? ''
        return session
      } catch {
        return null
      }
    },
    async save (name, session) {
      const text = session && JSON.stringify(session)
      await put(await storage(), text)
      const user = session && keeper.profile(session)
      keeper.emit(name, user)
      channel?.postMessage({ name, user, session: inMemory ? text : undefined })
    },
    async hearTabs () {
      if (inMemory) channel?.postMessage({ ask: true })
      await sleep(100)
    },
    profile ({ user }) {
      const text = JSON.stringify(user)
      if (shown?.text !== text) shown = { text, profile: user as Profile }
      return shown.profile
    },
    emit (name, payload) {
      if (name !== 'error') known = (payload as Claims | null)?.sub ?? ''
      // Each by itself: one that throws stops no other, and none runs while a lock is held.
      for (const listener of listeners[name] ?? []) queueMicrotask(() => { listener(payload) })
    },
    on (name, listener) {
      const heard = (listeners[name] ??= new Set()).add(listener)
      // Somebody may be signed in already. Whatever is listened for, from now on other tabs are heard.
      void keeper.read().then((session) => session && name === 'authenticated' && heard.has(listener) && listener(keeper.profile(session)))
      return () => { heard.delete(listener) }
    },
    off (name, listener) { listeners[name]?.delete(listener) }
  }
  return keeper
}
