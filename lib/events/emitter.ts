import { EventEmitter } from 'node:events'
import { channel } from 'node:diagnostics_channel'
import { type AuthorityEventName, EVENT_NAMES, type Events } from '../events.ts'

/**
 * The emitter behind `app.authority.on`. Each event also goes out on the diagnostics channel
 * `fastify-authority.<event>`. A handler that throws or rejects is reported to `onHandlerError` and breaks neither the
 * request nor the other handlers. `now`: milliseconds since the epoch.
 */
export function createEvents(
  now: () => number,
  onHandlerError: (error: unknown, event: AuthorityEventName) => void
): Events {
  const emitter = new EventEmitter()
  // Allows any number of handlers. By default, Node.js warns of a leak at the eleventh.
  emitter.setMaxListeners(0)
  const channels = new Map(EVENT_NAMES.map((name) => [name, channel(`fastify-authority.${name}`)]))
  return {
    emit(name, facts, origin) {
      const onChannel = channels.get(name)
      if (onChannel?.hasSubscribers !== true && emitter.listenerCount(name) === 0) return
      const frozen = Object.freeze({ time: new Date(now()).toISOString(), ...origin, ...facts })
      onChannel?.publish(frozen)
      for (const handler of emitter.listeners(name)) {
        try {
          const result: unknown = handler(frozen)
          if (result instanceof Promise)
            result.catch((error: unknown) => {
              onHandlerError(error, name)
            })
        } catch (error) {
          onHandlerError(error, name)
        }
      }
    },
    on(name, handler) {
      if (!channels.has(name))
        throw new TypeError(`There is no event "${name}". There are: ${[...channels.keys()].join(', ')}.`)
      emitter.on(name, handler)
    },
    off(name, handler) {
      emitter.off(name, handler)
    }
  }
}
