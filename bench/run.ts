/**
 * `npm run bench` runs every benchmark, `npm run bench -- NAME` one; `--quick` gives each a moment only, `--save` keeps
 * what was found for docs/performance.md.
 */
import { dpop } from './dpop.ts'
import { flood } from './flood/run.ts'
import { growth } from './growth/run.ts'
import { limits } from './limits.ts'
import { memory } from './memory/run.ts'
import { saveReport, writePage } from './page.ts'
import { beQuick } from './quick.ts'
import { protectedRoute, unseenToken } from './protected-route.ts'
import { refreshing } from './refresh.ts'
import { mint } from './mint.ts'
import { refusals } from './refusals.ts'
import { type Bench, terminal } from './report.ts'
import { roundTrips } from './round-trips.ts'
import { compare, serveInChild } from './rounds.ts'
import { start } from './start/run.ts'
import { signIn } from './sign-in.ts'
import type { HttpBenchmark } from './subject.ts'

/** Servers under the same load. */
const HTTP: Record<string, HttpBenchmark> = {
  'protected-route': protectedRoute,
  'unseen-token': unseenToken,
  refusals,
  'sign-in': signIn,
  refresh: refreshing,
  limits
}
/** Those with a shape of their own. */
const OTHERS: Record<string, Bench> = { dpop, flood, growth, memory, start, mint, 'round-trips': roundTrips }

const [name, ...more] = process.argv.slice(2)
if (name === 'serve') {
  const [benchmark = '', subject = ''] = more
  await serveInChild(HTTP[benchmark] as HttpBenchmark, subject)
} else {
  const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
  const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
  if (flags.includes('--quick')) beQuick()
  const benches: Record<string, Bench> = {
    ...Object.fromEntries(
      Object.entries(HTTP).map(([key, benchmark]) => [key, async (options) => await compare(key, benchmark, options)])
    ),
    ...OTHERS
  }
  const chosen = words[0] === undefined ? Object.keys(benches) : [words[0]]
  if (chosen.some((key) => benches[key] === undefined)) {
    console.error(`usage: npm run bench -- [${Object.keys(benches).join(' | ')}] [--quick] [--save]`)
    process.exitCode = 1
  } else {
    for (const key of chosen) {
      const started = performance.now()
      const report = await (benches[key] as Bench)({ quick: flags.includes('--quick'), args: words.slice(1) })
      console.log(`${terminal(report)}\n(${key}: ${((performance.now() - started) / 1000).toFixed(0)} s)\n`)
      if (flags.includes('--save')) saveReport(key, report)
    }
    if (flags.includes('--save')) writePage()
    // Servers that ran in this process are still there.
    if (flags.includes('--quick')) process.exit()
  }
}
