/**
 * Measures if the time of a failed sign-in, a sign-up, a reset or a change of address reveals that a user has an
 * account.
 * `npm run check:timing`, on a quiet machine; `-- --pairs 2000 --seed 7` for a longer run or another order.
 *
 * A server process has production argon2 parameters. One keep-alive connection on loopback sends one request at a time.
 * Each pair is one request of either kind, in random order, each with a fresh random password of one length. 50 users
 * take turns, and the first 20 pairs are thrown away. Every answer must also have the same status and body.
 *
 * A run finds a leak if the Wilcoxon signed-rank |z| of the differences is above 5 (p < 1e-6), the Mann-Whitney AUC is
 * more than 0.10 from 0.5, or the 98 % bootstrap interval of the median difference is not within 1 ms. A comparison
 * fails if two of three independent runs find one; a third run is made only if the first two disagree.
 *
 * The job proves itself: known against known must not be told apart, and planted leaks (no hash for an unknown name at
 * 50 pairs, 1 ms more at 300) must be found. Else it is void. Exit code: 0 no leak, 1 a leak, 2 void.
 */
import { fork } from 'node:child_process'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { nameOf, PASSWORD, type Ports, serve, USERS, type Variant } from './timing/server.ts'
import { areaUnderCurve, median, medianInterval, seededRandom, signedRankZ } from './timing/statistics.ts'

type Kind = 'known' | 'unknown' | 'disabled'
type Action = keyof typeof ACTIONS
interface Comparison {
  name: string
  action?: Action
  variant: Variant
  kinds: [Kind, Kind]
  pairs: number
  expect: 'alike' | 'leak'
}
interface Run {
  delta: number
  interval: [number, number]
  z: number
  auc: number
  leak: boolean
}

/** The request of each action, and its status. */
const ACTIONS = {
  'sign-in': {
    path: '/auth/token',
    body: (username: string, password: string) => ({ grant_type: 'password', username, password }),
    status: 400
  },
  'sign-up': {
    path: '/auth/register',
    body: (username: string, password: string) => ({ username, password }),
    status: 202
  },
  reset: { path: '/auth/password-reset', body: (username: string) => ({ username }), status: 202 },
  change: { path: '/auth/email', body: (email: string) => ({ email }), status: 202 }
}
const WARM_UP_PAIRS = 20
const MAX_Z = 5
const MAX_AUC_OFFSET = 0.1
const MAX_DELTA_MS = 1

/** The next name that nobody has. Each is used once, because a sign-up takes it. */
let unknown = USERS

if (process.send === undefined) process.exitCode = await main()
else process.send(await serve())

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { pairs: { type: 'string', default: '300' }, seed: { type: 'string', default: '1' } }
  })
  const pairs = Number(values.pairs)
  if (!Number.isInteger(pairs) || pairs < 50) throw new RangeError('--pairs takes a whole number from 50 on')
  const random = seededRandom(Number(values.seed))
  const comparisons: Comparison[] = [
    { name: 'null control: known / known', variant: 'honest', kinds: ['known', 'known'], pairs, expect: 'alike' },
    {
      name: 'planted: unknown without a hash',
      variant: 'no-hash',
      kinds: ['known', 'unknown'],
      pairs: 50,
      expect: 'leak'
    },
    { name: 'planted: unknown 1 ms later', variant: 'late', kinds: ['known', 'unknown'], pairs: 300, expect: 'leak' },
    { name: 'known / unknown', variant: 'honest', kinds: ['known', 'unknown'], pairs, expect: 'alike' },
    { name: 'known / disabled', variant: 'honest', kinds: ['known', 'disabled'], pairs, expect: 'alike' },
    ...(['sign-up', 'reset', 'change'] as const).flatMap((action) =>
      (['unknown', 'disabled'] as const).map((kind): Comparison => ({
        name: `${action}: known / ${kind}`,
        action,
        variant: 'accounts',
        kinds: ['known', kind],
        pairs,
        expect: 'alike'
      }))
    )
  ]
  const server = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  try {
    const ports = await new Promise<Ports>((resolve, reject) => {
      server
        .once('message', (message) => {
          resolve(message as Ports)
        })
        .once('exit', (code) => {
          reject(new Error(`the server stopped with code ${code}`))
        })
    })
    console.log(
      `${process.version}, seed ${values.seed}; z of 5 or less, AUC within 0.40..0.60 and the ` +
        `median difference within 1 ms are alike\n`
    )
    console.log(
      ['comparison'.padEnd(34), 'pairs', 'median ms', '     98 % interval', '      z', '  AUC', ' finding'].join('  ')
    )
    let passed = 0
    let failed = 0
    let isVoid = false
    for (const [index, comparison] of comparisons.entries()) {
      const isLeak = await decide(comparison, ports, random)
      const good = isLeak === (comparison.expect === 'leak')
      if (good) passed += 1
      else failed += 1
      if (!good && index < 3) isVoid = true
    }
    if (isVoid) console.log('\nVOID: a control did not come out as it must, so the comparisons prove nothing.')
    console.log(`\n${passed} passed, ${failed} failed`)
    return isVoid ? 2 : failed > 0 ? 1 : 0
  } finally {
    server.kill()
  }
}

