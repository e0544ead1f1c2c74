/** The clients' replacement for a balancer: their connections go round the instances. */
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { HOST } from './connections.ts'

export interface Balancer {
  /** Sends requests to an instance, whatever port they name. It keeps connections, and they take turns. */
  readonly agent: Agent
  /** New connections go to these; those that are open stay where they are. */
  direct(ports: readonly number[]): void
}

export function createBalancer(maxSockets: number): Balancer {
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo', maxSockets, maxFreeSockets: maxSockets })
  let targets: readonly number[] = []
  let turn = 0
  return {
    agent: Object.assign(agent, {
      // At once, or the agent would not count it among those of which it may have so many.
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
