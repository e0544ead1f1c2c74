/** Replaces a balancer: the clients' connections rotate over the instances. */
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { HOST } from './connections.ts'

export interface Balancer {
  /** Sends requests to an instance regardless of their port. Keeps connections open, and rotates. */
  readonly agent: Agent
  /** The ports for new connections. Open connections stay. */
  direct(ports: readonly number[]): void
}

export function createBalancer(maxSockets: number): Balancer {
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo', maxSockets, maxFreeSockets: maxSockets })
  let targets: readonly number[] = []
  let turn = 0
  return {
    agent: Object.assign(agent, {
      // Synchronous, because otherwise the agent would not count the socket towards its maximum.
      createConnection(): Socket {
        // Without an instance, a port on which nothing listens.
        return connect({ host: HOST, port: targets[turn++ % Math.max(1, targets.length)] ?? 0, noDelay: true })
      }
    }),
    direct(ports) {
      targets = [...ports]
    }
  }
}
