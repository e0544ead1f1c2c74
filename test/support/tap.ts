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

/** The root test of the process. It ends after the last of the files that share the process. */
export function rootOf(test: TAP | Test): TAP | Test {
  let all = test
  while (all.parent !== undefined) all = all.parent as Test
  return all
}

export { t as default }
