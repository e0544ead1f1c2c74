import { Type } from '@sinclair/typebox'
import { memoryUserStore } from '../../lib/index.ts'
import t from '../support/tap.ts'
import { testApp } from '../support/app.ts'

/** As TypeBox 1 and Zod make it, apart from members that JSON does not show. */
const FIELDS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    nickname: { type: 'string', title: 'What friends say', minLength: 2 },
    age: { type: 'integer', minimum: 18 },
    plan: { type: 'string', enum: ['free', 'paid'] }
  },
  required: ['nickname'],
  additionalProperties: false
}

t.test('uses profile fields in plain JSON Schema at the endpoint, the page and the profile', async (t) => {
  const users = memoryUserStore()
  const { app, close } = await testApp({ users, registration: { fields: FIELDS } })
  t.teardown(close)
  const register = async (fields: object): Promise<[number, unknown]> => {
    const payload = { username: 'ann@example.com', password: 'seven green boats at dawn', ...fields }
    const reply = await app.inject({ method: 'POST', url: '/auth/register', payload })
    return [reply.statusCode, reply.json<{ error_description?: string }>().error_description?.split(':')[0]]
  }
  t.strictSame(
    [
      await register({}),
      await register({ nickname: 'A' }),
      await register({ nickname: 'Ann', age: 17 }),
      await register({ nickname: 'Ann', plan: 'other' }),
      await register({ nickname: 'Ann', more: 1 })
    ],
    [
      [400, 'nickname'],
      [400, 'nickname'],
      [400, 'age'],
      [400, 'plan'],
      [400, 'more']
    ]
  )
  t.match((await app.inject('/auth/signup')).body, /What friends say/)
  t.strictSame(await register({ nickname: 'Ann', age: 18, plan: 'paid' }), [201, undefined])
  t.match(await users.findByUsername('ann@example.com'), { nickname: 'Ann', age: 18, plan: 'paid' })
})

t.test('shows an enum as buttons or a list, names a rejected value, and fills in defaults', async (t) => {
  const users = memoryUserStore()
  const { app, close } = await testApp({
    users,
    registration: {
      fields: {
        type: 'object',
        properties: {
          plan: { type: 'string', enum: ['free', 'paid'], default: 'free' },
          size: { enum: [1, 2, 3, 4, 5] },
          tags: { type: 'array', items: { type: 'string' }, default: ['new'] }
        },
        required: ['plan', 'size', 'tags']
      }
    }
  })
  t.teardown(close)
  const { body } = await app.inject('/auth/signup')
  t.match(body, /<input type="radio" id="plan" name="plan" value="free" required checked><label for="plan">free</)
  t.match(body, /<input type="radio" id="plan-1" name="plan" value="paid" required><label for="plan-1">paid</)
  t.match(body, '<option value="" selected></option><option value="1">1</option>')
  t.notMatch(body, 'name="tags"')
  const register = async (fields: object): Promise<[number, unknown]> => {
    const payload = { username: 'ann@example.com', password: 'seven green boats at dawn', ...fields }
    const reply = await app.inject({ method: 'POST', url: '/auth/register', payload })
    return [reply.statusCode, reply.json<{ error_description?: string }>().error_description]
  }
  t.strictSame(await register({ plan: 'gold', size: 1 }), [400, "plan: it takes 'free' or 'paid'."])
  t.strictSame(await register({ size: '1' }), [400, 'size: it takes 1, 2, 3, 4 or 5.'])
  t.strictSame(await register({ size: 2 }), [201, undefined])
  t.match(await users.findByUsername('ann@example.com'), { plan: 'free', size: 2, tags: ['new'] })
  const form = await app.inject({
    method: 'POST',
    url: '/auth/signup',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    payload: 'username=bob%40example.com&password=seven+green+boats+at+dawn&plan=paid&size=3'
  })
  t.equal(form.statusCode, 303)
  t.match(await users.findByUsername('bob@example.com'), { plan: 'paid', size: 3, tags: ['new'] })
})

t.test('stops the start for an unknown format', async (t) => {
  for (const fields of [
    { type: 'object', properties: { host: { type: 'string', format: 'hostname' } } },
    Type.Object({ host: Type.Array(Type.String({ format: 'hostname' })) })
  ])
    await t.rejects(testApp({ registration: { fields } }), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: /registration\.fields.*"hostname"/
    })
})
