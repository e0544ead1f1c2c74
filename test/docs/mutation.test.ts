import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'

const ROOT = new URL('../../', import.meta.url)
const { default: config } = (await import(new URL('stryker.config.mjs', ROOT).href)) as {
  default: { mutate: string[] }
}

/** The files of a pattern: a folder with `*`, `{a,b}` or one name. */
function filesOf(pattern: string): string[] {
  const [, folder = '', names = ''] = /^(.+)\/([^/]+)\.ts$/.exec(pattern) ?? []
  const files =
    names === '*'
      ? readdirSync(new URL(folder, ROOT)).filter((name) => name.endsWith('.ts'))
      : names
          .replace(/^\{(.*)\}$/, '$1')
          .split(',')
          .map((name) => `${name}.ts`)
  return files.map((file) => `${folder}/${file}`)
}

t.test('names existing files for mutation tests', async (t) => {
  t.ok(config.mutate.length > 0)
  for (const pattern of config.mutate) {
    t.ok(filesOf(pattern).length > 0, pattern)
    for (const file of filesOf(pattern)) t.ok(existsSync(new URL(file, ROOT)), file)
  }
})

t.test('lists results only for mutated files, with a total score of at least 95 %', async (t) => {
  const rows = [
    ...readFileSync(new URL('mutation/results.md', ROOT), 'utf8').matchAll(
      /^\| (?:`(\S+)`|\*\*together\*\*) \| \d+ \| \d+ \| ([\d.]+) % \|(?: \S+ \|)?$/gm
    )
  ]
  t.ok(rows.length > 20)
  for (const [, file] of rows.slice(0, -1)) t.ok(config.mutate.flatMap(filesOf).includes(file ?? ''), String(file))
  t.ok(Number(rows.at(-1)?.[2]) >= 95)
})
