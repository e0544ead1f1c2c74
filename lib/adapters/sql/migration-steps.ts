/**
 * A migration of a component's tables. A step that only adds has `minReader`: the oldest version whose code still works
 * after it, so that a release can be rolled back, and old and new instances can run side by side. A plain string works
 * for no older code.
 */
export type MigrationStep = string | { sql: string; minReader: number }

export const sqlOf = (step: MigrationStep): string => (typeof step === 'string' ? step : step.sql)

/** `version`: the number of the step, from 1. */
export const minReaderOf = (step: MigrationStep, version: number): number =>
  typeof step === 'string' ? version : step.minReader

/** True if code that knows `known` steps can work with tables of a newer release. */
export const canRead = ({ version, minReader }: { version: number; minReader: number }, known: number): boolean =>
  version <= known || minReader <= known

export const tooNew = (
  component: string,
  { version, minReader }: { version: number; minReader: number },
  known: number
): string =>
  `The tables of ${component} were made by a newer release (version ${version}, which works ` +
  `for code of version ${minReader} on; this one knows ${known}).`
