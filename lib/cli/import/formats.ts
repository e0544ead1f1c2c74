import { BadRow, type Columns, flag, isBarred, isObject, knownTime, list, object, textIn } from './columns.ts'

const PBKDF2 = ['pbkdf2', 'pbkdf2-sha256', 'pbkdf2-sha512']
const unpadded = (base64: string | undefined): string => (base64 ?? '').replace(/={0,2}$/, '')

/** Reads a parameter of a Keycloak hash. Keycloak writes each value as a list with one text. */
function parameter(parameters: Columns, name: string, usual: string): string {
  const value = [parameters[name]].flat()[0] ?? usual
  if (typeof value !== 'string') throw new BadRow('credentialData is of an unknown form')
  return value
}

/** Writes a user's first password credential as a PHC string. Keycloak has the hash and its settings as JSON texts. */
function keycloakHash(credentials: readonly Columns[]): string | undefined | { unusable: string } {
  const password = credentials.find(({ type }) => type === 'password')
  if (password === undefined) return undefined
  const [secret, settings] = [object(password, 'secretData'), object(password, 'credentialData')]
  if (secret === undefined || settings === undefined) return { unusable: 'hash of an old form of Keycloak' }
  const algorithm = textIn(settings, 'algorithm') ?? ''
  const iterations = textIn(settings, 'hashIterations') ?? ''
  const end = `$${unpadded(textIn(secret, 'salt'))}$${unpadded(textIn(secret, 'value'))}`
  if (PBKDF2.includes(algorithm)) return `$${algorithm}$i=${iterations}${end}`
  if (algorithm !== 'argon2') return { unusable: 'hash of an algorithm that Keycloak has by a plugin' }
  const given = settings['additionalParameters']
  const parameters = isObject(given) ? given : {}
  const version = parameter(parameters, 'version', '1.3') === '1.3' ? 19 : 16
  const [memory, lanes] = [parameter(parameters, 'memory', '7168'), parameter(parameters, 'parallelism', '1')]
  const cost = `m=${memory},t=${iterations},p=${lanes}`
  return `$argon2${parameter(parameters, 'type', 'id')}$v=${version}$${cost}${end}`
}

/** A user's identity at a provider, with the name that the source system gives the provider. */
export interface SourceLink {
  provider: string
  subject: string
}

/** A user's identity at a provider, in the format of this library's own `ndjson` import. */
export interface OwnLink {
  issuer: string
  subject: string
  connection: string
  email: string | undefined
}

/** A user as read from the source. The username, the email address and the hash are not checked yet. */
export interface SourceUser {
  id: string | undefined
  username: string | undefined
  email: string | undefined
  emailVerified: boolean
  disabled: boolean
  createdAt: number | undefined
  /** The hash, as this library reads it. `undefined`: none. `unusable`: the reason why the hash can't be used. */
  passwordHash: string | undefined | { unusable: string }
  /** Profile fields. The import omits fields that are `undefined`. */
  fields: Readonly<Record<string, unknown>>
  links: ReadonlyArray<SourceLink | OwnLink>
}

export interface Format {
  /** The member that contains the array of users, if the export is one JSON object. */
  member?: string
  /** Reads the user of a row. `now`: milliseconds since the epoch. @throws BadRow for a row that can't be imported */
  read(row: Columns, now: number): SourceUser
}

const namesOf = (name: string | undefined, given?: string, family?: string): Record<string, string | undefined> => {
  const both = [given, family].filter((one) => one !== undefined).join(' ')
  return { name: name ?? (both === '' ? undefined : both), given_name: given, family_name: family }
}

/** Reads links from a list. Skips an entry without a provider or a subject, such as the source's own password login. */
const linksIn = (rows: readonly Columns[], provider: string, ...subjects: string[]): SourceLink[] =>
  rows.flatMap((row) => {
    const [name, subject] = [textIn(row, provider), textIn(row, ...subjects)]
    return name === undefined || subject === undefined ? [] : [{ provider: name, subject }]
  })

/** Placeholder that Firebase exports instead of a hash if the exporting user may not read hashes. */
const REDACTED = /^(?:REDACTED|UkVEQUNURUQ=?)$/
/** Writes a Firebase hash as a PHC string. All Firebase projects use these cost parameters. */
function firebaseHash(row: Columns): SourceUser['passwordHash'] {
  const [hash, salt] = [textIn(row, 'passwordHash'), textIn(row, 'salt')]
  if (hash === undefined) return undefined
  if (REDACTED.test(hash)) return { unusable: 'Firebase hash that its exporter could not see' }
  return `$fbscrypt$v=1,n=14,r=8,p=1$${salt ?? ''}$${hash}`
}

/** Fields of the `ndjson` format that are not profile fields. */
const OWN = ['id', 'username', 'email', 'emailVerified', 'disabled', 'createdAt', 'passwordHash', 'links']
/** Fields that a row must not have: the service sets them, or they are no data (`__proto__`). */
const SERVICE = ['version', 'emailProvedAt', 'passwordChangedAt', '__proto__']

function ownFields(row: Columns): Record<string, unknown> {
  const wrong = SERVICE.find((name) => Object.hasOwn(row, name))
  if (wrong !== undefined) throw new BadRow(`has the field ${wrong}, which the service sets`)
  return Object.fromEntries(
    Object.entries(row).filter(([name, value]) => !OWN.includes(name) && value !== null && value !== '')
  )
}

