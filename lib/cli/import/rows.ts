import { createReadStream } from 'node:fs'
import { type Columns, isObject, LONGEST_ROW, TOO_LONG } from './columns.ts'

/** Maximum number of collected characters of a member's name. Longer than every name that a format looks for. */
const LONGEST_NAME = 64

/**
 * Yields the JSON texts of the elements of an array, one by one. The array is the document itself, or its member
 * `member`. Holds only one element in memory and does not validate the texts. Yields `{ problem }` for an array that is
 * missing, cut off or has too long an element.
 */
export async function* jsonElements(
  chunks: AsyncIterable<string>,
  member: string | undefined
): AsyncGenerator<string | { problem: string }> {
  const base = member === undefined ? 1 : 2
  let [depth, isInString, isEscaped, isInList] = [0, false, false, false]
  let [element, name] = ['', '']
  for await (const chunk of chunks) {
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const character = chunk.charAt(at)
      if (isInString) {
        if (isEscaped) isEscaped = false
        else if (character === '\\') isEscaped = true
        else if (character === '"') isInString = false
        if (isInString && depth === 1 && name.length < LONGEST_NAME) name += character
      } else if (character === '"') {
        isInString = true
        if (depth === 1) name = ''
      } else if (character === '[' || character === '{') {
        depth++
        if (!isInList && depth === base && character === '[' && (member === undefined || name === member)) {
          isInList = true
          start = at + 1
        }
      } else if (character === ',' || character === ']' || character === '}') {
        const isEnd = character !== ','
        if (isInList && depth === base) {
          element += chunk.slice(start, at)
          if (element.trim() !== '' || !isEnd) yield element
          ;[element, start] = ['', at + 1]
          if (isEnd) return
        }
        if (isEnd) depth--
      }
    }
    if (isInList) element += chunk.slice(start)
    if (element.length > LONGEST_ROW) {
      yield { problem: `${TOO_LONG}, and the rest was not read` }
      return
    }
  }
  yield { problem: isInList ? 'is cut off at the end of the file' : `is missing: the file has no list ${member ?? ''}` }
}

/** A row, or the reason why the row can't be read. `row`: its line number, or its position in the list, from 1. */
export type FileRow = { row: number; columns: Columns } | { row: number; problem: string }

/** The character that the decoder writes for bytes that are no UTF-8. */
const NO_UTF8 = '\ufffd'

function parsed(row: number, source: string): FileRow {
  if (source.includes(NO_UTF8)) return { row, problem: 'is not in UTF-8' }
  let columns: unknown
  try {
    columns = JSON.parse(source)
  } catch {
    // Does not pass on the parser's message, because it quotes the row and could contain a hash.
    return { row, problem: 'is no JSON' }
  }
  return isObject(columns) ? { row, columns } : { row, problem: 'is no JSON object' }
}

/** The lines of a file, without their ends. `null`: the line is too long. */
async function* lines(chunks: AsyncIterable<string>): AsyncGenerator<string | null> {
  let line = ''
  let isTooLong = false
  for await (const chunk of chunks) {
    const parts = chunk.split('\n')
    for (const [index, part] of parts.entries()) {
      isTooLong ||= line.length + part.length > LONGEST_ROW
      line = isTooLong ? '' : line + part
      if (index === parts.length - 1) continue
      yield isTooLong ? null : line
      ;[line, isTooLong] = ['', false]
    }
  }
  if (isTooLong || line !== '') yield isTooLong ? null : line
}

async function* jsonLines(chunks: AsyncIterable<string>): AsyncGenerator<FileRow> {
  let row = 0
  for await (const line of lines(chunks)) {
    row++
    if (line === null) yield { row, problem: TOO_LONG }
    else if (line.trim() !== '') yield parsed(row, line)
  }
}

async function* jsonList(chunks: AsyncIterable<string>, member: string | undefined): AsyncGenerator<FileRow> {
  let row = 0
  for await (const element of jsonElements(chunks, member)) {
    row++
    if (typeof element === 'string') yield parsed(row, element)
    else yield { row, problem: element.problem }
  }
}

/** Returns `null` for the words that MySQL and PostgreSQL write for `NULL`, because CSV has no such value. */
const valueOf = (field: string): string | null => (field === 'NULL' || field === '\\N' ? null : field)

async function* csvRows(chunks: AsyncIterable<string>): AsyncGenerator<FileRow> {
  let names: string[] | null = null
  for await (const { line: row, fields } of csvRecords(chunks)) {
    if (fields === null) yield { row, problem: `${TOO_LONG}: a quote is not closed, and the rest was not read` }
    else if (names === null) names = fields
    else if (fields.some((field) => field.includes(NO_UTF8))) yield { row, problem: 'is not in UTF-8' }
    else if (fields.length !== names.length)
      yield { row, problem: `has ${fields.length} columns, and the first row has ${names.length}` }
    else yield { row, columns: Object.fromEntries(names.map((name, index) => [name, valueOf(fields[index] ?? '')])) }
  }
}

/** The text of a file without its byte order mark. */
async function* textOf(path: string): AsyncGenerator<string> {
  let isFirst = true
  for await (const chunk of createReadStream(path, 'utf8') as AsyncIterable<string>) {
    yield isFirst ? chunk.replace(/^\ufeff/, '') : chunk
    isFirst = false
  }
}

/** Returns the first line that has text, or only the beginning of a line that is too long. */
async function beginningOf(path: string): Promise<string> {
  let first = ''
  for await (const chunk of textOf(path)) {
    first = (first + chunk).trimStart()
    const end = first.indexOf('\n')
    if (end !== -1) return first.slice(0, end)
    if (first.length > LONGEST_ROW) return first
  }
  return first
}

/**
 * True if the file is one JSON object with a list of all users. False if its first line is an object of one user, also
 * a malformed one. A document can go on after its first line: Firebase ends that line after the `[` of the list.
 */
function isDocument(first: string, member: string): boolean {
  try {
    const value: unknown = JSON.parse(first)
    return isObject(value) && Array.isArray(value[member])
  } catch {
    return !first.trimEnd().endsWith('}')
  }
}

/**
 * Yields the rows of a file, one by one. The file is a JSON array, JSON lines, CSV with column names in the first row,
 * or one JSON object with the array `member`.
 */
export async function* rowsOf(path: string, member?: string): AsyncGenerator<FileRow> {
  const first = await beginningOf(path)
  const kind = /\.(csv|ndjson|jsonl)$/i.exec(path)?.[1]?.toLowerCase()
  const isJson = kind === undefined ? first === '' || /^[[{]/.test(first) : kind !== 'csv'
  if (!isJson) yield* csvRows(textOf(path))
  else if (kind !== undefined) yield* jsonLines(textOf(path))
  else if (first.startsWith('[')) yield* jsonList(textOf(path), undefined)
  else if (member !== undefined && isDocument(first, member)) yield* jsonList(textOf(path), member)
  else yield* jsonLines(textOf(path))
}

/**
 * A record with the number of the line where it begins. `fields` is `null` if the record is too long or has an unclosed
 * quote.
 */
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
