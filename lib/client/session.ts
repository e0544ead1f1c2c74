import type { TokenAnswer } from './http.ts'
import type { Claims } from './id-token.ts'
import { memory, memoryStorage, sleep, transactions, webStorage } from './storage.ts'
import type { AuthClientOptions, AuthStorage } from './options.ts'

/** The last token response, with the values of former responses that it omitted, and its user. */
export interface Session extends TokenAnswer {
  user: Claims
  /** When the access token was got and when it is to be replaced, by this device's clock. */
  at: number
  until: number
}

export function sessionOf(tokens: TokenAnswer, user: Claims, former?: Session): Session {
  const seconds = tokens.expires_in ?? 3600
  const at = Date.now()
  // Refreshes a token half a minute before it expires, or after nine tenths of a short life.
  return { ...former, ...tokens, user, at, until: at + Math.max(seconds - 30, seconds * 0.9) * 1000 }
}

/** A negative age means that the clock was set back. The clocks of two tabs may differ a little. */
export const isFresh = ({ at, until }: Session): boolean => Date.now() > at - 1000 && Date.now() < until

/**
 * A message between tabs. `name`: the event that the sender's change of the session caused. `ask`: the tab asks the
 * others for their session. `session`: the answer, or the new session, if the tabs share no storage. `out`: the start
 * of the last sign-out that the sender knows of.
 */
interface TabMessage {
  name?: string
  ask?: true
  session?: string | null | undefined
  out?: number
}

type Listener = (payload: unknown) => void

/** The session of a client in any storage, and its listeners. */
interface Keeper {
  /** `null`: signed out, or the storage can not be read. The user is the same object until the claims change. */
  read(): Promise<Session | null>
  /** Stores the session (`null`: signed out), and sends this event to every tab. */
  save(name: string, session: Session | null): Promise<void>
  /** Notes that a sign-out begins. `shared`: also for pages that load later. */
  leave(shared: boolean): void
  /**
   * The start of a sign-out in any tab within the last 30 s, in milliseconds since the epoch. `false`: there was none.
   */
  left(): number | false
  /**
   * Waits 100 ms for messages of other tabs. With the storage `memory`, first asks the tabs for their session. A value
   * stored before a lock was released may reach another process a little later.
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
  /** The user that listeners know. `null`: signed out. `undefined`: not read yet. */
  let known: Claims | null | undefined
  /** The start of the last sign-out that this page knows of. */
  let out = 0

  async function open(): Promise<AuthStorage> {
    if (globalThis.document) {
      channel = new BroadcastChannel(key)
      channel.addEventListener('message', receive)
      // Events after which the session may have changed: another tab's write, a return from the page cache, from sleep,
      // or from being offline.
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

  /** Emits events for changes that this page missed. */
  async function sync(at?: unknown, name?: unknown): Promise<void> {
    let session = await keeper.read()
    // A tab with a storage of its own signs out too. The message may come late, after another sign-in.
    if (session && session.at < (at as number)) put(await storage(), (session = null))
    if (known?.sub !== session?.user.sub) show(session ? 'authenticated' : 'unauthenticated', session)
    else if (name === 'token_refreshed') show(name, session)
  }

  /** Returns the same object until the content changes. */
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
      // A sign-in this soon after a sign-out asks for the person, even if the provider's own session continues.
      return Math.abs(Date.now() - at) < 30_000 && at
    },
    async hearTabs() {
      if (kind === 'memory') channel?.postMessage({ ask: true })
      await sleep(100)
    },
    emit(name, payload) {
      // Calls each listener separately, so that an error in one stops no other, and never while a lock is held.
      for (const listener of listeners[name] ?? [])
        queueMicrotask(() => {
          listener(payload)
        })
    },
    on(name, listener) {
      const heard = (listeners[name] ??= new Set()).add(listener)
      // Checks for a stored user. With its first listener, this tab also starts to listen to other tabs.
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
