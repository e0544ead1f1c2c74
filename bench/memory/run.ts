/** The memory of a process before, during and after sign-ins, with either hasher and with the settings of a host. */
import { argon2Hasher } from '../../lib/index.ts'
import { start } from '../child.ts'
import type { Footprint } from '../footprint.ts'
import { connection } from '../flood/wire.ts'
import { type Bench, median } from '../report.ts'
import { besideOidcProvider } from './mixed.ts'
import { AS_THEY_COME, PARAMETERS, PASSWORD, type Setting, SETTINGS, type Start } from './scene.ts'

const ROUNDS = 3
const AT_ONCE = 8
/** How many sign-ins, and the seconds that a server is left alone: before them, and when it is looked at after them. */
const FULL = { signIns: 300, before: 2, after: [10, 45] }
const QUICK = { signIns: 4, before: 0, after: [0, 0] }

interface Found {
  idle: number
  peak: number
  after: number[]
  cpuMs: number
}

export const memory: Bench = async ({ quick }) => {
  const rounds = quick ? 1 : ROUNDS
  const lengths = quick ? QUICK : FULL
  const settings = quick ? AS_THEY_COME : SETTINGS
  const passwordHash = await argon2Hasher().hash(PASSWORD, PARAMETERS)
  const found = new Map<Setting, Found[]>(settings.map((setting) => [setting, []]))
  const resting: Array<Promise<void>> = []
  for (let round = 0; round < rounds; round++) {
    for (const setting of round % 2 === 0 ? settings : settings.toReversed()) {
      const turn = signInTo({ setting, passwordHash }, lengths)
      resting.push(
        turn.then(async ({ seen }) => {
          found.get(setting)?.push(await seen)
        })
      )
      // The next has its sign-ins while this one is left alone.
      if (!quick) await turn
    }
  }
  await Promise.all(resting)
  return {
    title:
      'resident memory in MiB, before, during and after sign-ins, argon2id ' +
      `m=${PARAMETERS.memoryCost} t=${PARAMETERS.timeCost} p=${PARAMETERS.parallelism}`,
    method:
      `${rounds} round${rounds === 1 ? '' : 's'}, a new process each time: ${lengths.before} s ` +
      `after its start, the highest value during ${lengths.signIns} sign-ins by ${AT_ONCE} at once ` +
      `(the bare one answers as many requests), and ${lengths.after.join(' and ')} s after them. ` +
      `RSS in MiB, medians; CPU of the server's process, all threads.`,
    tables: [
      {
        columns: ['', 'idle', 'peak', ...lengths.after.map((seconds) => `${seconds} s after`), 'CPU ms per sign-in'],
        rows: [...found].map(([{ name, engine }, all]) => {
          const of = (figure: (one: Found) => number): number => median(all.map(figure))
          const after = lengths.after.map((_seconds, index) => of((one) => one.after[index] ?? Number.NaN))
          return [
            name,
            ...[of(({ idle }) => idle), of(({ peak }) => peak), ...after].map(Math.round),
            engine === 'none' ? '' : of(({ cpuMs }) => cpuMs).toFixed(1)
          ]
        })
      },
      await besideOidcProvider(quick)
    ]
  }
}

/** Resolves when the sign-ins are over; `seen` when the server has been looked at for the last time and is gone. */
async function signInTo(started: Start, { signIns, before, after }: typeof FULL): Promise<{ seen: Promise<Found> }> {
  const server = await start('memory/server', [JSON.stringify(started)], started.setting.env)
  const measure = async (): Promise<Footprint> => await server.ask<Footprint>('measure')
  try {
    await seconds(before)
    const idle = await measure()
    await load(server.begun as number, signIns)
    const busy = await measure()
    const watch = async (): Promise<Found> => {
      const rest: number[] = []
      try {
        for (const [index, at] of after.entries()) {
          await seconds(at - (after[index - 1] ?? 0))
          rest.push((await measure()).rss)
        }
      } finally {
        server.end()
      }
      return { idle: idle.rss, peak: busy.rssPeak, after: rest, cpuMs: busy.cpuMs / signIns }
    }
    return { seen: watch() }
  } catch (error) {
    server.end()
    throw error
  }
}

async function load(port: number, count: number): Promise<void> {
  const body = JSON.stringify({ grant_type: 'password', username: 'ann', password: PASSWORD })
  const text =
    `POST /auth/token HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: ` +
    `application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  let sent = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const { send, close } = connection(port)
      try {
        while (sent++ < count) {
          const status = await send(text)
          if (status !== 200) throw new Error(`a sign-in was answered ${status}`)
        }
      } finally {
        close()
      }
    })
  )
}

async function seconds(count: number): Promise<void> {
  if (count > 0)
    await new Promise((resolve) => {
      setTimeout(resolve, count * 1000)
    })
}
