import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A free port of loopback, for a server that must know it before it starts, or reuse it after a restart. It is below
 * the ports that the system assigns, so another program gets it only with a chance of one in some thousands.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 12_000)
    // A node of a Redis Cluster also listens 10,000 higher.
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  // On all addresses: `localhost` may be ::1.
  const probe = createServer()
  try {
    await once(probe.listen(port), 'listening')
    probe.close()
    await once(probe, 'close')
    return true
  } catch {
    return false
  }
}
