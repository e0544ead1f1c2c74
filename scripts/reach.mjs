// Which tests notice a change of a file of the library: test/reach.json, which `npm run coverage` writes from what each
// test file executes. Of each file of the library it has a few test files, the best first: together they execute each
// line several times, and most of what they execute is this file.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const MAP = join(root, 'test/reach.json')
/** So many tests of each line, where there are as many. */
const TESTS_OF_A_LINE = 5

/** Test files for changed files, the best first, within so many seconds of a processor. Changed tests cost nothing. */
export function testsOf(changed, seconds) {
  const { tests, lib } = JSON.parse(readFileSync(MAP, 'utf8'))
  const names = Object.keys(tests)
  const inLib = changed.filter((file) => file.startsWith('lib/') && file.endsWith('.ts'))
  const mapped = (file) => (lib[file] ?? []).map((index) => names[index]).filter((name) => existsSync(join(root, name)))
  // The map does not know files of today. Their tests are those that import them, or that reach what imports them.
  const listFor = (file, depth = 4) => {
    const own = testsImporting(file).filter((name) => !(name in tests))
    // Helpers that everything imports say nothing.
    const list = [...(own.length > 10 ? [] : own), ...mapped(file)]
    if (list.length >= 3 || depth === 0) return list
    return [...list, ...importersOf(file, 'lib').flatMap((importer) => listFor(importer, depth - 1))]
  }
  const lists = inLib.map((file) => listFor(file))
  // The schemas of endpoints and options are in pages that are made of them.
  if (inLib.some((file) => /^lib\/(?:http|settings|errors|events)\b/.test(file)))
    lists.push(['test/docs/reference.test.ts'])
  // Any file has comments or prose.
  if (changed.some((file) => /\.(?:m?[jt]s|tsx|md)$/.test(file))) lists.push(['test/english.test.ts'])
  // The map lacks code that runs in browsers.
  if (inLib.some((file) => file.startsWith('lib/client/')))
    lists.push(
      listOf('test').filter(
        (file) => file.endsWith('.test.ts') && /^test\/(?:unit\/client\/|browser\/client-)/.test(file)
      )
    )
  const helpers = changed.filter((file) => file.startsWith('test/') && !file.endsWith('.test.ts'))
  lists.push(...helpers.map((file) => testsImporting(file)))

  const chosen = new Set(changed.filter((file) => file.endsWith('.test.ts')))
  let left = seconds
  for (let place = 0; lists.some((list) => place < list.length); place++)
    for (const list of lists) {
      const name = list[place]
      if (name === undefined || chosen.has(name) || left < (tests[name] ?? 1)) continue
      chosen.add(name)
      left -= tests[name] ?? 1
    }
  return [...chosen]
}

const texts = new Map()
/** The TypeScript below a directory. */
function listOf(below) {
  if (!texts.has(below)) {
    const paths = readdirSync(join(root, below), { recursive: true, encoding: 'utf8' }).map(
      (path) => `${below}/${path}`
    )
    const files = paths.filter((path) => path.endsWith('.ts'))
    texts.set(below, new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8')])))
  }
  return [...texts.get(below).keys()]
}

/** Files below a directory that import this one. */
function importersOf(file, below) {
  return listOf(below).filter((path) => {
    const text = texts.get(below).get(path)
    return (
      text.includes(`/${basename(file)}'`) &&
      [...text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)].some(
        ([, target]) => resolve(root, dirname(path), target) === resolve(root, file)
      )
    )
  })
}

/** Test files that import this one, also by way of helpers. */
function testsImporting(file, seen = new Set()) {
  if (seen.has(file)) return []
  seen.add(file)
  return importersOf(file, 'test').flatMap((path) => (path.endsWith('.test.ts') ? [path] : testsImporting(path, seen)))
}

