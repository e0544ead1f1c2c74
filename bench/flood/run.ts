/**
 * A flood of sign-ins by clients that try again at once, against a host that has a page of its own to serve. Each
 * server is a process of its own, and so are the clients and the one that watches the host's page.
 */
import { availableParallelism } from 'node:os'
import { type Child, start } from '../child.ts'
import { type BenchOptions, type Chart, median, quantile, type Report, type Table } from '../report.ts'
import { CLIENTS, type Kind, type Library, type Measured, PARAMETERS, type Seen, type Spoils } from './scene.ts'

const ROUNDS = 5
/** The parts of a flood, in milliseconds: the host alone, the flood, and until its last hash has run. */
const FULL = { before: 1000, during: 7000, after: 1500 }
const QUICK = { before: 100, during: 300, after: 100 }
const BIN_MS = 250

interface Contestant {
  kind: Kind
  library: Library
  server: Child
  port: number
  rssIdle: number
  shots: Shot[]
}

interface Shot {
  idle: Measured
  flood: Measured
  spoils: Spoils
  seen: Seen
  lengths: typeof FULL
}

export async function flood({ quick }: BenchOptions): Promise<Report> {
  const rounds = quick ? 1 : ROUNDS
  const lengths = quick ? QUICK : FULL
  const contestants: Contestant[] = []
  const [clients, probe] = [await start('flood/clients'), await start('flood/probe')]
  try {
    for (const library of ['@node-rs/argon2', 'argon2'] as const) {
      for (const kind of ['without admission', 'ours'] as const)
        contestants.push(await contestant(kind, library, clients, lengths))
    }
    // Code is compiled when it runs for the first time, so the servers are warmed up before the flood comes.
    for (const each of contestants)
      await shoot(each, clients, probe, { ...lengths, before: 0, during: lengths.during / 4 })
    for (let round = 0; round < rounds; round++) {
      for (const each of round % 2 === 0 ? contestants : contestants.toReversed())
        each.shots.push(await shoot(each, clients, probe, lengths))
    }
  } finally {
    for (const each of [clients, probe, ...contestants.map(({ server }) => server)]) each.end()
  }
  const idle = contestants.flatMap(({ shots }) => shots.flatMap(before))
  return {
    title:
      `a flood of sign-ins: ${CLIENTS} clients that try again at once, argon2id ` +
      `m=${PARAMETERS.memoryCost} t=${PARAMETERS.timeCost} p=${PARAMETERS.parallelism}`,
    method:
      `${rounds} rounds of ${lengths.during / 1000} s of flood against each, in changing order; ` +
      'no limits but the hashing queue. "Without admission" is a bare route that verifies on the ' +
      `threads of libuv's pool. The host's page is asked for 100 times a second by a process ` +
      'that does nothing else; idle is the same before the flood, of all servers. Ratios inside ' +
      'a round, medians of the rounds.',
    tables: [
      signIns(contestants),
      hostPage(
        contestants,
        idle.map(([, took]) => took)
      ),
      memory(contestants)
    ],
    charts: [overTime(contestants)]
  }
}

async function contestant(kind: Kind, library: Library, clients: Child, { before }: typeof FULL): Promise<Contestant> {
  const server = await start('flood/server', [kind, library])
  const port = server.begun as number
  // A server that has served its page to as many: the heap that this takes is no matter of the sign-ins.
  await clients.ask<Spoils>({ port, durationMs: before, what: 'page' })
  await new Promise((resolve) => {
    setTimeout(resolve, before)
  })
  const { rss } = await server.ask<Measured>('measure')
  return { kind, library, server, port, rssIdle: rss, shots: [] }
}

async function shoot({ server, port }: Contestant, clients: Child, probe: Child, lengths: typeof FULL): Promise<Shot> {
  await server.ask('measure')
  const watching = probe.ask<Seen>({ port, durationMs: lengths.before + lengths.during + lengths.after })
  await new Promise((resolve) => {
    setTimeout(resolve, lengths.before)
  })
  const idle = await server.ask<Measured>('measure')
  const spoils = await clients.ask<Spoils>({ port, durationMs: lengths.during, what: 'sign-in' })
  const flood = await server.ask<Measured>('measure')
  return { idle, flood, spoils, seen: await watching, lengths }
}

const before = ({ seen, lengths }: Shot): Seen => seen.filter(([at]) => at < lengths.before)
const during = ({ seen, lengths }: Shot): Seen =>
  seen.filter(([at]) => at >= lengths.before && at < lengths.before + lengths.during)
const times = (seen: Seen): number[] => seen.map(([, took]) => took)
const nameOf = ({ kind, library }: Contestant): string => `${kind}, ${library}`

