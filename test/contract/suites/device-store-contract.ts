import { deepEqual, equal } from 'node:assert/strict'
import type { DeviceStore, NewDeviceRequest } from '../../../lib/ports/device-store.ts'
import { digest } from '../../../lib/protocol/digest.ts'
import { deviceIdOf } from '../../../lib/protocol/credential.ts'
import { caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { MINUTE, T0 } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const SECOND = 1000
const id = deviceIdOf('WDJBMJHT')
const request: NewDeviceRequest = {
  id,
  digest: digest('secret'),
  clientId: 'tv',
  scope: 'openid films',
  resources: ['https://films.example'],
  createdAt: T0,
  expiresAt: T0 + 10 * MINUTE,
  ip: '203.0.113.9',
  userAgent: null,
  jkt: 'the thumbprint of a key',
  intervalMs: 5 * SECOND
}
const poll = { id, digest: request.digest, clientId: 'tv', now: T0 }
const codeId = 'code'

/** Requests of devices. Part of `stateContract`; a state without them has nothing to keep. */
export function deviceCases(make: () => Promise<StateSubject>): ContractCase[] {
  const define = (name: string, check: (devices: DeviceStore, subject: StateSubject) => Promise<void>): ContractCase =>
    caseOf(make, `devices: ${name}`, async (subject) => {
      const { devices } = subject.state
      if (devices === undefined) return
      equal(await devices.create(request), true)
      await check(devices, subject)
    })
  const allow = async (devices: DeviceStore, now = T0): Promise<boolean> => {
    await devices.claim(id, 'session', now)
    return await devices.decide({ id, sid: 'session', now, codeId })
  }

  return [
    define('keeps a live request when a new one has the same id', async (devices) => {
      equal(await devices.create({ ...request, clientId: 'other' }), false)
      deepEqual(await devices.poll(poll), { outcome: 'pending' })
      equal(await devices.create({ ...request, createdAt: request.expiresAt }), true, 'the first one has expired')
    }),
    define('creates one of 50 parallel requests with the same id', async (devices) => {
      const created = await parallel(
        50,
        async (index) => await devices.create({ ...request, id: deviceIdOf('B'), ip: String(index) })
      )
      equal(created.filter(Boolean).length, 1)
    }),
    define('returns the request to the session that claims it, and to no other', async (devices) => {
      const { intervalMs: _interval, ...shown } = request
      deepEqual(await devices.claim(id, 'session', T0), shown)
      deepEqual(await devices.claim(id, 'session', T0), shown)
      equal(await devices.claim(id, 'other', T0), null)
      equal(await devices.decide({ id, sid: 'other', now: T0, codeId }), false)
      equal(await devices.claim(deviceIdOf('B'), 'session', T0), null)
    }),
    define('lets one of 50 parallel sessions claim a request', async (devices) => {
      const claimed = await parallel(50, async (index) => await devices.claim(id, `session-${index}`, T0))
      equal(claimed.filter((found) => found !== null).length, 1)
    }),
    define('decides only a claimed request, once', async (devices) => {
      equal(await devices.decide({ id, sid: 'session', now: T0, codeId }), false, 'nobody claimed it')
      await devices.claim(id, 'session', T0)
      const decided = await parallel(50, async () => await devices.decide({ id, sid: 'session', now: T0, codeId }))
      equal(decided.filter(Boolean).length, 1)
      equal(await devices.claim(id, 'session', T0), null)
    }),
    define('hands the code to one of 50 parallel polls', async (devices) => {
      await allow(devices)
      const polls = await parallel(50, async () => await devices.poll(poll))
      deepEqual(
        polls.filter(({ outcome }) => outcome === 'granted'),
        [{ outcome: 'granted', codeId }]
      )
      equal(polls.filter(({ outcome }) => outcome === 'unknown').length, 49)
    }),
    define('ignores polls with another secret or of another client', async (devices) => {
      await allow(devices)
      deepEqual(await devices.poll({ ...poll, digest: digest('other') }), { outcome: 'unknown' })
      deepEqual(await devices.poll({ ...poll, clientId: 'other' }), { outcome: 'unknown' })
      deepEqual(await devices.poll({ ...poll, id: deviceIdOf('B') }), { outcome: 'unknown' })
      deepEqual(await devices.poll(poll), { outcome: 'granted', codeId })
    }),
    define('lengthens the interval at each early poll', async (devices) => {
      const at = async (seconds: number): Promise<string> =>
        (await devices.poll({ ...poll, now: T0 + seconds * SECOND })).outcome
      equal(await at(0), 'pending')
      equal(await at(4.999), 'slow_down')
      equal(await at(14.998), 'slow_down', 'the interval is ten seconds, from the last poll')
      equal(await at(29.998), 'pending', 'and fifteen now')
    }),
    define('answers denied to polls after a refusal, and expired after the end', async (devices) => {
      await devices.claim(id, 'session', T0)
      await devices.decide({ id, sid: 'session', now: T0, codeId: null })
      deepEqual(await devices.poll(poll), { outcome: 'denied' })
      deepEqual(await devices.poll({ ...poll, now: request.expiresAt - 1 }), { outcome: 'denied' })
      deepEqual(await devices.poll({ ...poll, now: request.expiresAt }), { outcome: 'expired' })
    }),
    define('neither decides a request nor hands out its code after the end', async (devices) => {
      equal(await devices.claim(id, 'session', request.expiresAt), null)
      await devices.claim(id, 'session', T0)
      equal(await devices.decide({ id, sid: 'session', now: request.expiresAt, codeId }), false)
      equal(await devices.decide({ id, sid: 'session', now: request.expiresAt - 1, codeId }), true)
      deepEqual(await devices.poll({ ...poll, now: request.expiresAt }), { outcome: 'expired' })
    }),
    define('sweeps a request ten minutes after its end', async (devices, { state, expiresByItself }) => {
      const last = request.expiresAt + 10 * MINUTE
      await state.sweep(last - 1)
      deepEqual(await devices.poll({ ...poll, now: last - 1 }), { outcome: 'expired' })
      await state.sweep(last)
      if (expiresByItself !== true) deepEqual(await devices.poll({ ...poll, now: last }), { outcome: 'unknown' })
    })
  ]
}
