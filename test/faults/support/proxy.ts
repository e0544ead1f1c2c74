/** A TCP proxy that imitates a network between two processes: it passes, delays, swallows, refuses and cuts. */
import { connect, type Socket } from 'node:net'
import { HOST, type Listener, listener } from './connections.ts'

export interface Proxy extends Listener {
  /** Delays data towards the target, and data back from it, by these milliseconds. Keeps the order. */
  delay(towardsMs: number, backMs?: number): void
  /**
   * Accepts connections and bytes, but passes nothing on: in both directions, or `back` only, so that the work is done
   * and no answer arrives. Swallowed bytes are lost for good.
   */
  drop(dropping: boolean | 'back'): void
}

export async function startProxy(target: { host?: string; port: number }): Promise<Proxy> {
  let dropping: boolean | 'back' = false
  const delays = { towards: 0, back: 0 }

  function pipe(from: Socket, to: Socket, direction: keyof typeof delays): void {
    // Each chunk waits for the one before, so that a delay that gets shorter overtakes nothing.
    let last: Promise<void> = Promise.resolve()
    const later = (act: () => void): void => {
      const waited =
        delays[direction] === 0
          ? null
          : new Promise<void>((resolve) => {
              setTimeout(resolve, delays[direction])
            })
      last = last.then(async () => {
        await waited
        if (dropping === false || (dropping === 'back' && direction === 'towards')) act()
      })
    }
    from.on('data', (chunk: Buffer) => {
      later(() => {
        to.write(chunk)
      })
    })
    from.on('end', () => {
      later(() => {
        to.end()
      })
    })
    from.on('close', () => {
      if (from.errored !== null || from.destroyed)
        later(() => {
          to.destroy()
        })
    })
  }

  const server = await listener((client) => {
    const upstream = connect({ host: target.host ?? HOST, port: target.port, allowHalfOpen: true, noDelay: true })
    upstream.on('error', () => {
      client.resetAndDestroy()
    })
    client.on('close', () => {
      upstream.destroy()
    })
    pipe(client, upstream, 'towards')
    pipe(upstream, client, 'back')
    client.resume()
  })
  return Object.assign(server, {
    delay(towardsMs: number, backMs = towardsMs) {
      Object.assign(delays, { towards: towardsMs, back: backMs })
    },
    drop(value: boolean | 'back') {
      dropping = value
    }
  })
}
