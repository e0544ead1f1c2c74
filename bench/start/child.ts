/** A process that starts one host and says what that took, from the beginning of the process. */
import { HOSTS } from './hosts.ts'

await HOSTS[process.argv[2] ?? '']?.({ routes: Number(process.argv[3]) })
const { user, system } = process.cpuUsage()
const started = { ms: performance.now(), cpuMs: (user + system) / 1000, rssMb: process.memoryUsage.rss() / 1e6 }
process.send?.(started, () => {
  process.exit()
})
