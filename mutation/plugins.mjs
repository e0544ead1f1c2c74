// Our plugins for Stryker (stryker.config.mjs): the code that it leaves as it is, and a runner that is fast because it
// starts no process for a mutant. Each test file is one script, with all mutants behind a switch; a run of it evaluates
// the script again, and with it the mutated modules.
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { constants, Script } from 'node:vm'
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core'
import { declareClassPlugin, declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { determineHitLimitReached, DryRunStatus, TestStatus, toMutantRunResult } from '@stryker-mutator/api/test-runner'
import { build } from 'esbuild'

/** The tests of the mutated files. */
const TESTS =
  /^(?:unit\/(?:(?:protocol|limits|http)\/.*|upstream\/answer|accounts\/message-bound|passwords\/(?:stored-hash|username|password-policy))|http\/cors)\.test\.ts$/

/**
 * The argument that explains a refusal, by the name of the called function. A program reads another part of the
 * refusal, which is tested.
 */
const EXPLANATIONS = { must: 2, WebauthnError: 1, mismatch: 0, objectOf: 1 }

/** The sentences of errors: nothing depends on them, and no test repeats them. */
const sentences = {
  shouldIgnore({ node, parent }) {
    const at = EXPLANATIONS[parent?.callee?.name]
    if (at !== undefined && parent.arguments[at] === node) return 'an explanation'
    // Which section a check is of.
    if (parent?.key?.name === 'see') return 'a reference'
    const text =
      node.type === 'StringLiteral'
        ? node.value
        : node.type === 'TemplateLiteral'
          ? node.quasis.map(({ value }) => value.cooked).join('…')
          : ''
    return / .*\.$/.test(text) ? 'a sentence' : undefined
  }
}

class InProcessRunner {
  /** @type {Map<string, Script>} */
  scripts = new Map()
  require = createRequire(join(process.cwd(), 'package.json'))
  /** By this the mutants know which of them is on. */
  mutants = (globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {})

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    this.Test = await importTest()
    const files = readdirSync('test', { recursive: true })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => TESTS.test(file))
      .toSorted((left, right) => left.localeCompare(right))
    const { outputFiles } = await build({
      absWorkingDir: process.cwd(),
      entryPoints: files.map((file) => `test/${file}`),
      outbase: 'test',
      outdir: '.',
      bundle: true,
      packages: 'external',
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      define: { 'import.meta.url': '__filename' },
      write: false
    })
    // The smallest is the quickest to find a mutant, roughly, and the first to find one ends its run.
    const bundles = outputFiles
      .map(({ text }, index) => ({ name: files[index], text }))
      .toSorted((a, b) => a.text.length - b.text.length)
    for (const { name, text } of bundles)
      this.scripts.set(
        name,
        new Script(`(require, module, exports, __filename) => {${text}\n}`, {
          filename: name,
          importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
        })
      )
  }

  async dryRun() {
    const tests = []
    const mutantCoverage = { static: {}, perTest: {} }
    for (const name of this.scripts.keys()) {
      this.mutants.mutantCoverage = { static: {}, perTest: {} }
      tests.push(await this.run(name))
      mutantCoverage.perTest[name] = this.mutants.mutantCoverage.static
    }
    return { status: DryRunStatus.Complete, tests, mutantCoverage }
  }

  async mutantRun({ activeMutant, testFilter, hitLimit }) {
    Object.assign(this.mutants, {
      activeMutant: activeMutant.id,
      hitLimit,
      hitCount: hitLimit === undefined ? undefined : 0
    })
    const tests = []
    for (const name of this.scripts.keys()) {
      if (testFilter?.includes(name) === false) continue
      tests.push(await this.run(name))
      if (tests.at(-1).status === TestStatus.Failed) break
    }
    return (
      determineHitLimitReached(this.mutants.hitCount, hitLimit) ??
      toMutantRunResult({ status: DryRunStatus.Complete, tests })
    )
  }

  async run(name) {
    const from = performance.now()
    const test = new this.Test({ name, silent: true })
    test.resume()
    const module = { exports: {} }
    let thrown
    try {
      this.scripts.get(name).runInThisContext()(
        (id) => (id === 'tap' ? test : this.require(id)),
        module,
        module.exports,
        pathToFileURL(`test/${name}`).href
      )
    } catch (error) {
      thrown = error
    }
    test.end()
    await test.concat()
    const isGood = thrown === undefined && test.passing() && test.counts.total > 0
    return {
      id: name,
      name,
      fileName: `test/${name}`,
      timeSpentMs: performance.now() - from,
      ...(isGood
        ? { status: TestStatus.Success }
        : {
            status: TestStatus.Failed,
            failureMessage:
              thrown instanceof Error ? String(thrown) : (test.lists.fail[0]?.name ?? 'nothing was tested')
          })
    }
  }
}

/**
 * Imports tap without its main test, which tells the parent process of its time limit. The parent here is Stryker,
 * which has a limit of its own.
 */
async function importTest() {
  const { send } = process
  process.send = undefined
  const { Test, t } = await import('tap')
  t.setTimeout(0)
  process.send = send
  return Test
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'sentences', sentences),
  declareClassPlugin(PluginKind.TestRunner, 'in-process', InProcessRunner)
]
