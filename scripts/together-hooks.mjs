// In a process of several test files `import t from 'tap'` is the test of the file that runs now.
const TEST = new URL('together-tap.mjs', import.meta.url).href
const RUNNER = new URL('run-together.mjs', import.meta.url).href

export function resolve (specifier, context, next) {
  return specifier === 'tap' && context.parentURL !== RUNNER ? { url: TEST, format: 'module', shortCircuit: true } : next(specifier, context)
}