/** From the answers of scripts/take-coverage.mjs. `translated`: a file as it was executed. */
export function writeMap(directory, translated) {
  const answers = readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => [
      name.replaceAll('+', '/').replace(/\.json$/, ''),
      JSON.parse(readFileSync(join(directory, name), 'utf8'))
    ])
  const seconds = Object.fromEntries(answers.map(([test, answer]) => [test, answer.seconds]))
  const known = new Map()
  const startsOf = (file) => {
    if (!known.has(file))
      known.set(file, startsIn(translated(join(root, file)).replace(/\n\/\/# sourceMappingURL.*\n?$/, '')))
    return known.get(file)
  }
  // The lines of each file of the library that each test executes.
  const executed = new Map()
  for (const [test, { result }] of answers)
    for (const { url, functions } of result) {
      const file = `lib/${url.split('/lib/').slice(1).join('/lib/')}`
      const lines = existsSync(join(root, file)) ? linesOf(startsOf(file), functions) : []
      if (lines.length > 0) executed.set(file, (executed.get(file) ?? new Map()).set(test, lines))
    }
  const sums = new Map()
  for (const ofTests of executed.values())
    for (const [test, lines] of ofTests) sums.set(test, (sums.get(test) ?? 0) + lines.length)

  const tests = [...sums.keys()].toSorted((a, b) => (a < b ? -1 : 1))
  const lib = Object.fromEntries(
    [...executed.keys()]
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((file) => [
        file,
        chosenFor(
          executed.get(file),
          (test) => ((sums.get(test) + 300) * (0.3 + seconds[test])) / (1 + common(file, test)) ** 2
        ).map((test) => tests.indexOf(test))
      ])
  )
  const text = [
    '{"tests":{',
    tests.map((test) => `${JSON.stringify(test)}:${Math.ceil(seconds[test] * 10) / 10}`).join(',\n'),
    '},"lib":{',
    Object.entries(lib)
      .map(([file, list]) => `${JSON.stringify(file)}:${JSON.stringify(list)}`)
      .join(',\n'),
    '}}\n'
  ]
  writeFileSync(MAP, text.join('\n'))
}

/** How many words of their paths two files share: a test of a room tells more of it than others that pass through. */
function common(file, test) {
  const words = (path) =>
    path
      .replace(/\.(?:test\.)?ts$/, '')
      .split(/\W+/)
      .slice(1)
  return words(file).filter((word) => words(test).includes(word)).length
}

/** Tests until each line has enough of them; the next is the one that gives most for its cost. */
function chosenFor(ofTests, costOf) {
  const missing = new Map()
  for (const lines of ofTests.values())
    for (const line of lines) missing.set(line, Math.min(TESTS_OF_A_LINE, (missing.get(line) ?? 0) + 1))
  const left = new Map(ofTests)
  const chosen = []
  for (;;) {
    let [best, most] = [undefined, 0]
    for (const [test, lines] of left) {
      const gives = lines.reduce((sum, line) => sum + missing.get(line), 0) / costOf(test)
      if (gives > most) [best, most] = [test, gives]
    }
    if (best === undefined) return chosen
    chosen.push(best)
    for (const line of left.get(best)) missing.set(line, Math.max(0, missing.get(line) - 1))
    left.delete(best)
  }
}

/**
 * The functions that were executed, and the lines inside of functions. The code of a module's own level tells nothing,
 * because it runs once in a process.
 */
function linesOf(starts, functions) {
  const ranges = functions
    .flatMap(({ ranges, functionName }) =>
      ranges.map((range, index) => ({
        ...range,
        isModule: functionName === '' && range.startOffset === 0 && index === 0
      }))
    )
    .filter(({ isModule }) => !isModule)
    .sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  const counts = new Array(starts.length).fill(0)
  // Inner ranges come after those around them.
  for (const { startOffset, endOffset, count } of ranges)
    for (
      let index = starts.findIndex((start) => start >= startOffset);
      index >= 0 && index < starts.length && starts[index] < endOffset;
      index++
    )
      counts[index] = count
  const called = functions.filter(({ ranges: [{ startOffset, count }] }) => count > 0 && startOffset > 0)
  return [
    ...called.map(({ ranges }) => `f${ranges[0].startOffset}`),
    ...counts.flatMap((count, index) => (count > 0 ? [index] : []))
  ]
}

/** The start of each line of a text. */
function startsIn(text) {
  let offset = 0
  return text.split('\n').map((line) => {
    offset += line.length + 1
    return offset - line.length - 1 + line.search(/\S|$/)
  })
}
