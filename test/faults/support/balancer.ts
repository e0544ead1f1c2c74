/** One port in front of several: connections go round, and past those that refuse them. */
import { connect, type Socket } from 'node:net'
import { HOST, type Listener, listener } from './connections.ts'

export interface Balancer extends Listener {
  /** New connections go to these; those that are open stay where they are. */
  direct(ports: readonly number[]): void
}

export async function startBalancer (): Promise<Balancer> {
  let targets: readonly number[] = []
  let turn = 0

  function forward (client: Socket, remaining: readonly number[]): void {
    const [port, ...others] = remaining
    // As a balancer without a living target does.
    if (port === undefined || client.destroyed) {
      client.resetAndDestroy()
      return
    }
    const upstream = connect({ host: HOST, port, allowHalfOpen: true, noDelay: true })
    const tryNext = (): void => { forward(client, others) }
    upstream.once('error', tryNext)
    upstream.once('connect', () => {
      upstream.off('error', tryNext)
      upstream.on('error', () => { client.resetAndDestroy() })
      client.on('error', () => { upstream.resetAndDestroy() })
      client.on('close', () => { upstream.destroy() })
      upstream.on('close', () => { client.destroy() })
      client.pipe(upstream).pipe(client)
    })
  }

  const server = await listener((client) => {
    const first = turn++ % Math.max(1, targets.length)
    forward(client, [...targets.slice(first), ...targets.slice(0, first)])
  })
  return Object.assign(server, { direct (ports: readonly number[]) { targets = [...ports] } })
}
