import { readdirSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'

const TESTS = new URL('../', import.meta.url)
const ID =
  /(?<![A-Za-z0-9-])(?:ASVS|R\d{4}|OIDC|RPI|BCL|FP|OIDF|RL|DOS|ENUM|POL|ADV)-[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?/g

/** Every id in a test file, with the files it is in. */
const tested = new Map<string, Set<string>>()
for (const name of readdirSync(TESTS, { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.test.ts') || /^security[\\/]rows\.test\.ts$/.test(name)) continue
  for (const [id] of readFileSync(new URL(name, TESTS), 'utf8').matchAll(ID))
    tested.set(id, (tested.get(id) ?? new Set()).add(`test/${name.replaceAll('\\', '/')}`))
}

const page = readFileSync(new URL('../../docs/security-rows.md', import.meta.url), 'utf8')
const sections = Object.fromEntries(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [
      section.split('\n')[0],
      section
        .split('\n')
        .filter((line) => line.startsWith('|'))
        .slice(2)
        .map((line) => line.split('|').map((cell) => cell.trim()))
    ])
)
const idsOf = (section: string): string[] => (sections[section] ?? []).flatMap(([, ids = '']) => ids.split(', '))

t.test('finds each id that docs/security-rows.md lists as tested in the named test file', async (t) => {
  t.ok(idsOf('Tested').length > 450)
  for (const [, id = '', what = '', where = ''] of sections['Tested'] ?? []) {
    t.not(what, '', id)
    t.ok(tested.get(id)?.has(where.replaceAll('`', '')), `${id} in ${where}`)
  }
})

t.test('lists every id of a test file in docs/security-rows.md', async (t) => {
  const listed = new Set(idsOf('Tested'))
  t.same(
    [...tested.keys()].filter((id) => !listed.has(id)),
    []
  )
})

t.test('lists each id once in docs/security-rows.md, either as tested or as untested', async (t) => {
  t.equal(new Set(idsOf('Tested')).size, idsOf('Tested').length)
  const untested = [...idsOf('With a later part'), ...idsOf("The host's, or not ours")]
  t.equal(new Set(untested).size, untested.length)
  const listed = new Set(idsOf('Tested'))
  t.same(
    untested.filter((id) => listed.has(id)),
    []
  )
})
