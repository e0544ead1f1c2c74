/**
 * `npm run bench:client`: what browser clients do in everyday situations. With `--only ours`, `--only A,B` or both it
 * is quick, and docs/client-bench.md stays as it is. Each client has a provider, a site and browsers of its own;
 * clients run at the same time.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, platform, release } from 'node:os'
import { type Browser, chromium } from 'playwright-core'
import { chromiumPaths, pageScript, reportPath, sizeOf, versionOf } from './bundles.ts'
import { type ClientKind, CLIENTS } from './clients.ts'
import { createLab, Failed, type Lab } from './lab.ts'
import { startProvider } from './provider.ts'
import { markdown, type Report, type Result, terminal } from './report.ts'
import { startSite } from './site.ts'
import { device } from './situations/device.ts'
import { factors } from './situations/factors.ts'
import { signIn } from './situations/sign-in.ts'
import { signOut } from './situations/sign-out.ts'
import type { Situation } from './situations/situation.ts'
import { tokens } from './situations/tokens.ts'

/** A to Z, then AA. */
const SITUATIONS = [...signIn, ...device, ...tokens, ...signOut, ...factors].sort(
  (left, right) => lettersOf(left) - lettersOf(right) || left.id.localeCompare(right.id)
)

function lettersOf({ id }: Situation): number {
  return id.replace(/\d/, '').length
}

/** Those of `--only`; all where it names none. */
function chosen<T>(all: readonly T[], idOf: (item: T) => string): T[] {
  const named = all.filter((item) => only.includes(idOf(item)))
  return named.length === 0 ? [...all] : named
}

async function runClient(browser: Browser, client: ClientKind, situations: Situation[]): Promise<Map<string, Result>> {
  const site = await startSite()
  const provider = await startProvider(site.origin, client.provider)
  site.serve(await pageScript(client), provider.origin, provider.api)
  const lab = createLab(browser, client, provider, site)
  const results = new Map<string, Result>()
  try {
    for (const situation of situations) results.set(situation.id, await runSituation(lab, situation))
  } finally {
    site.close()
    await provider.close()
  }
  return results
}

async function runSituation(lab: Lab, { id, needs, run }: Situation): Promise<Result> {
  const { client, provider } = lab
  if ((needs === 'shared' && !client.shared) || (needs === 'listeners' && client.listeners === 'none'))
    return { passed: null, requests: 0, reuses: 0 }
  provider.counts = { requests: 0, codes: 0, reuses: 0 }
  const counts = provider.counts
  const started = performance.now()
  const result = await run(lab).then(
    (): Result => ({ passed: true, ...counts }),
    (error: Error): Result => {
      // Any other error is a fault of the bench, or a client that broke its page.
      const [word, detail] = error instanceof Failed ? [error.message, error.detail] : ['broken', error.message]
      if (detail !== '') console.error(`${client.name} ${id}: ${detail}`)
      return { passed: false, word, ...counts }
    }
  )
  await lab.close()
  console.error(
    `${client.name} ${id}: ${result.passed ? 'pass' : result.word} ` +
      `(${((performance.now() - started) / 1000).toFixed(1)} s)`
  )
  return result
}

const flag = process.argv.indexOf('--only')
const only = flag < 0 ? [] : process.argv.slice(flag + 1).flatMap((names) => names.split(','))
const executablePath = process.env.CHROMIUM_PATH ?? chromiumPaths(only.length === 0).find((path) => existsSync(path))
if (executablePath === undefined)
  throw new Error('no Chromium on this machine: install one, or name it in CHROMIUM_PATH')
// Playwright turns the page cache off, which people have on.
const browser = await chromium.launch({
  executablePath,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  ignoreDefaultArgs: ['--disable-back-forward-cache']
})
try {
  const clients = chosen(CLIENTS, ({ name }) => name)
  const situations = chosen(SITUATIONS, ({ id }) => id)
  const [all, sizes] = await Promise.all([
    Promise.all(clients.map(async (client) => [client.name, await runClient(browser, client, situations)] as const)),
    Promise.all(clients.map(async (client) => [client.name, await sizeOf(client)] as const))
  ])
  const report: Report = {
    clients,
    situations,
    results: new Map(all),
    sizes: new Map(sizes),
    machine:
      `Chromium ${browser.version()}, Node.js ${process.version}, esbuild ` +
      `${versionOf('esbuild')}; ${platform()} ${release()}, ${cpus().length} × ` +
      `${cpus()[0]?.model ?? 'CPU'}, load ${(loadavg()[1] ?? 0).toFixed(0)} in the last five ` +
      `minutes; ${new Date().toISOString().slice(0, 10)}.`
  }
  console.log(terminal(report))
  if (only.length === 0) writeFileSync(reportPath, markdown(report))
  if ([...(report.results.get('ours')?.values() ?? [])].some(({ passed }) => passed === false)) process.exitCode = 1
} finally {
  await browser.close()
}
// Time limits of calls that were answered would keep the process for a while.
process.exit()
