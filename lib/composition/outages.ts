import type { FastifyBaseLogger } from 'fastify'
import { type Events, NO_REQUEST } from '../events.ts'
import { logLine } from '../ports/log.ts'
import { refusesWrites } from '../ports/outage.ts'

/** Reports a store's outages: each once, by the event `store_degraded` and a log line, and its end by another line. */
export function outageReports(
  store: 'state' | 'rate limits',
  name: string,
  { events, log }: { events: Events; log: FastifyBaseLogger }
): { onDegraded: (error: unknown) => void; onRecovered: () => void } {
  return {
    onDegraded: (error) => {
      events.emit('store_degraded', { store, error: messageOf(error) }, NO_REQUEST)
      log.error(
        ...logLine(
          'FST_AUTHORITY_STORE_DOWN',
          `${name} ${refusesWrites(error) ? 'writes nothing' : 'does not answer'}`,
          {
            reason: messageOf(error),
            store: name
          }
        )
      )
    },
    onRecovered: () => {
      log.info(...logLine('FST_AUTHORITY_STORE_BACK', `${name} answers again`, { store: name }))
    }
  }
}

/** Only the message, because a client library's error object can contain the failed command. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}
