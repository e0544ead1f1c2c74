/** The example server as a user runs it: compiled, in its own process, over real sockets. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import type { Test } from 'tap'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** The time limit on a busy machine. */
const START_WITHIN_MS = 120_000

export interface Server {
  child: ChildProcess
  origin: string
  output(): string
  /**
   * Resolves with the first match in what the server printed, or in what it printed after the first `from` characters.
   */
  printed(pattern: RegExp, from?: number): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): Promise<number | null>
}

export interface Example {
  /** The folder of the processes: their `data` is below. */
  cwd: string
  /** Resolves when it listens. */
  start(port: number, env?: Record<string, string>): Promise<Server>
  launch(env: Record<string, string>): Omit<Server, 'origin'>
}

/** Compiles the example, and ends all remaining processes at the test's end. */
export function example(t: Test): Example {
  const directory = t.testdir({ build: {}, data: {} })
  const main = build(join(directory, 'build'))
  const cwd = join(directory, 'data')
  const running = new Set<ChildProcess>()
  t.teardown(() => {
    for (const child of running) child.kill('SIGKILL')
  })

  function launch(env: Record<string, string>): Omit<Server, 'origin'> {
    const child = spawn(process.execPath, [main], { cwd, env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    let text = ''
    const exited = new Promise<number | null>((resolve) =>
      child.once('exit', (code) => {
        running.delete(child)
        resolve(code)
        child.emit('printed')
      })
    )
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        child.emit('printed')
      })
    return {
      child,
      output: () => text,
      async printed(pattern, from = 0) {
        const signal = AbortSignal.timeout(START_WITHIN_MS)
        for (;;) {
          const match = pattern.exec(text.slice(from))
          if (match !== null) return match
          if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${text}`)
          await once(child, 'printed', { signal })
        }
      },
      async kill(signal) {
        child.kill(signal)
        return await exited
      }
    }
  }

  async function start(port: number, env: Record<string, string> = {}): Promise<Server> {
    const server = launch({ PORT: String(port), HOST: '127.0.0.1', ...env })
    await server.printed(/Open http/)
    return { ...server, origin: `http://127.0.0.1:${port}` }
  }
  return { cwd, start, launch }
}

/**
 * Compiles the example into a directory of the test's own as `npm start` does into dist, with the library as it is
 * published. Another gate checks the types.
 */
function build(directory: string): string {
  execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs'), join(directory, 'lib')], {
    stdio: ['ignore', 'ignore', 'inherit']
  })
  for (const tree of ['lib/client', 'examples/server']) {
    for (const file of readdirSync(join(root, tree), { recursive: true, encoding: 'utf8' })) {
      const [from, to] = [join(root, tree, file), join(directory, tree, file)]
      mkdirSync(dirname(to), { recursive: true })
      if (file.endsWith('.ts')) writeFileSync(to.replace(/\.ts$/, '.js'), compiled(from))
      else if (statSync(from).isFile()) copyFileSync(from, to)
    }
  }
  writeFileSync(
    join(directory, 'package.json'),
    JSON.stringify({
      name: 'fastify-authority',
      type: 'module',
      exports: {
        '.': './lib/index.js',
        './client': './lib/client/index.js',
        './connections': './lib/connections/index.js'
      }
    })
  )
  symlinkSync(join(root, 'docs'), join(directory, 'docs'), 'junction')
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction')
  return join(directory, 'examples/server/main.js')
}

function compiled(file: string): string {
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    loader: file.endsWith('x') ? 'tsx' : 'ts',
    format: 'esm',
    target: 'node20',
    sourcefile: file
  })
  return code.replace(/(\b(?:from|import)[\s(]*"\.{1,2}\/[^"]*)\.ts"/g, '$1.js"')
}

/** Without environment variables that a developer may have set for the example. */
function cleanEnv(extra: Record<string, string>): Record<string, string> {
  const { PATH = '', SystemRoot = '' } = process.env
  return { PATH, ...(SystemRoot === '' ? {} : { SystemRoot }), ...extra }
}
