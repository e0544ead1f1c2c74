import { LONGEST_ROW } from './columns.ts'

/** The number of the line where the record begins, and its fields. `null`: it is too long. */
interface CsvRecord {
  line: number
  fields: string[] | null
}

/** The records of a CSV file. @see RFC 4180 */
export async function* csvRecords(chunks: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let [fields, field, length]: [string[], string, number] = [[], '', 0]
  let [line, begun] = [1, 1]
  let state: 'plain' | 'quoted' | 'quote in quoted' = 'plain'
  for await (const chunk of chunks) {
    for (const character of chunk) {
      if (character === '\n') line++
      if (++length > LONGEST_ROW) {
        yield { line: begun, fields: null }
        return
      }
      if (state === 'quoted') {
        if (character === '"') state = 'quote in quoted'
        else field += character
      } else if (character === '"' && (state === 'quote in quoted' || field === '')) {
        if (state === 'quote in quoted') field += character
        state = 'quoted'
      } else if (character === ',') {
        fields.push(field)
        ;[field, state] = ['', 'plain']
      } else if (character === '\n') {
        if (fields.length > 0 || !/^\r?$/.test(field))
          yield { line: begun, fields: [...fields, field.replace(/\r$/, '')] }
        ;[fields, field, length, state, begun] = [[], '', 0, 'plain', line]
      } else {
        field += character
      }
    }
  }
  if (state === 'quoted') yield { line: begun, fields: null }
  else if (length > 0) yield { line: begun, fields: [...fields, field] }
}
