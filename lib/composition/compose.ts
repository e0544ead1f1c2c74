import type { Feature, Kernel, Parts } from '../feature.ts'
import * as FEATURES from '../features/index.ts'
import { checkedSettings } from '../settings/check.ts'
import { optionsSchema } from '../settings/schema.ts'
import type { Settings } from '../settings/settings.ts'

/** Features as one: their options, their settings, and the start of those that are on. */
export function compose(features: readonly Feature[]) {
  const ordered = inOrder(features)
  const schema = optionsSchema(ordered)
  return {
    schema,
    settingsOf: (options: unknown): Settings => checkedSettings(options, schema, ordered),
    /** Loads and makes the features that are on. Keeps nothing, so that a start after a failed one loads again. */
    async start({ features: on }: Pick<Settings, 'features'>, kernel: Kernel): Promise<Parts[]> {
      const started = ordered.filter(({ name }) => Object.hasOwn(on, name))
      const loaded = await Promise.all(started.map(async (feature) => await feature.load()))
      return loaded.map(({ create }, index) => create(on[started[index]?.name ?? ''], kernel))
    }
  }
}

/** Each feature after those that it needs. */
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
  // The order of the exports of a module is that of the alphabet, whatever the order of its lines.
  for (const feature of features) add(feature, [])
  return ordered
}

const composed = compose(Object.values(FEATURES))
export const OPTIONS_SCHEMA = composed.schema
/**
 * Checks what the host gave, and fills in what it did not. `undefined` is "not given" at every depth.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the option's path, what it got and what it takes
 */
export const settingsOf = composed.settingsOf
export const startFeatures = composed.start
