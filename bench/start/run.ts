import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Bench, median } from '../report.ts'
import type { Started } from './child.ts'
import { BARE, HOSTS, OURS, PEER, routesOf, SAME_ROUTES } from './hosts.ts'

const ROUNDS = 15
/** The bytes of our files at commit 0ed5a8b, counted in the same way. */
const OWN_BYTES_BEFORE = 1_863_237

type Figure = Exclude<keyof Started, 'bytes'>

/** From the start of the process to `ready()`, each in a process of its own. */
export const start: Bench = async ({ quick }) => {
  const rounds = quick ? 1 : ROUNDS
  const names = Object.keys(HOSTS)
  const routes = new Map<string, number>()
  for (const [ours, base] of Object.entries(SAME_ROUTES)) routes.set(base, await routesOf(ours))
  const found = new Map<string, Started[]>(names.map((name) => [name, []]))
  for (let round = quick ? 1 : 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const started = await startOnce(name, routes.get(name) ?? 0)
      // The first finds nothing in the file cache.
      if (round > 0) found.get(name)?.push(started)
    }
  }
  const { bytes } = await startOnce(OURS, 0, 'bytes')
  const of = (name: string, what: Figure): number[] => (found.get(name) ?? []).map((started) => started[what])
  const ratio = (name: string, base: string | undefined, what: Figure): string =>
    base === undefined
      ? ''
      : median(of(name, what).map((value, round) => value / (of(base, what)[round] ?? Number.NaN))).toFixed(2)
  return {
    title: 'from the start of a process to ready()',
    method: `${rounds} rounds, a new process each time; ratios inside a round, medians. CPU of all threads.`,
    tables: [
      {
        columns: ['', 'ms', `÷ ${BARE}`, '÷ same routes', 'CPU ms', '÷ same routes', `÷ ${PEER}`, 'goal', 'RSS MB'],
        rows: names.map((name) => [
          name.replace('as many routes', `${routes.get(name) ?? 0} routes, as many`),
          Math.round(median(of(name, 'ms'))),
          ratio(name, BARE, 'ms'),
          ratio(name, SAME_ROUTES[name], 'ms'),
          Math.round(median(of(name, 'cpuMs'))),
          ratio(name, SAME_ROUTES[name], 'cpuMs'),
          ratio(name, PEER, 'cpuMs'),
          name === OURS ? '≤ 1.20' : '',
          Math.round(median(of(name, 'rssMb')))
        ])
      },
      {
        title: 'JavaScript compiled with no option set',
        columns: ['', 'kB', '÷ commit 0ed5a8b', 'goal'],
        rows: [
          ['own files', Math.round(bytes.own / 1000), (bytes.own / OWN_BYTES_BEFORE).toFixed(2), '≤ 0.75'],
          ['with Fastify and all packages', Math.round(bytes.all / 1000), '', '']
        ]
      }
    ]
  }
}

async function startOnce(name: string, routes: number, counts = 'nothing'): Promise<Started> {
  const child = fork(
    fileURLToPath(new URL(`./child${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)),
    [name, String(routes), counts],
    { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }
  )
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} stopped with code ${String(code)}`)
  })
  const [started] = await Promise.race([once(child, 'message') as Promise<[Started]>, failed])
  await failed.catch(() => {})
  return started
}
