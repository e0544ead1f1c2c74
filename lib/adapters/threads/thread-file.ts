import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The file of a thread next to the module at `url`. `path` has no file extension. `null` in a bundle, which has no such
 * file and may not know its own URL.
 */
export function threadFile(path: string, url: string): URL | null {
  try {
    const file = new URL(`${path}${extname(url)}`, url)
    return existsSync(fileURLToPath(file)) ? file : null
  } catch {
    return null
  }
}
