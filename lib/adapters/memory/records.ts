/** What a refresh token family and a browser session have in common. */
interface Lifetime {
  sid: string
  userId: string
  createdAt: number
  expiresAt: number
  idleExpiresAt: number
}

/** Records of one kind, by `sid` and by user. */
interface Records<Entry> {
  /** Throws `TypeError` where the `sid` is taken. */
  add(entry: Entry): void
  get(sid: string): Entry | undefined
  /** Removes it where it has ended at `now`. */
  alive(sid: string, now: number): Entry | undefined
  /** In the order they were added in. */
  ofUser(userId: string): Entry[]
  /** Alive at `now`, newest first. */
  listOfUser(userId: string, now: number): Entry[]
  remove(entry: Entry): void
  /**
   * Leaves the user `max` of those that count, `kept` among them: what has ended goes first, then what was created
   * first.
   */
  bound(kept: Entry, max: number, now: number, counts?: (entry: Entry) => boolean): void
  /** Every `sid`, to sweep by. */
  sids(): Iterable<string>
}

/** Synchronous, so each step is atomic. */
export function createRecords<Entry>(lifetimeOf: (entry: Entry) => Lifetime): Records<Entry> {
  const entries = new Map<string, Entry>()
  const sidsByUser = new Map<string, Set<string>>()

  const isAlive = (entry: Entry, now: number): boolean => {
    const { expiresAt, idleExpiresAt } = lifetimeOf(entry)
    return now < expiresAt && now < idleExpiresAt
  }
  const newestFirst = (a: Entry, b: Entry): number => lifetimeOf(b).createdAt - lifetimeOf(a).createdAt

  const records: Records<Entry> = {
    add(entry) {
      const { sid, userId } = lifetimeOf(entry)
      if (entries.has(sid)) throw new TypeError('A record with this sid exists.')
      entries.set(sid, entry)
      sidsByUser.set(userId, (sidsByUser.get(userId) ?? new Set()).add(sid))
    },
    get: (sid) => entries.get(sid),
    alive(sid, now) {
      const entry = entries.get(sid)
      if (entry === undefined || isAlive(entry, now)) return entry
      records.remove(entry)
      return undefined
    },
    ofUser: (userId) => [...(sidsByUser.get(userId) ?? [])].flatMap((sid) => entries.get(sid) ?? []),
    listOfUser: (userId, now) =>
      records
        .ofUser(userId)
        .filter((entry) => isAlive(entry, now))
        .reverse()
        .sort(newestFirst),
    remove(entry) {
      const { sid, userId } = lifetimeOf(entry)
      entries.delete(sid)
      const sids = sidsByUser.get(userId)
      sids?.delete(sid)
      if (sids?.size === 0) sidsByUser.delete(userId)
    },
    bound(kept, max, now, counts = () => true) {
      const others = records.ofUser(lifetimeOf(kept).userId).filter((entry) => entry !== kept && counts(entry))
      if (others.length < max) return
      others.reverse().sort((a, b) => Number(isAlive(b, now)) - Number(isAlive(a, now)) || newestFirst(a, b))
      for (const entry of others.slice(max - 1)) records.remove(entry)
    },
    sids: () => entries.keys()
  }
  return records
}
