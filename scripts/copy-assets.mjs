// Copies what the compiler leaves behind (pages, styles, images, and the `src` that a bundler reads) from one tree to
// another: `copy-assets.mjs <from> <to>`.
import { cpSync, existsSync } from 'node:fs'

const [from, to] = process.argv.slice(2)
if (from === undefined || to === undefined) throw new Error('usage: copy-assets.mjs <from> <to>')
if (existsSync(from)) {
  cpSync(from, to, {
    recursive: true,
    filter: (source) => /[\\/]src[\\/]/.test(source) || !/\.[cm]?ts$|tsconfig|node_modules|(^|\/)data$/.test(source)
  })
}
