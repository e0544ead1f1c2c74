/**
 * Counts the patterns of our English that make a sentence hard to read: a sentence with a relative clause as its
 * subject, and words that most readers have to translate first. Finds comments and titles by their form, because
 * a syntax tree of all files takes ten seconds.
 */

/** Path from the root of the repository with forward slashes, to source text. */
export type FileMap = Readonly<Record<string, string>>

export interface Pattern {
  /** A kind and a folder, such as `comments of lib/records`. */
  place: string
  path: string
  /** The word that makes the pattern. */
  pattern: string
  /** The pattern with the words around it. */
  text: string
}

/** Files in other languages, files that a script writes, and files with the patterns as examples. */
const LEFT_OUT = /\.json$|node_modules|\/(?:fixtures|reference|screenshots)\/|security-rows|english(?:\.test)?\.ts$/
/** Not in a path, and not "this one's". */
const WORDS =
  /(?<![\w/-])(?:somebody|whoever|(?<!each |last |one |some )of which|(?<!this |each |other )one's|anew|by now|beside|in place of|bear(?:s|ing)?|at the (?:most|least)|look-ups?|from then on)(?![\w/-])/gi
/** A question may begin so. */
const RELATIVE =
  /^Of (?!parallel|several|two)|(?<=^|[.:;!?]["')]?\s+)(?:What(?!ever)|Who(?:ever)?|Where|Whether)\b(?![^.!?]*\?)/g
/** A title has no capital. */
const RELATIVE_TITLE = /^(?:what|who|whoever|where|whether|of)\b(?!.*\?$)/gi

const COMMENT = /^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+|[ \t]\/\/ .*$/gm
const TITLE = /\b(?:t|test|describe)(?:\.test)?\(\s*(['"`])((?:\\.|(?!\1)[^\\])+)\1/g
/** Three words or more: errors, warnings, reasons, and what pages and mails say. */
const SENTENCE = /(['"`])((?:\\.|(?!\1)[^\\\n])+ (?:\\.|(?!\1)[^\\\n])+ (?:\\.|(?!\1)[^\\\n])+)\1/g

/** How many patterns each place has. A place without any has no entry. */
export function patternCounts(files: FileMap): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { place } of patternsIn(files)) counts[place] = (counts[place] ?? 0) + 1
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function patternsIn(files: FileMap): Pattern[] {
  return Object.entries(files).flatMap(([path, text]) => {
    if (LEFT_OUT.test(path)) return []
    const folder = folderOf(path)
    if (path.endsWith('.md')) return found(path, `prose of ${folder}`, [proseOf(text)], RELATIVE)
    const comments = [...text.matchAll(COMMENT)].map(([comment]) =>
      comment.replace(/^[ \t]*(?:\/?\*+\/?|\/\/)/gm, '').replace(/`[^`\n]*`/g, '`')
    )
    return [
      ...found(path, `comments of ${folder}`, comments, RELATIVE),
      ...(path.startsWith('lib/')
        ? found(path, `texts of ${folder}`, textsOf(text.replace(COMMENT, ''), SENTENCE), RELATIVE)
        : []),
      ...(path.startsWith('test/') ? found(path, `titles of ${folder}`, textsOf(text, TITLE), RELATIVE_TITLE) : [])
    ]
  })
}

function found(path: string, place: string, texts: readonly string[], relative: RegExp): Pattern[] {
  return texts.flatMap((text) => {
    const words = text.replace(/\s+/g, ' ').trim()
    return [relative, WORDS].flatMap((pattern) =>
      [...words.matchAll(pattern)].map(({ index, 0: word }) => ({
        place,
        path,
        pattern: pattern === WORDS ? `the word "${word}"` : `a sentence that begins with "${word.trim()}"`,
        text: words.slice(Math.max(0, index - 30), index + 60)
      }))
    )
  })
}

function textsOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, , words = '']) => words)
}

/** Two names deep, and three where a room is a folder of a folder. */
function folderOf(path: string): string {
  const folders = path.split('/').slice(0, -1)
  return folders.slice(0, /^lib\/(?:http|adapters|features)\//.test(path) ? 3 : 2).join('/') || 'the root'
}

/** A page without its code: blocks, spans and addresses. A heading, an item and a cell begin a sentence. */
function proseOf(page: string): string {
  return page
    .replace(/^[ \t]*```[\s\S]*?^[ \t]*```$/gm, '')
    .replace(/`[^`\n]*`/g, '`')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/^ *(?:#+|[-*]|\d+\.|\|) |\| |\n\n/gm, '. ')
}
