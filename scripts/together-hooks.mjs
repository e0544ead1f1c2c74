// In a process of test files `import t from 'tap'` is the test of the file that runs now, and tap takes errors that
// nobody caught in our way.
const TEST = new URL('together-tap.mjs', import.meta.url).href
const DOMAIN = new URL('together-domain.mjs', import.meta.url).href
const RUNNER = new URL('run-together.mjs', import.meta.url).href

export function resolve(specifier, context, next) {
  if (specifier === 'async-hook-domain') return { url: DOMAIN, format: 'module', shortCircuit: true }
  return specifier === 'tap' && context.parentURL !== RUNNER
    ? { url: TEST, format: 'module', shortCircuit: true }
    : next(specifier, context)
}
