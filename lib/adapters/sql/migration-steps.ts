/**
 * A migration of a component's tables. `minReader` is the oldest version whose code still works after the step. A step
 * that only adds something sets `minReader`, so that a release can be rolled back and old and new instances can run
 * side by side. A plain string: older releases cannot use the tables after this step.
 */
export type MigrationStep = string | { sql: string; minReader: number }

export const sqlOf = (step: MigrationStep): string => (typeof step === 'string' ? step : step.sql)

/** `version`: the number of the step, from 1. */
export const minReaderOf = (step: MigrationStep, version: number): number =>
  typeof step === 'string' ? version : step.minReader

/** The newest applied step, and the oldest code that can read the tables. */
export interface AppliedVersion {
  version: number
  minReader: number
}

/** The migrations of a store. */
export interface Migrated {
  /**
   * Creates or migrates the tables. Without this call, the first use does that. Rejects with `StartError` if an
   * operator must fix the cause.
   */
  prepare(): Promise<void>
  /**
   * The migrations that `prepare` would make. Changes nothing. Rejects with `StartError` if the tables come from a
   * newer release and this release cannot use them.
   */
  pending(): Promise<string[]>
}

/** The versions of the steps that are not applied yet. */
export const missingVersions = ({ version }: AppliedVersion, steps: readonly MigrationStep[]): number[] =>
  steps.map((_step, index) => index + 1).filter((number) => number > version)

export const namesOf = (component: string, versions: readonly number[]): string[] =>
  versions.map((version) => `${component}, version ${version}`)

export const unusableMessage = (component: string, error: unknown): string =>
  `The tables of ${component} can't be made or read.${error instanceof Error ? ` ${error.message}` : ''}`

/** True if code that knows `known` steps can work with the tables. `minReader` is never above `version`. */
export const canRead = ({ minReader }: AppliedVersion, known: number): boolean => minReader <= known

export const tooNew = (component: string, { version, minReader }: AppliedVersion, known: number): string =>
  `The tables of ${component} were made by a newer release (version ${version}, which works ` +
  `for code of version ${minReader} on; this one knows ${known}).`
