/** SECURITY.md names the test that holds each guarantee: the test exists, and has the ids of the row. */
import { existsSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const page = read('SECURITY.md')
const ID = /^(?:ASVS|R\d{4}|OIDC|RPI|BCL|FP|OIDF|RL|DOS|ENUM|POL|ADV)-[\w.-]+$/

/** The rows of all tables with the columns `what holds | ids | test`. */
const rows = [...page.matchAll(/^\| what holds \| ids \| test \|\n\|[ -|]+\n((?:\|.*\n)+)/gm)].flatMap(
  ([, table = '']) =>
    table
      .trim()
      .split('\n')
      .map((line) => {
        const [, what = '', ids = '', where = ''] = line.split('|').map((cell) => cell.trim())
        return {
          what,
          ids: ids === '' ? [] : ids.split(', '),
          where: [...where.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
        }
      })
)

/** True if a text has an id, and not only a longer one that begins with it. */
const bears = (text: string, id: string): boolean =>
  new RegExp(`(?<![\\w-])${id.replaceAll('.', String.raw`\.`)}(?![\\w-]|\\.\\d)`).test(text)

t.test('names an existing test for each guarantee', async (t) => {
  t.ok(rows.length > 50, `${rows.length} rows`)
  for (const [index, { what, where }] of rows.entries()) {
    t.ok(what !== '' || rows[index - 1] !== undefined, `row ${index} says what holds, or goes on with the one above`)
    t.ok(where.length > 0, `${what}: a test`)
    for (const path of where) t.ok(existsSync(new URL(path, root)), path)
  }
})

t.test('finds each id of a guarantee in its test and in docs/security-rows.md', async (t) => {
  const all = read('docs/security-rows.md')
  for (const { ids, where } of rows) {
    const text = where
      .filter((path) => existsSync(new URL(path, root)))
      .map(read)
      .join('\n')
    for (const id of ids) {
      t.match(id, ID)
      t.ok(bears(text, id), `${id} in ${where.join(', ')}`)
      t.ok(bears(all, id), `${id} in docs/security-rows.md`)
    }
  }
})

t.test('lists guarantees for every actor of the threat model', async (t) => {
  const actors = [
    ...(/^\| actor \|.*\n\|[ -|]+\n((?:\|.*\n)+)/m.exec(page)?.[1] ?? '').matchAll(/^\| ([^|]+) \|/gm)
  ].map(([, actor = '']) => actor)
  t.ok(actors.length >= 8)
  const headings = [...page.matchAll(/^\*\*(?:An? )?([^*]+)\*\*$/gim)].map(([, heading = '']) => heading.toLowerCase())
  for (const actor of actors) t.ok(headings.includes(actor.toLowerCase()), actor)
})

t.test('sends reports to GitHub, without an email address or a repository URL', async (t) => {
  t.notMatch(page, /[\w.+-]+@[\w-]+\.\w+/)
  t.notMatch(page, /github\.com\//)
  t.match(page, 'Report a vulnerability')
})
