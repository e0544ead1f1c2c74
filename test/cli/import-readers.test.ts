/** The readers of JSON and CSV: every split of a file into chunks gives the same rows. */
import { join } from 'node:path'
import t from '../support/tap.ts'
import { FORMATS } from '../../lib/cli/import/formats.ts'
import { rowsOf, csvRecords, jsonElements } from '../../lib/cli/import/rows.ts'

async function* chunksOf(text: string, size: number): AsyncGenerator<string> {
  const characters = [...text]
  for (let at = 0; at < characters.length; at += size) yield characters.slice(at, at + size).join('')
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

const SIZES = [1, 2, 3, 5, 7, 64, 100_000]
/** Texts with the signs of JSON in strings, in keys and at the ends of them. */
const USERS = [
  { id: 1, name: '[{"users":[' },
  { users: [{ id: 'inner' }], id: 2 },
  { id: 3, name: '\\', end: '"' },
  { id: 4, name: '\\"]}' },
  { id: 5, name: ',\n\u2028\u{1f600}', nested: [[], {}, [1, ['users']]] },
  null,
  'text, with ] and "',
  -1.5e3,
  []
]

for (const [title, document, member] of [
  ['a document that is an array', USERS, undefined],
  [
    'a member after others',
    { before: 'users', 'a"b': { users: [0] }, list: [['users']], users: USERS, after: [1] },
    'users'
  ],
  ['an empty array', [], undefined],
  ['an empty member', { users: [], more: [1] }, 'users']
] as const)
  for (const space of [0, 2])
    t.test(`reads ${title} with an indent of ${space}, in chunks of different sizes`, async (t) => {
      const text = JSON.stringify(document, null, space)
      const expected = Array.isArray(document) ? document : (document as unknown as { users: unknown[] }).users
      for (const size of SIZES) {
        const found = await all(jsonElements(chunksOf(text, size), member))
        t.strictSame(
          found.map((one) => (typeof one === 'string' ? (JSON.parse(one) as unknown) : one)),
          expected,
          `${size}`
        )
      }
    })

t.test('reports a JSON document that is cut off before the end of its list', async (t) => {
  const text = JSON.stringify({ users: [{ id: '1' }, { id: '2' }] })
  for (let end = text.indexOf('[') + 1; end <= text.lastIndexOf(']'); end++)
    t.match(
      (await all(jsonElements(chunksOf(text.slice(0, end), 3), 'users'))).at(-1),
      { problem: /cut off/ },
      `${end}`
    )
  for (let end = 0; end < text.indexOf('['); end++)
    t.match(await all(jsonElements(chunksOf(text.slice(0, end), 3), 'users')), [{ problem: /no list users/ }], `${end}`)
})

t.test('stops reading an endless JSON element after a million characters', async (t) => {
  let chunks = 0
  async function* endless(): AsyncGenerator<string> {
    yield '[{"name":"'
    for (;;) {
      chunks++
      yield 'x'.repeat(10_000)
    }
  }
  t.match(await all(jsonElements(endless(), undefined)), [{ problem: /a million characters/ }])
  t.ok(chunks <= 101, `${chunks} chunks`)
})

const MANY = 40_000
const ROWS = Array.from({ length: MANY }, () => JSON.stringify({ id: '1', username: 'ann' })).join(',')
for (const [title, text, member] of [
  ['an array on one line', `[${ROWS}]`, undefined],
  ['an array on one line after an empty one', `\ufeff\n [${ROWS}]\n`, 'users'],
  ['a document on one line', `{"realm":"shop","users":[${ROWS}]}`, 'users']
] as const)
  t.test(`reads ${title} of more than a million characters`, async (t) => {
    const directory = t.testdir({ 'file.json': text })
    const found = await all(rowsOf(join(directory, 'file.json'), member))
    t.equal(found.filter((row) => 'columns' in row).length, MANY)
  })

const line = (user: object): string => JSON.stringify(user)
const pretty = (value: unknown): string => JSON.stringify(value, null, 2)
/** Python writes a space after each comma and colon, and Jackson another one before the colon. */
const python = (value: unknown): string => JSON.stringify(value, null, 1).replace(/,\n */g, ', ').replace(/\n */g, '')
const jackson = (value: unknown): string =>
  pretty(value)
    .replaceAll('": ', '" : ')
    .replace(/([[,])\n +\{/g, '$1 {')
const table = (users: object[]): string =>
  users.map((user) => Object.values(user).join(',')).reduce((text, row) => `${text}\n${row}`, 'id,name')

// The text of each tool, except for the values of the users.
for (const [format, title, written] of [
  ['auth0', 'JSON lines', (users) => users.map(line).join('\n')],
  ['supabase', 'the JSON lines of psql', (users) => users.map((user) => python(user)).join('\n')],
  ['firebase', 'auth:export', (users) => `{"users": [\n${users.map(pretty).join(',\n')}]}`],
  ['firebase', 'auth:export with a user per line', (users) => `{"users": [\n${users.map(line).join(',\n')}]}`],
  ['firebase', 'a compact document', (users) => line({ users })],
  ['keycloak', 'a realm', (users) => jackson({ id: 'a', realm: 'shop', users, clients: [{ id: 'b' }] })],
  ['keycloak', 'a file of users', (users) => jackson({ realm: 'shop', users })],
  ['keycloak', 'a realm that begins on the first line', (users) => `{ "realm": "shop",\n"users": ${pretty(users)}}`],
  ['keycloak', 'a compact document', (users) => line({ realm: 'shop', users })],
  ['django', 'dumpdata', (users) => python(users)],
  ['django', 'dumpdata --indent 2', (users) => pretty(users).replace(/^ {2}/gm, '')],
  ['django', 'dumpdata --format jsonl', (users) => users.map(python).join('\n')],
  ['wordpress', 'CSV', table],
  ['wordpress', 'wp user list --format=json', (users) => line(users)],
  ['werkzeug', 'CSV', table],
  ['aspnet', 'CSV', table],
  ['aspnet', 'the array of FOR JSON', (users) => line(users)]
] as Array<[string, string, (users: object[]) => string]>)
  t.test(`reads the export of ${format}: ${title}`, async (t) => {
    for (const count of [1, 2, 3000])
      for (const [end, mark] of [
        ['\n', ''],
        ['\r\n', '\ufeff']
      ] as const) {
        const users = Array.from({ length: count }, (_, at) => ({ id: `${at}`, name: `ann [{ ${at}` }))
        const text = `${mark}${written(users)}\n`.replaceAll('\n', end)
        const path = join(t.testdir({ users: text }), 'users')
        const found = await all(rowsOf(path, FORMATS[format]?.member))
        t.equal(found.length, count)
        t.strictSame(
          found.map((row) => ('columns' in row ? row.columns : row)).slice(-2),
          users.slice(-2),
          `${count} users, ${mark === '' ? 'LF' : 'CRLF and a byte order mark'}`
        )
      }
  })

t.test('reads fields of CSV in chunks of different sizes', async (t) => {
  const text = [
    'ID,user_login,user_pass\r',
    '1,"ann, ""the first""",$P$B12345678\r',
    '2,"two',
    'lines",',
    '',
    '3,ben "b" c,$wp$2y$10$x',
    ',,',
    '4,"",\u{1f600}'
  ].join('\n')
  for (const size of SIZES)
    t.strictSame(
      await all(csvRecords(chunksOf(text, size))),
      [
        { line: 1, fields: ['ID', 'user_login', 'user_pass'] },
        { line: 2, fields: ['1', 'ann, "the first"', '$P$B12345678'] },
        { line: 3, fields: ['2', 'two\nlines', ''] },
        { line: 6, fields: ['3', 'ben "b" c', '$wp$2y$10$x'] },
        { line: 7, fields: ['', '', ''] },
        { line: 8, fields: ['4', '', '\u{1f600}'] }
      ],
      `${size}`
    )
})
