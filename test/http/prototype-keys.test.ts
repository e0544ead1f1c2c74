/** JSON keys that could change a prototype: no body with `__proto__` reaches a store, at any depth or spelling. */
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { bearer, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

const FORBIDDEN = [
  '"__proto__":{"x":1}',
  '"\\u005f_proto__":{"x":1}',
  '"map":{"__proto__":{"x":1}}',
  '"map":{"a":{"__proto__":{"x":1}}}',
  '"map":{"constructor":{"prototype":{"x":1}}}'
]
const HARMLESS = '"map":{"constructor":"a","prototype":"b","toString":"c"}'

t.test('rejects __proto__ by name, and keeps constructor and prototype as own properties', async (t) => {
  const users = memoryUserStore()
  const fields = Type.Object({ map: Type.Optional(Type.Record(Type.String(), Type.Unknown())) })
  const { app, close } = await testApp({ users, registration: { fields } })
  t.teardown(close)
  const { sub } = await signUp(app)
  const { access_token: token } = await signIn(app)
  const headers = { ...bearer(token), 'content-type': 'application/json' }
  const credentials = `"username":"bob","password":"${PASSWORD}"`
  const send = async (keys: string) => [
    await app.inject({ method: 'PATCH', url: '/auth/profile', headers, payload: `{${keys}}` }),
    await app.inject({ method: 'POST', url: '/auth/register', headers, payload: `{${credentials},${keys}}` })
  ]
  for (const keys of FORBIDDEN)
    for (const reply of await send(keys))
      t.match(
        { status: reply.statusCode, ...reply.json<object>() },
        { status: 400, error: 'invalid_request', error_description: /key that is not allowed: __proto__/ },
        keys
      )
  t.equal(await users.findByUsername('bob'), null)
  t.same(
    (await send(HARMLESS)).map(({ statusCode }) => statusCode),
    [200, 201]
  )
  for (const user of [await users.findById(sub), await users.findByUsername('bob')])
    t.strictSame(Object.entries((user?.['map'] ?? {}) as object), [
      ['constructor', 'a'],
      ['prototype', 'b'],
      ['toString', 'c']
    ])
  t.notOk('x' in {}, 'no object has got anything')
})

t.test('stops the start for a profile field with a name that every object has', async (t) => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty'])
    await t.rejects(testApp({ registration: { fields: Type.Object({ [name]: Type.Optional(Type.String()) }) } }), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: `Invalid option "registration.fields.${name}": every object`
    })
})
