import { invalid } from './option-error.ts'
import type { Settings } from './settings.ts'

/** No two decorators of the plugin have the same name. */
export function checkNames({ decorators }: Settings): void {
  const names = Object.entries(decorators)
  for (const [what, name] of names) {
    const other = names.find(([which, taken]) => which !== what && taken === name)
    if (other !== undefined)
      throw invalid(`decorators.${what}`, name, `another name: this one is that of decorators.${other[0]}`)
  }
}

/** No two endpoints have the same path. */
export function checkPaths({ paths }: Settings): void {
  const places = Object.entries(paths)
  for (const [name, place] of places) {
    if (places.some(([other, taken]) => other !== name && taken === place))
      throw invalid(`paths.${name}`, place, 'a path that no other endpoint has')
  }
}