/** The median over the rounds of a figure's ratio to its base in the same round. */
function ratio(figures: readonly number[], bases: readonly number[]): number {
  return median(figures.map((figure, round) => figure / (bases[round] ?? Number.NaN)))
}

function signIns(contestants: readonly Contestant[]): Table {
  const perSecond = ({ shots }: Contestant): number[] =>
    shots.map(({ spoils, lengths }) => (spoils.succeeded / lengths.during) * 1000)
  return {
    title: 'Sign-ins',
    columns: ['', 'sign-ins/s', 'ratio', 'goal', 'refusals/s', 'p50 ms', 'p99 ms', 'CPU ms per sign-in'],
    rows: contestants.map((each) => {
      const base =
        contestants.find(({ kind, library }) => kind === 'without admission' && library === each.library) ?? each
      const of = (figure: (shot: Shot) => number): number => median(each.shots.map(figure))
      return [
        nameOf(each),
        median(perSecond(each)),
        ratio(perSecond(each), perSecond(base)).toFixed(2),
        each === base ? '' : '≥ 0.95',
        Math.round(of(({ spoils, lengths }) => (spoils.refused / lengths.during) * 1000)),
        of(({ spoils }) => spoils.p50),
        of(({ spoils }) => spoils.p99),
        of(({ flood, spoils }) => flood.cpuMs / spoils.succeeded)
      ]
    })
  }
}

function hostPage(contestants: readonly Contestant[], idle: readonly number[]): Table {
  const rounds =
    contestants[0]?.shots.map((_shot, round) =>
      contestants.flatMap(({ shots }) => times(before(shots[round] as Shot)))
    ) ?? []
  const quantiles = ({ shots }: Contestant, share: number): number[] =>
    shots.map((shot) => quantile(times(during(shot)), share))
  const idleOf = (share: number): number[] => rounds.map((round) => quantile(round, share))
  const loop = (which: 'idle' | 'flood', { shots }: Contestant): number[] =>
    shots.map((shot) => shot[which].loopDelayP99)
  return {
    title: "The host's page meanwhile, in milliseconds",
    columns: ['', 'p50', 'p90', '÷ idle', 'goal', 'p99', '÷ idle', 'goal', 'event loop delay p99', '÷ idle', 'goal'],
    rows: [
      [
        'idle',
        quantile(idle, 0.5),
        quantile(idle, 0.9),
        '',
        '',
        quantile(idle, 0.99),
        '',
        '',
        median(contestants.flatMap((each) => loop('idle', each))),
        '',
        ''
      ],
      ...contestants.map((each) => {
        const goal = (most: string): string => (each.kind === 'ours' ? `≤ ${most}` : '')
        return [
          nameOf(each),
          median(quantiles(each, 0.5)),
          median(quantiles(each, 0.9)),
          ratio(quantiles(each, 0.9), idleOf(0.9)).toFixed(1),
          goal('2'),
          median(quantiles(each, 0.99)),
          ratio(quantiles(each, 0.99), idleOf(0.99)).toFixed(1),
          goal('4'),
          median(loop('flood', each)),
          ratio(loop('flood', each), loop('idle', each)).toFixed(1),
          goal('1.5')
        ]
      })
    ]
  }
}

function memory(contestants: readonly Contestant[]): Table {
  const goal = (availableParallelism() * PARAMETERS.memoryCost) / 1024 + 32
  return {
    title: 'Memory of the server, in MiB; idle is after it has served its page to 200 clients',
    columns: ['', 'RSS idle', 'peak', 'over idle', 'goal'],
    rows: contestants.map((each) => {
      const peak = Math.max(...each.shots.map(({ flood }) => flood.rssPeak))
      return [
        nameOf(each),
        Math.round(each.rssIdle),
        Math.round(peak),
        Math.round(peak - each.rssIdle),
        each.kind === 'ours' ? `≤ ${Math.round(goal)}` : ''
      ]
    })
  }
}

function overTime(contestants: readonly Contestant[]): Chart {
  const lines = contestants.map((each) => {
    const bins = new Map<number, number[]>()
    for (const { seen, lengths } of each.shots) {
      for (const [at, took] of seen) {
        const bin = Math.floor((at - lengths.before) / BIN_MS)
        bins.set(bin, [...(bins.get(bin) ?? []), took])
      }
    }
    const points = [...bins]
      .toSorted(([left], [right]) => left - right)
      .map(([bin, values]): [number, number] => [((bin + 0.5) * BIN_MS) / 1000, quantile(values, 0.9)])
    return { name: nameOf(each), points }
  })
  return {
    name: 'flood',
    title: `The host's page while ${CLIENTS} clients sign in for ${FULL.during / 1000} seconds`,
    x: { label: 'seconds since the flood began' },
    y: { label: "p90 of the host's page, ms", logarithmic: true },
    lines
  }
}
