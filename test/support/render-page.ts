import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PageModels, PageName } from '../../lib/pages/model.ts'
import { RENDERERS, type Renderers } from '../../lib/pages/render.ts'

const features = join(import.meta.dirname, '../../lib/features')

/** The renderers of every feature. */
export const OF_FEATURES: Partial<Renderers> = Object.assign(
  {},
  ...(await Promise.all(
    readdirSync(features, { recursive: true, encoding: 'utf8' })
      .map((name) => join(features, name))
      .filter((path) => path.endsWith('.ts') && readFileSync(path, 'utf8').includes('export const RENDERERS'))
      .map(async (path) => ((await import(path)) as { RENDERERS: Partial<Renderers> }).RENDERERS)
  ))
)
const ALL = { ...RENDERERS, ...OF_FEATURES } as Renderers

/** The built-in HTML of any page, of the kernel or of a feature. */
export function renderPage<Name extends PageName>(page: Name, model: PageModels[Name]): string {
  return ALL[page](model)
}
