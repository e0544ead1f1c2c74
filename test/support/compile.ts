import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The messages of the project's own compiler on each of these files, under the project's own options and `options`.
 * They are in `directory`, which has a `node_modules`.
 */
export function compilerMessages(
  directory: string,
  files: readonly string[],
  options: object = {}
): Map<string, string[]> {
  const config = join(directory, 'tsconfig.json')
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { rootDir: '/', typeRoots: [join(root, 'node_modules/@types')], noEmit: true, ...options },
      files,
      include: []
    })
  )
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', config, '--pretty', 'false'],
    { cwd: directory, encoding: 'utf8' }
  )
  const messages = new Map(files.map((file): [string, string[]] => [file, []]))
  // Indented lines continue a message.
  const said = stdout
    .replaceAll(/\n +/g, ' ')
    .split('\n')
    .filter((line) => line !== '')
  for (const line of said) {
    const [, file = '', text = line] = /^(.+?)\(\d+,\d+\): error TS\d+: (.*)$/.exec(line) ?? []
    const own = messages.get(resolve(directory, file))
    if (own !== undefined) own.push(text)
    else if (file === '') throw new Error(line)
  }
  if (status === null || stderr !== '' || (status !== 0 && said.length === 0))
    throw new Error(`tsc ended with ${status}: ${stderr}`)
  return messages
}

/** A module as JavaScript, without types. Its relative imports get the ending `.js` too. */
export function javascriptOf(source: string): string {
  const { code } = transformSync(source, {
    loader: 'ts',
    format: 'esm',
    target: 'es2022',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, experimentalDecorators: true } }
  })
  return code.replaceAll(/(\b(?:from|import) ?\(?"\.[^"\n]*)\.ts"/g, '$1.js"')
}
