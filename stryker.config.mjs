// Mutation tests of the code that judges what strangers send: `npm run test:mutation`, or of what has changed since the
// last run `npm run test:mutation -- --incremental`. mutation/results.md has the last result, docs/mutation.md why a
// survivor may survive.

/** @type {import('./mutation/node_modules/@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: [
    'lib/protocol/*.ts',
    'lib/limits/*.ts',
    'lib/accounts/{stored-hash,username,password-policy}.ts',
    'lib/http/edge/{body,cookie-jar,cors,log-redaction}.ts'
  ],
  testRunner: 'in-process',
  coverageAnalysis: 'perTest',
  concurrency: 1,
  plugins: ['./mutation/plugins.mjs'],
  ignorers: ['sentences'],
  disableTypeChecks: false,
  // TypeScript 7 has no API by which Stryker could read one, and esbuild needs none.
  tsconfigFile: 'none',
  ignorePatterns: ['.stryker', 'dist', 'docs', 'bench', 'examples', 'etc', 'data', '.tap'],
  incrementalFile: '.stryker/incremental.json',
  tempDirName: '.stryker/tmp',
  reporters: ['clear-text', 'json', 'progress-append-only'],
  clearTextReporter: { allowColor: false, reportTests: false },
  jsonReporter: { fileName: '.stryker/report.json' },
  thresholds: { high: 98, low: 95, break: 95 }
}
