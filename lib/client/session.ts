import type { TokenAnswer } from './http.ts'
import type { Claims } from './id-token.ts'
import { sleep } from './locks.ts'
import type { AuthClientOptions, AuthStorage } from './options.ts'
import { memory, memoryStorage, transactions, webStorage } from './storage.ts'

/** The last token answer, with what a later one left out, and whose it is. */
export interface Session extends TokenAnswer {
  user: Claims
  /** When the access token was got and when it is to be replaced, by this device's clock. */
  at: number
  until: number
}

/**
 * Messages between tabs. `session` only if they share no storage; `out`: the start of the sign-out that the message is
 * about.
 */
interface TabMessage {
  name?: string
  ask?: true
  session?: string | null | undefined
  out?: number
}

type Listener = (payload: unknown) => void

/** The session of a client, wherever it is kept, and all that hear of it. */
interface Keeper {
  /** Its user is the same object for as long as it says the same. */
  read(): Promise<Session | null>
  /** Keeps it (`null`: nobody is signed in), and tells every tab by this event. */
  save(name: string, session: Session | null): Promise<void>
  /** A sign-out begins. `shared`: pages that come later are to know of it too. */
  leave(shared: boolean): void
  /** When the last sign-out began, in whatever tab, where that was a moment ago; else 0. */
  left(): number | false
  /**
   * Reads the messages of other tabs. A value stored before a lock was released may reach another process a little
   * later.
   */
  hearTabs(): Promise<void>
  emit(name: string, payload?: unknown): void
  on(name: string, listener: Listener): () => void
  off(name: string, listener: Listener): void
}

export function createKeeper(key: string, kind: AuthClientOptions['storage'] = 'local'): Keeper {
  const listeners: Record<string, Set<Listener>> = {}
  let opening: Promise<AuthStorage> | undefined
  let channel: BroadcastChannel | undefined
  /** The user that listeners have heard of; `null`: nobody is signed in; `undefined`: nobody has looked yet. */
  let known: Claims | null | undefined
  /** When the last sign-out began that this page knows of. */
  let out = 0

  async function open(): Promise<AuthStorage> {
    if (globalThis.document) {
      channel = new BroadcastChannel(key)
      channel.addEventListener('message', receive)
      // Another tab's write; back from the page cache, from sleep, from offline.
      for (const name of 'storage pageshow visibilitychange online'.split(' ')) addEventListener(name, sync)
      if (kind === 'memory') await keeper.hearTabs()
    }
    return typeof kind === 'object' ? kind : (webStorage(`${kind}Storage`, key) ?? memoryStorage)
  }

  const storage = (): Promise<AuthStorage> => (opening ??= open())

  function receive({ data: { name, ask, session, out: at } }: MessageEvent<TabMessage>): void {
    if (ask) return channel?.postMessage({ session: memory.get(key) })
    if (session !== undefined) put(memoryStorage, session)
    if (at) out = at
    void sync(at, name)
  }

  function put(store: AuthStorage, text: string | null): unknown {
    return text ? store.setItem(key, text) : store.removeItem(key)
  }

  /** Tells what happened while this page could not hear it. */
  async function sync(at?: unknown, name?: unknown): Promise<void> {
    let session = await keeper.read()
    // A tab with a storage of its own signs out too. The message may come late, after another sign-in.
    if (session && session.at < (at as number)) put(await storage(), (session = null))
    if (known?.sub !== session?.user.sub) show(session ? 'authenticated' : 'unauthenticated', session)
    else if (name === 'token_refreshed') show(name, session)
  }

  /** The same object for as long as it says the same. */
  function same(user: Claims): Claims {
    return known && JSON.stringify(user) === JSON.stringify(known) ? known : user
  }

  function show(name: string, session: Session | null): void {
    known = session && same(session.user)
    keeper.emit(name, known)
  }

  const keeper: Keeper = {
    async read() {
      try {
        const session = JSON.parse((await (await storage()).getItem(key)) as string) as Session | null
        if (session) session.user = same(session.user)
        if (known === undefined) known = session && session.user
        return session
      } catch {
        return null
      }
    },
    async save(name, session) {
      const text = session && JSON.stringify(session)
      await put(await storage(), text)
      show(name, session)
      channel?.postMessage({ name, session: kind === 'memory' ? text : undefined, out })
    },
    leave(shared) {
      out = Date.now()
      if (shared) transactions().setItem(`${key}!`, out as unknown as string)
    },
    left() {
      const at = Math.max(out, transactions().getItem(`${key}!`) as unknown as number)
      // A sign-in that begins so soon after a sign-out asks for the person, whatever has become of the provider's own
      // session.
      return Math.abs(Date.now() - at) < 30_000 && at
    },
    async hearTabs() {
      if (kind === 'memory') channel?.postMessage({ ask: true })
      await sleep(100)
    },
    emit(name, payload) {
      // Each by itself: one that throws stops no other, and none runs while a lock is held.
      for (const listener of listeners[name] ?? [])
        queueMicrotask(() => {
          listener(payload)
        })
    },
    on(name, listener) {
      const heard = (listeners[name] ??= new Set()).add(listener)
      // The stored session may have a user already. Any listener makes this tab hear the others from here on.
      void keeper
        .read()
        .then((session) => session && name === 'authenticated' && heard.has(listener) && listener(session.user))
      return () => {
        heard.delete(listener)
      }
    },
    off(name, listener) {
      listeners[name]?.delete(listener)
    }
  }
  return keeper
}
