import { outcomeFrom } from '../../boundary/answers.ts'
import * as providers from '../../connections/providers.ts'
import { misfit } from '../../errors.ts'
import type { ImportOutcome, UserImporter, User, LinkedIdentity, UserToImport } from '../../ports/user-store.ts'
import { MAX_ID } from '../../accounts/acted-on.ts'
import { BadRow, idIn, type Columns } from './columns.ts'
import { type FileRow, rowsOf } from './rows.ts'
import type { FirebaseParameters } from '../../accounts/imported-hash-formats.ts'
import { holdsUnstorable } from '../../accounts/register.ts'
import { parseStoredHash } from '../../accounts/stored-hash.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import { isStorable } from '../../protocol/bounds.ts'
import type { Format, SourceUser, OwnLink, SourceLink } from './formats.ts'
import { makesProvisional } from '../../accounts/address-proof.ts'
import { linkOf } from '../../accounts/identities.ts'

/**
 * Issuers of the providers that give a user the same subject at all clients of one owner. Microsoft is missing, because
 * its `sub` differs per client and few exports have the `oid`.
 */
const ISSUERS: ReadonlyMap<string, string> = new Map(
  Object.values(providers)
    .map((provider) => provider({} as never))
    .filter(({ id }) => id !== 'microsoft')
    .map(({ id, provider: { issuer } }) => [id, issuer])
)
/** Provider names that stand for accounts of the source itself, and so for no link to a provider. */
const OF_THE_SOURCE = ['auth0', 'email', 'password', 'phone']

/** Returns the links to import, and the providers of links that can't be imported. */
function linksOf(
  user: User,
  given: ReadonlyArray<SourceLink | OwnLink>,
  now: number
): { links: LinkedIdentity[]; leftOut: string[] } {
  const [links, leftOut]: [LinkedIdentity[], string[]] = [[], []]
  for (const one of given) {
    // Firebase writes `google.com`, and Auth0 `google-oauth2`.
    const connection = 'provider' in one ? one.provider.replace(/(?:\.com|-oauth2)$/, '') : one.connection
    const issuer = 'provider' in one ? ISSUERS.get(connection) : one.issuer
    const { subject } = one
    const email = 'email' in one ? one.email : undefined
    if (![connection, issuer ?? '', subject, email ?? ''].every(isStorable)) throw new BadRow('has a link with a NUL')
    // A store accepts an identity only once, so the import keeps the first of two equal links.
    if (links.some((link) => link.issuer === issuer && link.subject === subject)) continue
    if (issuer !== undefined)
      links.push(linkOf({ issuer, subject, email }, { connection, now, isProvisional: makesProvisional(user) }))
    else if (!OF_THE_SOURCE.includes(connection)) leftOut.push(connection)
  }
  return { links, leftOut }
}

interface Planned extends UserToImport {
  /** The format of the hash. `null`: the user has no hash that the service can verify. */
  hash: string | null
  /** The reason why the import omits the source's hash. `null`: the import omits no hash. */
  unusable: string | null
  /** Providers of the links that the import omits. */
  leftOut: readonly string[]
}

interface ReadingDeps {
  format: Format
  now: number
  firebase: FirebaseParameters | null
}

/**
 * Validates the user of a row. Omits a hash that the service can't verify or that costs too much. Such a user sets a
 * new password with an emailed link.
 * @throws BadRow for a row that can't be imported
 */
function userOf(columns: Columns, { format, now, firebase }: ReadingDeps): Planned {
  const source = format.read(columns, now)
  const { id, username: spelling, email, emailVerified, disabled, createdAt, fields } = source
  if (id === undefined) throw new BadRow('has no id')
  if (id.length > MAX_ID) throw new BadRow(`has an id of more than ${MAX_ID} characters`)
  if (spelling === undefined) throw new BadRow('has neither a username nor an email address')
  const username = normalizeUsername(spelling)
  if (username === null) throw new BadRow('has a username that is too long, or with a character that no username has')
  if (email !== undefined && (!email.includes('@') || normalizeUsername(email) === null))
    throw new BadRow('has an email address that nobody can have')
  const profile = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  if (!isStorable(id) || holdsUnstorable(profile))
    throw new BadRow('has a text with a NUL or half a character, or is nested too deep')
  const { passwordHash, hash, unusable } = hashOf(source.passwordHash, firebase)
  const user: User = {
    ...profile,
    id,
    username,
    passwordHash,
    ...(email === undefined ? {} : { email }),
    emailVerified,
    disabled,
    ...(createdAt === undefined ? {} : { createdAt })
  }
  return { user, ...linksOf(user, source.links, now), hash, unusable }
}

function hashOf(
  given: SourceUser['passwordHash'],
  firebase: FirebaseParameters | null
): Pick<Planned, 'hash' | 'unusable'> & Pick<User, 'passwordHash'> {
  if (given === undefined) return { passwordHash: null, hash: null, unusable: null }
  if (typeof given === 'object') return { passwordHash: null, hash: null, unusable: given.unusable }
  const parsed = parseStoredHash(given, firebase)
  if (parsed.kind === 'unusable') return { passwordHash: null, hash: null, unusable: parsed.reason }
  return { passwordHash: given, hash: parsed.kind === 'argon2' ? parsed.variant : parsed.kind, unusable: null }
}

