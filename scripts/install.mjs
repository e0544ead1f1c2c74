// `npm ci` for a machine that checks the repository: a warning is a failure, because a user who clones would read it
// too.
import { spawnSync } from 'node:child_process'

const { status, stdout, stderr } = spawnSync('npm', ['ci'], { encoding: 'utf8' })
process.stdout.write(stdout)
process.stderr.write(stderr)

// Warnings of npm about the machine's own settings, disk and network are not about this repository.
const warnings = stderr
  .split('\n')
  .filter(
    (line) =>
      line.startsWith('npm warn') && !/^npm warn (?:Unknown .*config|tarball|tar|cleanup|network|fetch)\b/.test(line)
  )
if (warnings.length > 0) console.error(`npm ci warned: ${warnings.length} lines`)
process.exitCode = status === 0 && warnings.length > 0 ? 1 : (status ?? 1)
