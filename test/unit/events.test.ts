import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from '../support/tap.ts'
import { NO_REQUEST, type Origin } from '../../lib/events.ts'
import { createEvents } from '../../lib/events/emitter.ts'

const T0 = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
const ORIGIN: Origin = { requestId: 'req-7', ip: '192.0.2.1', userAgent: 'test' }

t.test('adds the time of the emitter and the origin of the request to each event', async (t) => {
  const events = createEvents(
    () => T0,
    (error) => {
      throw error
    }
  )
  const heard: unknown[] = []
  events.on('email_verified', (payload) => {
    heard.push(payload)
  })
  events.emit('email_verified', { userId: 'u1' }, ORIGIN)
  events.emit('email_verified', { userId: 'u2' }, NO_REQUEST)
  t.strictSame(heard, [
    { time: '2026-01-02T03:04:05.006Z', requestId: 'req-7', ip: '192.0.2.1', userAgent: 'test', userId: 'u1' },
    { time: '2026-01-02T03:04:05.006Z', requestId: null, userId: 'u2' }
  ])
})

t.test('rejects an event without an origin or request id, or with a time, at compile time', async (t) => {
  const events = createEvents(
    () => T0,
    (error) => {
      throw error
    }
  )
  // @ts-expect-error no origin
  events.emit('email_verified', { userId: 'u1' })
  // @ts-expect-error an origin without the request's id
  events.emit('email_verified', { userId: 'u1' }, { ip: '192.0.2.1' })
  // @ts-expect-error the time is the emitter's
  events.emit('email_verified', { userId: 'u1', time: '' }, ORIGIN)
  t.ok(Object.isFrozen(NO_REQUEST))
})

t.test('rejects an unknown event name and a handler that is not a function', async (t) => {
  const events = createEvents(
    () => T0,
    (error) => {
      throw error
    }
  )
  for (const name of ['email_verifed', '', 'toString', '__proto__', undefined, null, 7])
    t.throws(
      () => {
        events.on(name as 'email_verified', () => {})
      },
      { name: 'TypeError', message: /There is no event/ }
    )
  for (const handler of [undefined, null, 'handler', {}])
    t.throws(() => {
      events.on('email_verified', handler as unknown as () => void)
    }, TypeError)
  events.off('email_verifed' as 'email_verified', () => {})
})

t.test('reads no clock and builds no payload for an event without listeners', async (t) => {
  let looks = 0
  let reads = 0
  const events = createEvents(
    () => {
      looks++
      return T0
    },
    (error) => {
      throw error
    }
  )
  const facts = {
    get userId() {
      reads++
      return 'u1'
    }
  }
  const off = (): void => {}
  events.on('registered', off)
  events.on('email_verified', off)
  events.off('email_verified', off)
  events.emit('email_verified', facts, ORIGIN)
  t.strictSame({ looks, reads }, { looks: 0, reads: 0 })
  const heard: unknown[] = []
  const listen = (message: unknown): void => {
    heard.push(message)
  }
  subscribe('fastify-authority.email_verified', listen)
  t.teardown(() => {
    unsubscribe('fastify-authority.email_verified', listen)
  })
  events.emit('email_verified', facts, ORIGIN)
  t.strictSame({ looks, reads, heard: heard.length }, { looks: 1, reads: 1, heard: 1 })
})
