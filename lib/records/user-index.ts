import { familyKey, GENERATION, INDEX, rowOf, sessionKey, type View } from './view.ts'

/** The fields of a user's family, code or session for decisions that know only the user. */
export interface Entry {
  sid: string
  kind: EntryKind
  createdAt: number
  expiresAt: number
  sessionSid: string | null
  clientId: string | null
}
type EntryKind = 'code' | 'online' | 'offline' | 'session'

/** All families, codes and sessions of a user, in the order of addition. An entry without its record is ignored. */
export interface UserIndex {
  entries(): readonly Entry[]
  /** Adds the entry, or replaces the one of the same record. */
  set(entry: Entry): void
  /** Removes these entries, but not their records. */
  drop(ended: readonly Entry[]): void
  /**
   * Keeps at most `max` entries of the kind of `kept`, including `kept`. Removes ended entries first, then the oldest
   * by `createdAt`. Of entries with the same time, removes the entry that was added first. `isAlive`: true for a record
   * that is alive.
   */
  bound(kept: Entry, max: number, now: number, isAlive: (record: unknown) => boolean): void
  /** Writes the index. With `now`, removes entries that have ended by then, with their records. */
  save(now?: number): void
}

const KINDS: readonly EntryKind[] = ['code', 'online', 'offline', 'session']

type PackedEntry = [
  sid: string,
  kind: number,
  createdAt: number,
  expiresAt: number,
  sessionSid: string | null,
  clientId: string | null
]
type PackedIndex = [userId: string, entries: PackedEntry[]]
/** `end`: the time until which the generation is stored, which is not before the end of the index. */
type PackedGeneration = [generation: string, end: number]

export const recordKeyOf = ({ kind, sid }: Pick<Entry, 'kind' | 'sid'>): string =>
  kind === 'session' ? sessionKey(sid) : familyKey(sid)

const indexRow = (view: View): PackedIndex | null => rowOf<PackedIndex>(view.get(INDEX), 2)
const generationRow = (view: View): PackedGeneration | null => rowOf<PackedGeneration>(view.get(GENERATION), 2)
const isOfSession = ({ kind }: Entry): boolean => kind === 'session'

/**
 * The generation that the records of this partition must have. `''` if the store evicts nothing. In a store that
 * evicts, a record is valid only as long as the index exists: a call that finds the index lost ends the generation.
 */
export function generationIn(view: View): string | null {
  if (!view.evicts) return ''
  return generationRow(view)?.[0] ?? null
}

/**
 * The keys that a decision on the index reads first. `generationKeys` is for a decision on one record without the
 * index.
 */
export const indexKeys = (view: Pick<View, 'evicts'>): string[] => (view.evicts ? [INDEX, GENERATION] : [INDEX])
export const generationKeys = (view: Pick<View, 'evicts'>): string[] => (view.evicts ? [GENERATION] : [])

/** The user of the stored index. `null` if the index is missing or damaged. */
export const ownerOfIndex = (view: View): string | null => indexRow(view)?.[0] ?? null

export function indexIn(view: View, userId: string): UserIndex {
  const stored = indexRow(view)
  // In a store that evicts, a damaged index counts as lost, and the generation ends all its records. In any other store
  // they would stay valid but unlisted, so this throws.
  if (stored === null && !view.evicts && view.get(INDEX) !== null)
    throw new TypeError('The index of a user is damaged. All records of this partition have to be removed by hand.')
  if (stored !== null && stored[0] !== userId) throw new Error('The partition is that of another user.')
  let entries = (stored?.[1] ?? []).map(unpack)

  // The server has evicted the index or the generation, so no record of the partition is valid any more.
  if (view.evicts && (stored === null) !== (generationRow(view) === null)) {
    for (const entry of entries) view.remove(recordKeyOf(entry))
    view.remove(INDEX)
    view.remove(GENERATION)
    entries = []
  }

  const drop = (ended: readonly Entry[]): void => {
    const dropped = new Set(ended)
    entries = entries.filter((entry) => !dropped.has(entry))
  }
  return {
    entries: () => entries,
    set(entry) {
      const isSession = isOfSession(entry)
      const at = entries.findIndex((one) => one.sid === entry.sid && isOfSession(one) === isSession)
      entries = at < 0 ? [...entries, entry] : entries.with(at, entry)
    },
    drop,
    bound(kept, max, now, isAlive) {
      const others = entries.filter(({ sid, kind }) => kind === kept.kind && sid !== kept.sid)
      if (others.length < max) return
      // The index has the exact end of a code, but not the idle end of a family or session. An ended record never lives
      // again, so the commit need not compare it.
      const records = kept.kind === 'code' ? null : view.peek(others.map(recordKeyOf))
      const ranked = others
        .map((entry, at) => ({ entry, at, alive: records === null ? now < entry.expiresAt : isAlive(records[at]) }))
        .sort((a, b) => Number(b.alive) - Number(a.alive) || b.entry.createdAt - a.entry.createdAt || b.at - a.at)
      const ended = ranked.slice(max - 1).map(({ entry }) => entry)
      for (const entry of ended) view.remove(recordKeyOf(entry))
      drop(ended)
    },
    save(now) {
      for (const entry of entries) if (now !== undefined && entry.expiresAt <= now) view.remove(recordKeyOf(entry))
      entries = entries.filter(({ expiresAt }) => now === undefined || expiresAt > now)
      write(view, userId, entries, now)
    }
  }
}

function write(view: View, userId: string, entries: readonly Entry[], now: number | undefined): void {
  if (entries.length === 0) {
    view.remove(INDEX)
    if (view.evicts) view.remove(GENERATION)
    return
  }
  const expiresAt = Math.max(...entries.map((entry) => entry.expiresAt))
  const value: PackedIndex = [userId, entries.map(pack)]
  view.put(INDEX, { kind: 'index', userId, value, expiresAt })
  if (view.evicts) keepGeneration(view, userId, expiresAt, now ?? expiresAt)
}

/**
 * Creates a generation if there is none, and makes it outlive the index. A written generation gets up to twice the
 * remaining life of the index, so that it is seldom written.
 */
function keepGeneration(view: View, userId: string, expiresAt: number, now: number): void {
  const stored = generationRow(view)
  if (stored !== null && stored[1] >= expiresAt) return
  const end = expiresAt + Math.max(0, expiresAt - now)
  const value: PackedGeneration = [stored?.[0] ?? view.unique(), end]
  view.put(GENERATION, { kind: 'generation', userId, value, expiresAt: end })
}

const pack = ({ sid, kind, createdAt, expiresAt, sessionSid, clientId }: Entry): PackedEntry => [
  sid,
  KINDS.indexOf(kind),
  createdAt,
  expiresAt,
  sessionSid,
  clientId
]
const unpack = ([sid, kind, createdAt, expiresAt, sessionSid, clientId]: PackedEntry): Entry => ({
  sid,
  kind: KINDS[kind] ?? 'code',
  createdAt,
  expiresAt,
  sessionSid,
  clientId
})