interface ImportReport {
  rows: number
  imported: number
  /** The number of users whom the store already had with the same id and username. */
  unchanged: number
  skipped: number
  /** The number of users per hash format. */
  hashes: Record<string, number>
  withoutPassword: number
  /** The number of omitted hashes per reason. */
  unusableHashes: Record<string, number>
  links: number
  /** The number of omitted links per provider. */
  linksLeftOut: Record<string, number>
  /** A sentence for each skipped row, each omitted hash, and each user whose links another user has. At most 1000. */
  problems: string[]
}

interface Pass {
  report: ImportReport
  /** The number of rows skipped because another user has the same username. */
  conflicts: number
}

export interface ImportDeps extends ReadingDeps {
  store: UserImporter
  path: string
}

const BATCH = 1000
const MOST_PROBLEMS = 1000
const LONGEST_SHOWN = 100

/** Makes an object without a prototype, because a provider may be called `constructor`. */
const noCounts = (): Record<string, number> => Object.create(null) as Record<string, number>

const count = (counts: Record<string, number>, name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1
}

const SENTENCES: Readonly<Record<Exclude<ImportOutcome['outcome'], 'imported' | 'unchanged'>, string>> = {
  other_name: 'the store has its id with another username',
  name_taken: 'another user of the store has its username'
}

const SOURCE = 'users.importUsers'
const OUTCOMES = ['imported', 'unchanged', 'other_name', 'name_taken'] as const

/** Checks the answer of a store. @throws MisfitError */
function outcomesFrom(answer: unknown, length: number): ImportOutcome[] {
  if (!Array.isArray(answer) || answer.length !== length)
    throw misfit('store', { source: SOURCE, got: answer, takes: 'an array with an outcome of each user' })
  return answer.map((one: Partial<ImportOutcome> | null) => {
    const links = one?.links
    if (!Number.isSafeInteger(links))
      throw misfit('store', { source: SOURCE, field: 'links', got: links, takes: 'a number' })
    return { outcome: outcomeFrom(`${SOURCE}: outcome`, one?.outcome, OUTCOMES), links: links as number }
  })
}

/**
 * Reads the file once, in batches of rows. Keeps every id and username in memory to detect duplicates. `dryRun`: the
 * store checks the users and writes nothing.
 */
export async function passOver(deps: ImportDeps, { dryRun }: { dryRun: boolean }): Promise<Pass> {
  const { path, store, format } = deps
  const report: ImportReport = {
    rows: 0,
    imported: 0,
    unchanged: 0,
    skipped: 0,
    hashes: noCounts(),
    withoutPassword: 0,
    unusableHashes: noCounts(),
    links: 0,
    linksLeftOut: noCounts(),
    problems: []
  }
  let conflicts = 0
  const ids = new Map<string, number>()
  const names = new Map<string, number>()
  let batch: Array<Planned & { row: number }> = []

  const tell = (row: number, id: string | undefined, problem: string): void => {
    const named = id === undefined ? '' : ` (id ${id.length > LONGEST_SHOWN ? `${id.slice(0, LONGEST_SHOWN)}…` : id})`
    if (report.problems.length < MOST_PROBLEMS) report.problems.push(`row ${row}: ${problem}${named}`)
  }
  const skip = (row: number, id: string | undefined, problem: string): void => {
    report.skipped++
    tell(row, id, problem)
  }
  const conflict = (row: number, id: string, problem: string): void => {
    conflicts++
    skip(row, id, problem)
  }

  const settle = ({ user, links, hash, unusable, leftOut, row }: Planned & { row: number }, written: ImportOutcome) => {
    const { outcome } = written
    if (outcome === 'name_taken') {
      conflict(row, user.id, SENTENCES.name_taken)
      return
    }
    if (outcome === 'other_name') {
      skip(row, user.id, SENTENCES.other_name)
      return
    }
    report[outcome]++
    if (hash !== null) count(report.hashes, hash)
    if (user.passwordHash === null) report.withoutPassword++
    if (unusable !== null) {
      count(report.unusableHashes, unusable)
      tell(row, user.id, `the hash is left out (${unusable})`)
    }
    for (const provider of leftOut) count(report.linksLeftOut, provider)
    report.links += written.links
    if (outcome === 'imported' && written.links < links.length)
      tell(row, user.id, `links that another user has: ${links.length - written.links}`)
  }
  const flush = async (): Promise<void> => {
    const outcomes = outcomesFrom(await store.importUsers(batch, { dryRun }), batch.length)
    batch.forEach((one, index) => {
      settle(one, outcomes[index] as ImportOutcome)
    })
    batch = []
  }
  const plan = (given: FileRow): void => {
    const { row } = given
    if ('problem' in given) {
      skip(row, undefined, given.problem)
      return
    }
    const planned = userOf(given.columns, deps)
    const { id, username } = planned.user
    const [sameId, sameName] = [ids.get(id), names.get(username)]
    if (sameId !== undefined) skip(row, id, `has the id of row ${sameId}`)
    else if (sameName !== undefined) conflict(row, id, `has the username of row ${sameName}`)
    else {
      ids.set(id, row)
      names.set(username, row)
      batch.push({ ...planned, row })
    }
  }

  for await (const given of rowsOf(path, format.member)) {
    report.rows++
    try {
      plan(given)
    } catch (error) {
      if (!(error instanceof BadRow)) throw error
      skip(given.row, 'columns' in given ? idIn(given.columns) : undefined, error.message)
    }
    if (batch.length >= BATCH) await flush()
  }
  if (batch.length > 0) await flush()
  return { report, conflicts }
}
