import type { Settings } from '../settings/settings.ts'
import type { Feature, Kernel, Parts } from '../feature.ts'
import * as FEATURES from '../features/index.ts'
import type { GrantDeclaration } from '../oauth/deps.ts'
import { GRANTS } from '../oauth/grants/registry.ts'
import { checkedSettings } from '../settings/check.ts'
import { optionsSchema } from '../settings/options.ts'
import type { Authority } from './authority.ts'

/** Combines the features: one options schema, one list of grants, and one start for the features that are on. */
export function compose(features: readonly Feature[]) {
  const ordered = inOrder(features)
  const schema = optionsSchema(ordered)
  const grants: readonly GrantDeclaration[] = [...GRANTS, ...ordered.flatMap((feature) => feature.grants ?? [])]
  return {
    schema,
    grants,
    /** Stand-ins for the `app.authority` methods of features that are off. */
    off: Object.assign({}, ...ordered.map(({ off }) => off)) as Partial<Authority>,
    settingsOf: (options: unknown): Settings => checkedSettings(options, schema, ordered, grants),
    /**
     * Loads and creates the features that are on. Caches nothing, so that a start after a failed start loads them
     * again.
     */
    async start({ features: on }: Pick<Settings, 'features'>, kernel: Kernel): Promise<Parts[]> {
      const started = ordered.filter(({ name }) => Object.hasOwn(on, name))
      const loaded = await Promise.all(started.map(async (feature) => await feature.load()))
      return await Promise.all(
        loaded.map(async ({ create }, index) => await create(on[started[index]?.name ?? ''], kernel))
      )
    }
  }
}

/**
 * Sorts features, each after the features that it needs.
 * @throws TypeError for a missing feature or a cycle
 */
function inOrder(features: readonly Feature[]): Feature[] {
  const ordered: Feature[] = []
  const add = (feature: Feature, waiting: readonly string[]): void => {
    if (ordered.includes(feature)) return
    if (waiting.includes(feature.name)) throw new TypeError(`The feature ${feature.name} needs itself.`)
    for (const name of feature.needs ?? []) {
      const needed = features.find((other) => other.name === name)
      if (needed === undefined) throw new TypeError(`The feature ${feature.name} needs ${name}, which does not exist.`)
      add(needed, [...waiting, feature.name])
    }
    ordered.push(feature)
  }
  // The features come in the alphabetical order of a module namespace. `needs` states the order that the features
  // require.
  for (const feature of features) add(feature, [])
  return ordered
}

const composed = compose(Object.values(FEATURES))
export const OPTIONS_SCHEMA = composed.schema
/** All grants, also those that options turn off. */
export const DECLARED_GRANTS = composed.grants
/**
 * Checks the host's options and fills in defaults. `undefined` means absent at every depth.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the option's path, the value and the accepted values
 */
export const settingsOf = composed.settingsOf
export const startFeatures = composed.start
export const METHODS_OFF = composed.off
