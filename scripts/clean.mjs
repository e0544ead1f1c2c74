// Removes the directories named on the command line: what was deleted in the source must not live on in the package.
import { rmSync } from 'node:fs'

for (const directory of process.argv.slice(2)) rmSync(directory, { recursive: true, force: true })
