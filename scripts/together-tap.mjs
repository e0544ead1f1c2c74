// The `t` of a test file that shares its process (run-together.mjs): the subtest of the file that runs now, where a
// file with a process of its own has the root of all.
let current

/** @param {import('tap').Test} t */
export function useTest(t) {
  current = t
}

export default new Proxy(
  {},
  {
    get(_, name) {
      const value = current[name]
      return typeof value === 'function' ? value.bind(current) : value
    }
  }
)
