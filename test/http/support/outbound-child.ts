/** A child process that makes outbound calls like the library for its parent, and reports the results. */
import { outbound } from '../../../lib/adapters/node/outbound.ts'
import { systemClock } from '../../../lib/adapters/node/system.ts'
import { OutboundError } from '../../../lib/ports/outbound.ts'
import { THIS_MACHINE } from '../../../lib/protocol/distance.ts'

export interface Order {
  id: number
  url: string
  reads: 'whole' | 'status'
  timeoutMs: number
}

export interface Outcome {
  id: number
  status?: number
  text?: string
  code?: string
}

const call = outbound(systemClock)

process.on('message', (order: Order) => {
  obey(order).then(
    (outcome) => process.send?.(outcome),
    (error: unknown) => process.send?.({ id: order.id, code: String(error) })
  )
})

async function obey({ id, url, reads, timeoutMs }: Order): Promise<Outcome> {
  const abort = new AbortController()
  try {
    const { status, text } = await call({
      url,
      method: 'POST',
      body: 'a=b',
      noNearerThan: THIS_MACHINE,
      reads,
      maxBytes: 4096,
      timeoutMs,
      signal: abort.signal
    })
    return { id, status, text }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { id, code: error.code }
  } finally {
    // The end of a callback aborts all of its calls, also those with a response.
    setTimeout(() => {
      abort.abort()
    }, 20)
  }
}

process.send?.('ready')
