/**
 * `t` of the test file that runs. Test files share processes, because loading tap and the library takes longer than
 * most of them do. The runner (scripts/run-together.mjs) makes a subtest for each file and hands it over before it
 * imports the file. A file that is run without the runner gets the root of tap.
 */
import root, { type TAP, type Test } from 'tap'

export type { Test } from 'tap'

let t: TAP | Test = root

export function useTest(test: Test): void {
  t = test
}

export { t as default }
