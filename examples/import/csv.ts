/** The rows of a CSV file as JSON objects, by the names of its first row. @see RFC 4180 */
export async function* csvRows(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let names: string[] | null = null
  for await (const fields of records(chunks)) {
    if (names === null) names = fields
    else if (fields.length > 1 || fields[0] !== '')
      yield JSON.stringify(Object.fromEntries(names.map((name, index) => [name, fields[index] ?? ''])))
  }
}

/** Longer than any row of users: an unclosed quote must not take the rest of the file into memory. */
const MAX_RECORD = 1_000_000

async function* records(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string[]> {
  let [fields, field, length]: [string[], string, number] = [[], '', 0]
  let state: 'plain' | 'quoted' | 'quote in quoted' = 'plain'
  let isEmpty = true
  for await (const chunk of chunks) {
    for (const char of chunk) {
      if (++length > MAX_RECORD)
        throw new RangeError('A row is longer than a million characters: a quote is not closed.')
      if (state === 'quoted') {
        if (char === '"') state = 'quote in quoted'
        else field += char
      } else if (char === '"') {
        if (state === 'quote in quoted') field += char
        state = 'quoted'
      } else if (char === ',') {
        fields.push(field)
        ;[field, state] = ['', 'plain']
      } else if (char === '\n') {
        yield [...fields, field.replace(/\r$/, '')]
        ;[fields, field, length, state, isEmpty] = [[], '', 0, 'plain', true]
        continue
      } else {
        field += char
      }
      isEmpty = false
    }
  }
  if (!isEmpty) yield [...fields, field]
}
