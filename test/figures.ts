/** The figures of `npm run measure`, as functions over maps of files. */
import { posix } from 'node:path'
import ts from 'typescript-tap'
import type { FileMap } from './english.ts'
import { MAX_BYTES } from './architecture-rules.ts'

const { SyntaxKind } = ts
const TEXTS = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail
])
/** Files that are started or imported by name: a bundle, a thread, a module that a browser loads. */
const DOOR = /(?:^|\/)index\.ts$|-thread\.ts$|^lib\/client\//
/** Tables with a row per endpoint. `TABLE` of the callers test is independent and stays. */
const ENDPOINT_TABLES = /^(?:export )?const (?:PATHS|ERRORS|OAUTH|PROSE|EXPECTED|TABLE)\b/gm
const HAS_ENDPOINTS = /^(?:lib|scripts)\/|security\/callers\.test|swagger-and-logger\.test/
/** Tables and texts, which are exempt from the limit of size. */
const DATA = /common-passwords|stylesheet\.ts$|\/texts\//

/** Tokens without comments and texts. A template counts for the expressions in it. */
export function tokensOf(source: string): number {
  return leavesOf(source).filter(({ kind }) => !TEXTS.has(kind)).length
}

/** Finds SQL and Lua in the texts of TypeScript, by their look. */
export function statementsOf(source: string): number {
  return leavesOf(source)
    .filter(({ kind }) => TEXTS.has(kind))
    .map((leaf) => leaf.getText())
    .filter((words) => /\n|SELECT|INSERT|UPDATE|redis\.call/.test(words))
    .map((words) => words.replace(/--.*$/gm, '').match(/[A-Za-z_][\w.]*|\d+|[^\s\w]/g)?.length ?? 0)
    .reduce((sum, count) => sum + count, 0)
}

function leavesOf(source: string): ts.Node[] {
  const leaves: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    const children = node.getChildren()
    if (children.length === 0 && node.kind !== SyntaxKind.EndOfFileToken && node.getWidth() > 0) leaves.push(node)
    for (const child of children) if (!ts.isJSDoc(child)) visit(child)
  }
  visit(ts.createSourceFile('file.ts', source, ts.ScriptTarget.Latest, true))
  return leaves
}

/** Each file of lib with the files of lib that import it, and whether one of them does so on first use. */
function importersIn(files: FileMap): Map<string, { by: Set<string>; lazy: boolean }> {
  const importers = new Map<string, { by: Set<string>; lazy: boolean }>()
  for (const [path, source] of Object.entries(files))
    for (const [whole, specifier = ''] of source.matchAll(/(?:\bfrom |\bimport\(|^import )'(\.[^']*)'/gm)) {
      const target = posix.join(posix.dirname(path), specifier)
      const known = importers.get(target) ?? { by: new Set(), lazy: false }
      importers.set(target, { by: known.by.add(path), lazy: known.lazy || whole.startsWith('import(') })
    }
  return importers
}

/** Files with one importer in their own folder that would both fit into one file. */
export function foldable(files: FileMap): Array<{ path: string; into: string }> {
  return [...importersIn(libOf(files))].flatMap(([path, { by, lazy }]) => {
    const [into = ''] = by
    const both = Buffer.byteLength(files[path] ?? '') + Buffer.byteLength(files[into] ?? '')
    const fits = by.size === 1 && !DOOR.test(into) && posix.dirname(path) === posix.dirname(into) && both <= MAX_BYTES
    return fits && !lazy && !DOOR.test(path) && !DATA.test(path) ? [{ path, into }] : []
  })
}

/** Figures that may only fall. Cheap to compute, because a test reads them too. */
export function ratchets(files: FileMap): Record<string, number> {
  const lib = libOf(files)
  const code = Object.entries(lib)
  const naming = (word: RegExp, of: FileMap): number => Object.values(of).filter((text) => word.test(text)).length
  const outside = Object.fromEntries(code.filter(([path]) => !path.startsWith('lib/features/')))
  return {
    'files of lib over 12,288 bytes': code.filter(
      ([path, text]) => !DATA.test(path) && Buffer.byteLength(text) > MAX_BYTES
    ).length,
    'files of lib outside of features that name TOTP': naming(/totp/i, outside),
    'files of lib outside of features that name passkeys': naming(/passkey/i, outside),
    'lines of lib outside of features with await import()': Object.entries(outside)
      .filter(([path]) => !path.startsWith('lib/client/'))
      .flatMap(([, text]) => text.match(/^(?! *(?:\*|\/\/)).*await import\(/gm) ?? []).length,
    'tables of endpoints': Object.entries(files)
      .filter(([path]) => HAS_ENDPOINTS.test(path))
      .flatMap(([, text]) => text.match(ENDPOINT_TABLES) ?? []).length,
    'files of lib and scripts that name the grant client_credentials': Object.entries(files).filter(
      ([path, text]) => /^(?:lib|scripts)\/.*ts$/.test(path) && /\bclient_credentials\b/.test(text)
    ).length,
    'files of code that name Traditional Chinese': Object.entries(files).filter(
      ([path, text]) => /^(?:lib|scripts|test)\/.*\.ts$/.test(path) && /\bzh-T[W]\b/.test(text)
    ).length,
    'guides over 2,500 words': Object.entries(files).filter(
      ([path, text]) => path.startsWith('docs/guides/') && wordsOf(text) > 2500
    ).length
  }
}

export function libOf(files: FileMap): FileMap {
  return Object.fromEntries(Object.entries(files).filter(([path]) => path.startsWith('lib/') && path.endsWith('.ts')))
}

/** Figures that may rise between steps, because a step adds before it removes. */
export function sizes(files: FileMap): Record<string, number> {
  const lib = libOf(files)
  const sum = (of: (source: string) => number): number =>
    Object.values(lib).reduce((total, source) => total + of(source), 0)
  return {
    'tokens of lib': sum(tokensOf),
    'files of lib': Object.keys(files).filter((path) => path.startsWith('lib/')).length,
    'files of lib in TypeScript': Object.keys(lib).length,
    // A new feature brings its own.
    'rows of options': files['docs/reference/options.md']?.match(/^\| `/gm)?.length ?? 0,
    'words of docs by hand': Object.entries(files).reduce(
      (total, [path, text]) => total + (isByHand(path, text) ? wordsOf(text) : 0),
      0
    ),
    'bytes of lib': sum((source) => Buffer.byteLength(source)),
    // Can rise when a comment gets shorter.
    'files of lib with one importer, which fit into it': foldable(files).length,
    'files of lib with one importer': [...importersIn(lib).values()].filter(({ by }) => by.size === 1).length
  }
}

/** Pages that no script writes. A generated page outside of its folders names its script in a first comment. */
function isByHand(path: string, text: string): boolean {
  return (
    /^docs\/.*\.md$/.test(path) &&
    !/^docs\/(?:reference|screenshots)\/|security-rows/.test(path) &&
    !text.includes('<!-- Made by ')
  )
}

function wordsOf(page: string): number {
  return page.replace(/^[ \t]*```[\s\S]*?^[ \t]*```$/gm, '').match(/\S+/g)?.length ?? 0
}
