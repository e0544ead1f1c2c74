import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The file of a thread that stands beside the module at `url`, `path` being without its ending. `null` where there is
 * none: a bundle has no such file, and may not know its own place.
 */
export function threadFile(path: string, url: string): URL | null {
  try {
    const file = new URL(`${path}${extname(url)}`, url)
    return existsSync(fileURLToPath(file)) ? file : null
  } catch {
    return null
  }
}
