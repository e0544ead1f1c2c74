import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Bench, median } from '../report.ts'
import { BARE, HOSTS, SAME_ROUTES } from './hosts.ts'

const ROUNDS = 15
const GOAL = '≤ 1.15'

interface Started { ms: number, cpuMs: number, rssMb: number }

/** From the start of the process to `ready()`, each in a process of its own. */
export const start: Bench = async ({ quick }) => {
  const rounds = quick ? 1 : ROUNDS
  const names = Object.keys(HOSTS)
  const found = new Map<string, Started[]>(names.map((name) => [name, []]))
  for (let round = quick ? 1 : 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const started = await startOnce(name)
      // The first finds nothing in the file cache.
      if (round > 0) found.get(name)?.push(started)
    }
  }
  const of = (name: string, what: keyof Started): number[] => (found.get(name) ?? []).map((started) => started[what])
  const ratio = (name: string, base: string, what: keyof Started): number => median(of(name, what).map((value, round) => value / (of(base, what)[round] ?? Number.NaN)))
  return {
    title: 'from the start of a process to ready()',
    method: `${rounds} rounds, a new process each time; ratios inside a round, medians. CPU of all threads.`,
    tables: [{
      columns: ['', 'ms', `÷ ${BARE}`, '÷ same routes', 'CPU ms', `÷ ${BARE}`, '÷ same routes', 'goal', 'RSS MB'],
      rows: names.map((name) => [
        name, Math.round(median(of(name, 'ms'))), ratio(name, BARE, 'ms').toFixed(2), ratio(name, SAME_ROUTES, 'ms').toFixed(2),
        Math.round(median(of(name, 'cpuMs'))), ratio(name, BARE, 'cpuMs').toFixed(2), ratio(name, SAME_ROUTES, 'cpuMs').toFixed(2),
        name === 'fastify-authority' ? GOAL : '', Math.round(median(of(name, 'rssMb')))
      ])
    }]
  }
}

async function startOnce (name: string): Promise<Started> {
  const child = fork(fileURLToPath(new URL(`./child${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)), [name], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const failed = once(child, 'exit').then(([code]) => { throw new Error(`${name} stopped with code ${String(code)}`) })
  const [started] = await Promise.race([once(child, 'message') as Promise<[Started]>, failed])
  await failed.catch(() => {})
  return started
}
