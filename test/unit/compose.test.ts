/** A feature for these tests, with one option and one slot of the account. Counts its loads. */
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { compose } from '../../lib/composition/compose.ts'
import type { Feature, Kernel } from '../../lib/feature.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { EMAIL_ACR } from '../../lib/protocol/authentication.ts'
import { missingStepOf } from '../../lib/authorize/deps.ts'
import { badOption } from '../../lib/settings/option-error.ts'

interface Planted extends Feature<{ size: number }> {
  loads: number
}

function planted(load: () => Promise<void> = async () => {}): Planted {
  const feature: Planted = {
    loads: 0,
    name: 'planted',
    options: {
      planted: Type.Optional(
        Type.Object(
          { size: Type.Optional(Type.Integer({ minimum: 1, takes: 'a whole number from 1' })) },
          { additionalProperties: false, takes: '{ size }' }
        )
      )
    },
    acr: [EMAIL_ACR],
    resolve(options) {
      const { planted: given, prefix } = options as typeof options & { planted?: { size?: number } }
      if (given === undefined) return null
      if (prefix === '/taken') throw badOption('planted', 'got an object; it takes nothing with this prefix')
      return { size: given.size ?? 7 }
    },
    async load() {
      feature.loads++
      await load()
      return {
        create: ({ size }) => ({ account: { ways: async (user) => (user.id.length === size ? ['mail'] : []) } })
      }
    }
  }
  return feature
}

const base = { issuer: 'https://auth.example', users: memoryUserStore() }
const kernel = {} as Kernel
const user = { id: '1234567', username: 'ann@example.com', passwordHash: null }

t.test('refuses the option of a feature that is not included', async (t) => {
  t.throws(() => compose([]).settingsOf({ ...base, planted: {} }), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /^Invalid option "planted": there is no such option/
  })
})

t.test('checks the options of a feature by the schema of that feature', async (t) => {
  const { settingsOf } = compose([planted()])
  t.throws(() => settingsOf({ ...base, planted: { size: 0 } }), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: 'Invalid option "planted.size": got 0; it takes a whole number from 1.'
  })
  t.throws(() => settingsOf({ ...base, prefix: '/taken', planted: {} }), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /^Invalid option "planted": got an object; it takes nothing with this prefix/
  })
  t.strictSame(settingsOf({ ...base, planted: { size: undefined } }).features, { planted: { size: 7 } })
  t.ok(settingsOf({ ...base, planted: {} }).acrValues.includes(EMAIL_ACR))
})

t.test('does not load a feature that is off', async (t) => {
  const feature = planted()
  const { settingsOf, start } = compose([feature])
  const settings = settingsOf(base)
  t.strictSame(settings.features, {})
  t.notOk(settings.acrValues.includes(EMAIL_ACR))
  t.strictSame(await start(settings, kernel), [])
  t.equal(feature.loads, 0)
})

t.test('creates an enabled feature with its settings', async (t) => {
  const { settingsOf, start } = compose([planted()])
  const [parts] = await start(settingsOf({ ...base, planted: {} }), kernel)
  t.strictSame(await parts?.account?.ways?.(user), ['mail'])
  const [other] = await start(settingsOf({ ...base, planted: { size: 3 } }), kernel)
  t.strictSame(await other?.account?.ways?.(user), [])
})

t.test('loads a feature again after a failed load', async (t) => {
  let failures = 1
  const feature = planted(async () => {
    if (failures-- > 0) throw new Error('too many open files')
  })
  const { settingsOf, start } = compose([feature])
  const settings = settingsOf({ ...base, planted: {} })
  await t.rejects(start(settings, kernel), { message: 'too many open files' })
  t.equal((await start(settings, kernel)).length, 1)
  t.equal(feature.loads, 2)
})

t.test('creates a feature after the features that it needs, and rejects an unknown or circular need', async (t) => {
  const made: string[] = []
  const feature = (name: string, ...needs: string[]): Feature => ({
    name,
    needs,
    options: {},
    resolve: () => ({}),
    load: async () => ({
      create() {
        made.push(name)
        return {}
      }
    })
  })
  const { settingsOf, start } = compose([feature('a', 'c'), feature('b'), feature('c', 'd'), feature('d')])
  await start(settingsOf(base), kernel)
  t.strictSame(made, ['d', 'c', 'a', 'b'])
  t.throws(() => compose([feature('a', 'x')]), { message: 'The feature a needs x, which does not exist.' })
  t.throws(() => compose([feature('a', 'b'), feature('b', 'a')]), { message: 'The feature a needs itself.' })
})

t.test('returns the first missing step that a feature reports', async (t) => {
  const says = (step: 'enrolment' | 'sign_in' | null) => ({ missing: async () => step })
  const stepOf = async (...slots: Parameters<typeof missingStepOf>[2]) =>
    await missingStepOf({} as never, {} as never, slots)
  t.equal(await stepOf(), null)
  t.equal(await stepOf({}, says(null)), null)
  t.equal(await stepOf(says(null), says('enrolment'), says('sign_in')), 'enrolment')
})
