import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { misfit, MisfitError } from '../errors.ts'
import type { Client } from '../ports/client-store.ts'
import { checkClient, type ClientRules } from './check-clients.ts'
import { schemaMistake } from './option-error.ts'
import { section } from './schema-words.ts'
import { CLIENT_FIELDS } from './sections/clients.ts'

const SCHEMA = section<Client>(CLIENT_FIELDS, { takes: 'a client' })
const SOURCE = 'clients.findById'
/** At most 8 MB of recently used clients. */
const MOST_KNOWN = 1000
const LONGEST_KNOWN = 4096

/**
 * Reads a row of a client store, with the check of listed clients, at each lookup. A field with `null`, as in SQL,
 * counts as absent. An unknown field is refused, because a table's own `first_party` would otherwise be ignored
 * silently.
 *
 * @throws MisfitError that names the field, and shows no value
 */
export function clientRows(rules: ClientRules): (row: unknown) => Client {
  let schema: TypeCheck<typeof SCHEMA> | undefined
  const names = Object.keys(CLIENT_FIELDS)
  const known = new Map<string, { text: string; client: Client }>()

  /**
   * An object of a class may have fields as getters, which it does not list. A copy without them would lack these
   * fields.
   */
  function fieldsOf(row: unknown): Client {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) throw refusal(undefined, row, 'a client')
    const given = row as Record<string, unknown>
    const fields = [...new Set([...Object.keys(given), ...names])].map((name) => [name, given[name]] as const)
    return Object.fromEntries(fields.filter(([, value]) => value !== null && value !== undefined)) as unknown as Client
  }

  function checked(client: Client): Client {
    schema ??= TypeCompiler.Compile(SCHEMA)
    if (!schema.Check(client)) {
      const mistake = schemaMistake(SCHEMA, client)
      if (mistake?.among !== undefined)
        throw new MisfitError('store', {
          source: SOURCE,
          field: mistake.path,
          problem: `no field of a client. There are: ${mistake.among.join(', ')}`
        })
      throw refusal(mistake?.path, mistake?.got, mistake?.takes ?? 'a client')
    }
    checkClient(client, rules, refusal)
    return client
  }

  // Cache the result, because checking a client's addresses takes a tenth of a refresh, and most rows have not changed.
  return (row) => {
    // Not of the row itself, because its `toJSON` may omit secret fields.
    const fields = fieldsOf(row)
    const text = textOf(fields)
    const before = text === null ? undefined : known.get(fields.clientId)
    if (before !== undefined && before.text === text) return before.client
    const client = checked(fields)
    if (text !== null) {
      if (known.size >= MOST_KNOWN) known.clear()
      known.set(client.clientId, { text, client })
    }
    return client
  }
}

/** Identifies a row. `null` if it is too long to keep, or not JSON. */
function textOf(fields: Client): string | null {
  try {
    const text = JSON.stringify(fields)
    return text.length > LONGEST_KNOWN ? null : text
  } catch {
    return null
  }
}

function refusal(field: string | undefined, got: unknown, takes: string): MisfitError {
  return misfit('store', { source: SOURCE, got, takes, ...(field === undefined ? {} : { field }) })
}
