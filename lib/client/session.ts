import type { TokenAnswer } from './http.ts'
import type { Claims } from './id-token.ts'
import { memory, memoryStorage, sleep, transactions, webStorage } from './storage.ts'
import type { AuthClientOptions, AuthStorage } from './options.ts'

/** The last token response and its user. Values that the response omitted come from earlier responses. */
export interface Session extends TokenAnswer {
  user: Claims
  /** The time at which the access token was received, in milliseconds since the epoch by this device's clock. */
  at: number
  /** The time from which the access token must be refreshed. */
  until: number
}

export function sessionOf(tokens: TokenAnswer, user: Claims, former?: Session): Session {
  const seconds = tokens.expires_in ?? 3600
  const at = Date.now()
  // Refreshes a token 30 s before it expires, or after 90 % of a life that is shorter than five minutes.
  return { ...former, ...tokens, user, at, until: at + Math.max(seconds - 30, seconds * 0.9) * 1000 }
}

/**
 * A token from the future is not fresh, because the clock was set back. Allows 1 s, because the clocks of two tabs may
 * differ a little.
 */
export const isFresh = ({ at, until }: Session): boolean => Date.now() > at - 1000 && Date.now() < until

/**
 * A message between tabs. `name`: the event that the sender has emitted. `ask`: the sender asks the other tabs for
 * their session. `session`: the answer, or the changed session, with the storage `memory`. `out`: the start of the last
 * sign-out that the sender knows of.
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
  /** `null`: signed out, or the storage cannot be read. The user is the same object until the claims change. */
  read(): Promise<Session | null>
  /** Stores the session (`null`: signed out). Emits the event `name` in this tab and sends it to the others. */
  save(name: string, session: Session | null): Promise<void>
  /** Records the start of a sign-out. `shared`: also for pages that load later. */
  leave(shared: boolean): void
  /** The start of the last sign-out in milliseconds since the epoch. `false`: there was none within the last 30 s. */
  left(): number | false
  /**
   * Waits 100 ms for messages of other tabs. With the storage `memory`, first asks the tabs for their session. The wait
   * is needed because a value that a tab has stored may reach other tabs only after the tab has released the lock.
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
  /** The user that this page saw last. `null`: signed out. `undefined`: not read yet. */
  let known: Claims | null | undefined
  /** The start of the last sign-out that this page knows of. */
  let out = 0

  async function open(): Promise<AuthStorage> {
    if (globalThis.document) {
      channel = new BroadcastChannel(key)
      channel.addEventListener('message', receive)
      // Events after which the session may have changed: another tab's write, a return to this page or tab, and a new
      // connection to the network.
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
    // A custom storage may fail to remove the session. Then the user stays signed in here.
    sync(at, name).catch(() => {})
  }

  function put(store: AuthStorage, text: string | null): unknown {
    return text ? store.setItem(key, text) : store.removeItem(key)
  }

  /** Reads the session, and emits an event if another tab has changed it. */
  async function sync(at?: unknown, name?: unknown): Promise<void> {
    let session = await keeper.read()
    // Signs out here too, if this tab has its own storage. The message may be late, so a newer session stays.
    if (session && session.at < (at as number)) await put(await storage(), (session = null))
    if (known?.sub !== session?.user.sub) show(session ? 'authenticated' : 'unauthenticated', session)
    else if (name === 'token_refreshed') show(name, session)
  }

  /** Returns the known object for equal claims, so that a view can compare users by `===`. */
  function same(user: Claims): Claims {
    return JSON.stringify(user) === JSON.stringify(known) ? (known as Claims) : user
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
      // A sign-in within this time asks for `prompt=login`, because the provider's own session may continue.
      return Math.abs(Date.now() - at) < 30_000 && at
    },
    async hearTabs() {
      if (kind === 'memory') channel?.postMessage({ ask: true })
      await sleep(100)
    },
    emit(name, payload) {
      // Calls each listener in a microtask of its own, so that an error in one stops neither the others nor the caller.
      for (const listener of listeners[name] ?? [])
        queueMicrotask(() => {
          listener(payload)
        })
    },
    on(name, listener) {
      const heard = (listeners[name] ??= new Set()).add(listener)
      // Calls a listener of `authenticated` with a stored user. The first read also starts to listen to other tabs.
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
