import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { misfit, MisfitError } from '../errors.ts'
import type { Client } from '../ports/client-store.ts'
import { checkClient, type ClientRules } from './check-clients.ts'
import { schemaMistake } from './option-error.ts'
import { CLIENT_SCHEMA } from './sections/clients.ts'

const SOURCE = 'clients.findById'
/** At most 8 MB of clients that were looked up of late. */
const MOST_KNOWN = 1000
const LONGEST_KNOWN = 4096

/**
 * Reads a row of a client store: the same check as that of listed clients, on every row that is looked up. A field that
 * is `null`, as SQL has it, was not given. A name that no client has is refused too: of a table's own `first_party`
 * nobody would notice that it says nothing.
 *
 * @throws MisfitError that names the field, and shows no value
 */
export function clientRows(rules: ClientRules): (row: unknown) => Client {
  let schema: TypeCheck<typeof CLIENT_SCHEMA> | undefined
  const names = Object.keys(CLIENT_SCHEMA.properties)
  const known = new Map<string, { text: string; client: Client }>()

  /**
   * An object of a class may have fields as getters, which it does not list. Without them it would say less than it
   * seems to.
   */
  function fieldsOf(row: unknown): Client {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) throw refusal(undefined, row, 'a client')
    const given = row as Record<string, unknown>
    const fields = [...new Set([...Object.keys(given), ...names])].map((name) => [name, given[name]] as const)
    return Object.fromEntries(fields.filter(([, value]) => value !== null && value !== undefined)) as unknown as Client
  }

  function checked(client: Client): Client {
    schema ??= TypeCompiler.Compile(CLIENT_SCHEMA)
    if (!schema.Check(client)) {
      const mistake = schemaMistake(CLIENT_SCHEMA, client)
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

  // To check the addresses of a client takes as long as a tenth of a refresh, and most rows are what they were a moment
  // ago.
  return (row) => {
    // Not of the row itself: its `toJSON` may leave out what others must not see.
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

/** What tells one row from another; `null` where it is too long to be kept, or no JSON. */
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
