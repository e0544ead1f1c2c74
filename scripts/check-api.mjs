// Compares the public declarations of each door of the package, as API Extractor reports them, with those in etc/: the
// diff shows users each change of the types. `npm run check:api -- --update` writes the reports.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor'

const root = fileURLToPath(new URL('..', import.meta.url))
const reports = join(root, 'etc')
const update = process.argv.includes('--update')
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const doors = Object.entries(exports).flatMap(([door, { types }]) =>
  types === undefined ? [] : [{ name: door.slice(2).replaceAll('/', '-') || 'index', types: join(root, types) }]
)

const temporary = mkdtempSync(join(tmpdir(), 'fastify-authority-api-'))
try {
  mkdirSync(reports, { recursive: true })
  const configs = doors.map(({ name, types }) => configOf(name, types))
  const compilerState = CompilerState.create(configs[0], { additionalEntryPoints: doors.map(({ types }) => types) })
  const results = configs.map((config) =>
    Extractor.invoke(config, { compilerState, localBuild: update, messageCallback: quiet })
  )
  const changed = configs.filter((_, index) => results[index].apiReportChanged)
  const expected = doors.map(({ name }) => `${name}.api.md`)
  const stray = readdirSync(reports).filter((file) => !expected.includes(file))
  for (const { reportFilePath, reportTempFilePath } of changed) {
    console.log(`${update ? 'written' : 'changed'}: ${reportFilePath.slice(root.length)}`)
    if (!update)
      spawnSync('git', ['--no-pager', 'diff', '--no-index', reportFilePath, reportTempFilePath], { stdio: 'inherit' })
  }
  for (const file of stray) console.log(`of no door: etc/${file}`)
  if (stray.length > 0 || results.some(({ errorCount }) => errorCount > 0) || (changed.length > 0 && !update)) {
    console.error(
      'The public declarations are not those of etc/. Is the change meant? Run `npm run ' +
        'check:api -- --update`, read the diff, and say it in CHANGELOG.md.'
    )
    process.exitCode = 1
  }
} finally {
  rmSync(temporary, { recursive: true })
}

function configOf(name, types) {
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2023',
            module: 'nodenext',
            lib: ['es2023', 'dom'],
            types: ['node'],
            strict: true,
            skipLibCheck: true
          },
          files: doors.map((door) => door.types)
        }
      },
      apiReport: { enabled: true, reportFileName: name, reportFolder: reports, reportTempFolder: temporary },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        // That every type can be imported is what test/docs/public-types.test.ts says: from this door, or from the main
        // one.
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } }
      }
    },
    configObjectFullPath: join(root, 'api-extractor.json'),
    packageJsonFullPath: join(root, 'package.json')
  })
}

/** Which compiler it brought, and in other words what is said above. */
function quiet(message) {
  if (message.messageId.startsWith('console-')) message.handled = true
}
