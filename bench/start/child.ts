/** A process that starts one host and says what that took, from the beginning of the process. */
import type { Session } from 'node:inspector'
import { HOSTS } from './hosts.ts'

export interface Started {
  ms: number
  cpuMs: number
  rssMb: number
  /** Bytes of compiled JavaScript, without Node's own: all of it, and the files of fastify-authority. */
  bytes: { all: number; own: number }
}

const [name = '', routes, counts] = process.argv.slice(2)
const bytes = { all: 0, own: 0 }
if (counts === 'bytes') await countBytes()
await HOSTS[name]?.({ routes: Number(routes) })
const { user, system } = process.cpuUsage()
const started: Started = {
  ms: performance.now(),
  cpuMs: (user + system) / 1000,
  rssMb: process.memoryUsage.rss() / 1e6,
  bytes
}
process.send?.(started, () => {
  process.exit()
})

/** Counts from here on. It takes time and memory itself, so a process that is measured does not call it. */
async function countBytes(): Promise<void> {
  const inspector = await import('node:inspector')
  const session: Session = new inspector.Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params: { url, length = 0 } }) => {
    if (url.startsWith('node:') || url.includes('/bench/start/')) return
    bytes.all += length
    if (/^file:.*\/dist\/lib\//.test(url)) bytes.own += length
  })
  session.post('Debugger.enable')
}
