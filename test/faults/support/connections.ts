/** The listening side of a proxy: it can be cut, stopped and started again on its port. */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'

export const HOST = '127.0.0.1'

export interface Listener {
  readonly port: number
  /** Connections that are open. */
  readonly open: number
  /** Resets every connection. */
  cut(): void
  /** Resets every connection and refuses new ones. */
  stop(): Promise<void>
  /** Listens again, on the same port. */
  start(): Promise<void>
}

/** `accept` may get a paused socket, so that no data is lost. */
export async function listener(accept: (socket: Socket) => void): Promise<Listener> {
  const sockets = new Set<Socket>()
  let server: Server | null = null
  let port = 0

  async function start(): Promise<void> {
    if (server !== null) return
    server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
      sockets.add(socket)
      // Errors are expected, because a killed peer resets its connections.
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
      })
      accept(socket)
    })
    server.listen(port, HOST)
    await once(server, 'listening')
    const address = server.address()
    if (typeof address === 'object' && address !== null) port = address.port
  }

  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }

  await start()
  return {
    get port() {
      return port
    },
    get open() {
      return sockets.size
    },
    cut,
    start,
    async stop() {
      const stopped = server
      if (stopped === null) return
      server = null
      const closed = once(stopped, 'close')
      stopped.close()
      cut()
      await closed
    }
  }
}