/** The verdict of two in three runs. */
async function decide(comparison: Comparison, ports: Ports, random: () => number): Promise<boolean> {
  const findings: boolean[] = []
  for (;;) {
    const run = await measure(comparison, ports[comparison.variant], random)
    report(comparison, run)
    findings.push(run.leak)
    for (const verdict of [true, false])
      if (findings.filter((finding) => finding === verdict).length === 2) return verdict
  }
}

async function measure(
  { action = 'sign-in', kinds, pairs }: Comparison,
  port: number,
  random: () => number
): Promise<Run> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const asker = nameOf('known', 0)
  const { text } = await send(port, agent, '/auth/token', ACTIONS['sign-in'].body(asker, PASSWORD))
  const { access_token: token } = JSON.parse(text) as { access_token?: string }
  const answers = new Set<string>()
  const times: [number[], number[]] = [[], []]
  try {
    for (let pair = -WARM_UP_PAIRS; pair < pairs; pair++) {
      const first = random() < 0.5 ? 0 : 1
      for (const side of first === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        // The asker's own address is not among them.
        const index = kinds[side] === 'unknown' ? unknown++ : 1 + Math.floor(random() * (USERS - 1))
        const password = Array.from({ length: 16 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('')
        const { path, body, status } = ACTIONS[action]
        const reply = await send(port, agent, path, body(nameOf(kinds[side], index), password), token)
        if (reply.status !== status || answers.add(reply.text).size > 1)
          throw new Error(`an answer differs: ${reply.status} ${reply.text}`)
        if (pair >= 0) times[side].push(reply.elapsed)
      }
    }
  } finally {
    agent.destroy()
  }
  const [left, right] = times
  const differences = right.map((time, index) => time - (left[index] ?? 0))
  const [z, auc, interval] = [
    signedRankZ(differences),
    areaUnderCurve(left, right),
    medianInterval(differences, random)
  ]
  const leak =
    Math.abs(z) > MAX_Z ||
    Math.abs(auc - 0.5) > MAX_AUC_OFFSET ||
    interval[0] < -MAX_DELTA_MS ||
    interval[1] > MAX_DELTA_MS
  return { delta: median(differences), interval, z, auc, leak }
}

/** The answer, with the milliseconds from the request's first byte to its last. */
async function send(
  port: number,
  agent: Agent,
  path: string,
  fields: object,
  token?: string
): Promise<{ status: number | undefined; text: string; elapsed: number }> {
  const body = JSON.stringify(fields)
  const start = performance.now()
  return await new Promise((resolve, reject) => {
    const call = request(
      {
        port,
        host: '127.0.0.1',
        agent,
        method: 'POST',
        path,
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
        }
      },
      (response) => {
        let text = ''
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => {
            text += chunk
          })
          .on('end', () => {
            resolve({ status: response.statusCode, text, elapsed: performance.now() - start })
          })
          .on('error', reject)
      }
    )
    call.on('error', reject)
    call.end(body)
  })
}

function report({ name, pairs, expect }: Comparison, { delta, interval, z, auc, leak }: Run): void {
  const finding = `${leak ? 'leak' : 'alike'}${leak === (expect === 'leak') ? '' : ' (!)'}`
  console.log(
    [
      name.padEnd(34),
      String(pairs).padStart(5),
      delta.toFixed(3).padStart(9),
      `[${interval.map((end) => end.toFixed(3)).join(', ')}]`.padStart(18),
      z.toFixed(2).padStart(7),
      auc.toFixed(3).padStart(5),
      ` ${finding}`
    ].join('  ')
  )
}