export const FORMATS: Readonly<Record<string, Format>> = {
  auth0: {
    read: (row) => {
      const identifiers = list(row, 'identifiers').filter(({ type }) => type === 'email')
      const [identifier = {}] = identifiers
      const email = textIn(row, 'email') ?? textIn(identifier, 'value')
      const key = isObject(row['_id']) ? textIn(row['_id'], '$oid') : textIn(row, '_id')
      const own = textIn(row, 'alt_id') ?? key
      return {
        id: textIn(row, 'user_id') ?? (own === undefined ? undefined : `auth0|${own}`),
        username: email ?? textIn(row, 'username'),
        email,
        emailVerified: flag(row, 'email_verified') ?? flag(identifier, 'verified') ?? false,
        disabled: flag(row, 'blocked') ?? false,
        createdAt: knownTime(row, 'created_at'),
        passwordHash: textIn(row, 'passwordHash'),
        fields: namesOf(textIn(row, 'name'), textIn(row, 'given_name'), textIn(row, 'family_name')),
        links: linksIn(list(row, 'identities'), 'provider', 'user_id')
      }
    }
  },
  supabase: {
    read: (row, now) => {
      const data = object(row, 'raw_user_meta_data') ?? {}
      if (textIn(row, 'deleted_at') !== undefined) throw new BadRow('was deleted there')
      const email = textIn(row, 'email')
      return {
        id: textIn(row, 'id'),
        username: email,
        email,
        emailVerified: textIn(row, 'email_confirmed_at') !== undefined,
        disabled: isBarred(row, 'banned_until', now),
        createdAt: knownTime(row, 'created_at'),
        passwordHash: textIn(row, 'encrypted_password'),
        fields: namesOf(textIn(data, 'full_name', 'name')),
        links: linksIn(list(row, 'identities'), 'provider', 'provider_id')
      }
    }
  },
  firebase: {
    member: 'users',
    read: (row) => {
      const email = textIn(row, 'email')
      return {
        id: textIn(row, 'localId'),
        username: email,
        email,
        emailVerified: flag(row, 'emailVerified') ?? false,
        disabled: flag(row, 'disabled') ?? false,
        createdAt: knownTime(row, 'createdAt'),
        passwordHash: firebaseHash(row),
        fields: namesOf(textIn(row, 'displayName')),
        links: linksIn(list(row, 'providerUserInfo'), 'providerId', 'rawId')
      }
    }
  },
  keycloak: {
    member: 'users',
    read: (row) => ({
      id: textIn(row, 'id'),
      username: textIn(row, 'username'),
      email: textIn(row, 'email'),
      emailVerified: flag(row, 'emailVerified') ?? false,
      disabled: flag(row, 'enabled') === false,
      createdAt: knownTime(row, 'createdTimestamp'),
      passwordHash: keycloakHash(list(row, 'credentials')),
      fields: namesOf(undefined, textIn(row, 'firstName'), textIn(row, 'lastName')),
      links: linksIn(list(row, 'federatedIdentities'), 'identityProvider', 'userId')
    })
  },
  django: {
    read: (given) => {
      // Django's `dumpdata` nests the columns in `fields`. The primary key `pk` is outside.
      const row = { id: given['pk'], ...(object(given, 'fields') ?? given) }
      const hash = textIn(row, 'password')
      return {
        id: textIn(row, 'id'),
        username: textIn(row, 'username', 'email'),
        email: textIn(row, 'email'),
        emailVerified: false,
        disabled: flag(row, 'is_active') === false,
        createdAt: knownTime(row, 'date_joined'),
        passwordHash: hash?.startsWith('!') === true ? undefined : hash,
        fields: namesOf(undefined, textIn(row, 'first_name'), textIn(row, 'last_name')),
        links: []
      }
    }
  },
  wordpress: {
    read: (row) => ({
      id: textIn(row, 'ID'),
      username: textIn(row, 'user_login'),
      email: textIn(row, 'user_email'),
      emailVerified: false,
      disabled: flag(row, 'deleted') === true || flag(row, 'spam') === true,
      createdAt: knownTime(row, 'user_registered'),
      passwordHash: textIn(row, 'user_pass'),
      fields: namesOf(textIn(row, 'display_name')),
      links: []
    })
  },
  werkzeug: {
    read: (row) => ({
      id: textIn(row, 'id'),
      username: textIn(row, 'username', 'email'),
      email: textIn(row, 'email'),
      emailVerified: textIn(row, 'confirmed_at') !== undefined,
      disabled: flag(row, 'active') === false || flag(row, 'is_active') === false,
      createdAt: knownTime(row, 'created_at'),
      passwordHash: textIn(row, 'password_hash', 'password'),
      fields: namesOf(textIn(row, 'name')),
      links: []
    })
  },
  aspnet: {
    read: (row, now) => ({
      id: textIn(row, 'Id'),
      username: textIn(row, 'UserName', 'Email'),
      email: textIn(row, 'Email'),
      emailVerified: flag(row, 'EmailConfirmed') ?? false,
      disabled: isBarred(row, 'LockoutEnd', now),
      createdAt: undefined,
      passwordHash: textIn(row, 'PasswordHash'),
      fields: {},
      links: []
    })
  },
  ndjson: {
    read: (row) => ({
      id: textIn(row, 'id'),
      username: textIn(row, 'username', 'email'),
      email: textIn(row, 'email'),
      emailVerified: flag(row, 'emailVerified') ?? false,
      disabled: flag(row, 'disabled') ?? false,
      createdAt: knownTime(row, 'createdAt'),
      passwordHash: textIn(row, 'passwordHash'),
      fields: ownFields(row),
      links: list(row, 'links').map((link) => {
        const [issuer, subject, connection] = [
          textIn(link, 'issuer'),
          textIn(link, 'subject'),
          textIn(link, 'connection')
        ]
        if (issuer === undefined || subject === undefined || connection === undefined)
          throw new BadRow('has a link without an issuer, a subject or a connection')
        return { issuer, subject, connection, email: textIn(link, 'email') }
      })
    })
  }
}
