// What of the library the processes of a test run have executed: V8 counts it in each, children too. Its report and
// limits are tap's (.taprc), which would count it in other ways that take twice the time.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** `env` is for the processes that count; `report` prints, and is false where less is covered than .taprc asks for. */
export function countCoverage(root) {
  const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-coverage-'))
  return {
    env: { NODE_V8_COVERAGE: directory },
    report: () => report(root, directory),
    remove: () => {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

function report(root, directory) {
  const counted = join(root, '.tap/coverage')
  rmSync(counted, { recursive: true, force: true })
  mkdirSync(counted, { recursive: true })
  const lib = pathToFileURL(join(root, 'lib/')).href
  for (const name of readdirSync(directory)) {
    // A process that was killed while it wrote has written half.
    const { result, 'source-map-cache': maps = {} } = parsed(readFileSync(join(directory, name), 'utf8'))
    const ours = result
      .filter(({ url }) => url.startsWith(lib) && !url.startsWith(`${lib}client/`))
      .map((script) => ({ ...script, url: script.url.replace(/[?#].*$/, '') }))
    if (ours.length === 0) continue
    const text = JSON.stringify({
      result: ours,
      'source-map-cache': Object.fromEntries(
        Object.entries(maps)
          .filter(([url]) => url.startsWith(lib))
          .map(([url, map]) => [url.replace(/[?#].*$/, ''), map])
      )
    })
    writeFileSync(join(counted, `${createHash('sha256').update(text).digest('hex')}.json`), text)
  }
  return (
    spawnSync(
      process.execPath,
      [join(root, 'node_modules/tap/dist/esm/run.mjs'), 'report', 'text', '--no-allow-incomplete-coverage'],
      { cwd: root, stdio: 'inherit' }
    ).status === 0
  )
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return { result: [] }
  }
}
