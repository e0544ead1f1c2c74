/** The memory of two servers in one process each: idle, after requests of five kinds, and after password checks. */
import { argon2Hasher } from '../../lib/index.ts'
import { start } from '../child.ts'
import type { Footprint } from '../footprint.ts'
import { connection, type Send, textOf, textWith } from '../load.ts'
import { median, type Table } from '../report.ts'
import type { LoadedRequest } from '../subject.ts'
import { PARAMETERS, PASSWORD } from './scene.ts'

const AT_ONCE = 8
const FULL = { rounds: 3, requests: 100_000, checks: 200, rest: 10 }
const QUICK = { rounds: 1, requests: 50, checks: 4, rest: 0 }

/** A server, and what it is asked. `requests` take turns; in them `%TOKEN%` is the last refresh token of a person. */
export interface Mix {
  port: number
  tokens: string[]
  requests: LoadedRequest[]
  check: LoadedRequest
}

const HOSTS = ['fastify-authority', 'oidc-provider'] as const
const MOMENTS = ['idle', 'after the requests', 'after the password checks', '10 s later']
/** The greatest ratios, by moment. */
const GOALS: Record<string, string> = { idle: '≤ 1.05', 'after the password checks': '≤ 0.90' }

export async function besideOidcProvider(quick: boolean): Promise<Table> {
  const amounts = quick ? QUICK : FULL
  const passwordHash = await argon2Hasher().hash(PASSWORD, PARAMETERS)
  const found = new Map<string, number[][]>(HOSTS.map((name) => [name, []]))
  for (let round = 0; round < amounts.rounds; round++) {
    for (const name of round % 2 === 0 ? HOSTS : HOSTS.toReversed())
      found.get(name)?.push(await lookAt(name, passwordHash, amounts))
  }
  const at = (name: string, moment: number): number[] =>
    (found.get(name) ?? []).map((values) => values[moment] ?? Number.NaN)
  const [ours, theirs] = HOSTS
  return {
    title:
      `compared with oidc-provider, after ${amounts.requests.toLocaleString('en')} requests in equal parts (discovery, ` +
      `client credentials, userinfo, introspection, refresh) and ${amounts.checks} password checks; both in memory, ` +
      'with the package argon2',
    columns: ['', ...MOMENTS],
    rows: [
      ...HOSTS.map((name) => [name, ...MOMENTS.map((_moment, index) => Math.round(median(at(name, index))))]),
      [
        'ratio',
        ...MOMENTS.map((_moment, index) =>
          median(at(ours, index).map((rss, round) => rss / (at(theirs, index)[round] ?? Number.NaN))).toFixed(2)
        )
      ],
      ['goal', ...MOMENTS.map((moment) => GOALS[moment] ?? '')]
    ]
  }
}

async function lookAt(name: string, passwordHash: string, { requests, checks, rest }: typeof FULL): Promise<number[]> {
  const server = await start('memory/mixed-server', [name, String(AT_ONCE), passwordHash])
  try {
    const rss = async (): Promise<number> => (await server.ask<Footprint>('measure')).rss
    const found = []
    await seconds(rest / 5)
    found.push(await rss())
    const mix = await server.ask<Mix>('prepare')
    await send(mix, mix.requests, requests)
    found.push(await rss())
    await send(mix, [mix.check], checks)
    found.push(await rss())
    await seconds(rest)
    found.push(await rss())
    return found
  } finally {
    server.end()
  }
}

async function send({ port, tokens }: Mix, requests: LoadedRequest[], count: number): Promise<void> {
  const texts = requests.map((request) => textOf(request, port))
  let sent = 0
  await Promise.all(
    tokens.map(async (_none, index) => {
      const ask: Send = await connection(port)
      while (sent < count) {
        const text = texts[sent++ % texts.length] as () => string
        const isRotation = text().includes('%TOKEN%')
        const { status, body } = await ask(isRotation ? textWith(text, tokens[index] ?? '') : text())
        if (status !== 200) throw new Error(`answered ${status}: ${body.slice(0, 300)} to ${text().slice(0, 80)}`)
        if (isRotation) tokens[index] = (JSON.parse(body) as { refresh_token: string }).refresh_token
      }
      ask.socket.destroy()
    })
  )
}

async function seconds(count: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, count * 1000)
  })
}
