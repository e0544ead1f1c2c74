/**
 * The files that the guides print. A block that opens with a name (```ts people-store.ts) is a file: it is written down
 * as it is printed, next to this package as it would be installed, compiled under the project's own options, and run.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { compilerMessages, javascriptOf } from '../../support/compile.ts'

export const root = fileURLToPath(new URL('../../../', import.meta.url))
const INDEX = join(root, 'lib/index.ts')
const TESTING = join(root, 'lib/testing/index.ts')
const CLIENT = join(root, 'lib/client')
const LANGUAGES = join(root, 'lib/texts')

export interface GuideFile {
  name: string
  text: string
}

/** The named blocks of a page, in their order. */
export function filesOf(page: string): GuideFile[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => ({
    name,
    text: code
  }))
}

/** A directory as a reader of the page has it. */
export interface Project {
  page: string
  directory: string
  files: GuideFile[]
  text(name: string): string
  /** Imports a module by its printed name. */
  module(name: string): string
}

/** The output of a generator, and its path on the page. */
export interface Generated {
  from: string
  to: string
}

export interface Workshop {
  /**
   * Writes the files of a page. `besides`: files of other pages that the page refers to. `change` edits the texts, to
   * plant a fault or to raise a time limit for a busy machine.
   */
  project(
    page: string,
    options?: { generated?: Generated; change?: (text: string) => string; besides?: GuideFile[] }
  ): Project
  remove(): void
}

export function openWorkshop(): Workshop {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'authority-guides-')))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  // Bundled, because every printed suite is a process that loads it.
  const bundled = join(directory, 'fastify-authority')
  buildSync({
    entryPoints: { index: INDEX, testing: TESTING },
    outdir: bundled,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error'
  })
  for (const file of readdirSync(LANGUAGES).filter((name) => name.endsWith('.json')))
    cpSync(join(LANGUAGES, file), join(bundled, file))
  // Unbundled, as it is published, because a page may load it so.
  mkdirSync(join(bundled, 'client'))
  for (const file of readdirSync(CLIENT).filter((name) => name.endsWith('.ts')))
    writeFileSync(
      join(bundled, 'client', file.replace(/ts$/, 'js')),
      javascriptOf(readFileSync(join(CLIENT, file), 'utf8'))
    )
  writeFileSync(
    join(bundled, 'package.json'),
    JSON.stringify({
      name: 'fastify-authority',
      type: 'module',
      exports: {
        '.': './index.js',
        './testing': './testing.js',
        './client': './client/index.js',
        './client/*': './client/*.js'
      }
    })
  )
  let projects = 0

  return {
    project(page, { generated, change = (text: string) => text, besides = [] } = {}) {
      const place = join(directory, `${basename(page, '.md')}-${++projects}`)
      const files = [...besides, ...filesOf(page)].map(({ name, text }) => ({ name, text: change(text) }))
      mkdirSync(join(place, 'node_modules'), { recursive: true })
      symlinkSync(bundled, join(place, 'node_modules/fastify-authority'))
      writeFileSync(join(place, 'package.json'), '{ "type": "module" }')
      for (const { name, text } of files) {
        mkdirSync(dirname(join(place, name)), { recursive: true })
        writeFileSync(join(place, name), text)
      }
      if (generated !== undefined) cpSync(generated.from, join(place, generated.to), { recursive: true })
      const written = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter(
        (file) => file.endsWith('.ts') && !file.startsWith('node_modules')
      )
      for (const file of written)
        writeFileSync(join(place, file.replace(/\.ts$/, '.js')), javascriptOf(readFileSync(join(place, file), 'utf8')))
      return {
        page,
        directory: place,
        files,
        text(name) {
          const file = files.find((candidate) => candidate.name === name)
          if (file === undefined) throw new Error(`${page} prints no ${name}.`)
          return file.text
        },
        module(name) {
          return pathToFileURL(join(place, name.replace(/\.ts$/, '.js'))).href
        }
      }
    },
    remove() {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

/**
 * The compiler's messages on the printed files of each project. It reads them all at once, because most of its time
 * goes into the types of the packages.
 */
export function messagesOf(projects: readonly Project[]): string[] {
  const sources = projects.flatMap(({ directory, files }) =>
    files.filter(({ name }) => name.endsWith('.ts')).map(({ name }) => join(directory, name))
  )
  const messages = compilerMessages(dirname(projects[0]?.directory ?? ''), sources)
  return [...messages].flatMap(([file, texts]) =>
    texts.map((text) => `${basename(dirname(file))}/${basename(file)}: ${text}`)
  )
}
