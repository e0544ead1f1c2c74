import { Type } from '@sinclair/typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import { OAuthError } from '../../../lib/errors.ts'
import { parseForm, registerBodyParsers, useStrictValidation } from '../../../lib/http/edge/body.ts'

const FORM = 'application/x-www-form-urlencoded'

interface Answer {
  status: number
  body?: unknown
  message?: string | undefined
  own?: boolean
}

/** Sends a body to a route with the body parsers of the plugin, and returns the answer. */
async function bodies(
  t: Test,
  { forms = true, schema }: { forms?: boolean; schema?: object } = {}
): Promise<(payload: string, type?: string) => Promise<Answer>> {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(async (child) => {
    registerBodyParsers(child, { forms })
    useStrictValidation(child)
    child.setErrorHandler(
      async (error: Error & { statusCode?: number }, _request, reply) =>
        await reply
          .code(error.statusCode ?? 400)
          .send({ message: error.message, own: error instanceof OAuthError && error.error === 'invalid_request' })
    )
    child.post('/', schema === undefined ? {} : { schema }, async (request) => ({ body: request.body }))
  })
  return async (payload, type = 'application/json') => {
    const reply = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload })
    return { status: reply.statusCode, ...reply.json<object>() }
  }
}

t.test('parses valid JSON unchanged', async (t) => {
  const send = await bodies(t)
  for (const json of [
    '{}',
    '[]',
    '1',
    '"a"',
    'null',
    'true',
    '{"a":1,"b":{"a":2},"c":[{"a":3}]}',
    '{"a":"a","b":"a"}',
    '{"a":["a","a"],"b":"a:"}',
    ' \t\r\n{ "a" \t\r\n: 1 }',
    '{"a":"\\"b\\":","b":1}',
    '{"a\\\\":1,"a":2}',
    '{"a":{},"b":[],"c":{}}',
    '{"":1}'
  ]) {
    t.strictSame(await send(json), { status: 200, body: JSON.parse(json) as unknown }, json)
  }
})

t.test('rejects a repeated JSON key, however it is spelled', async (t) => {
  const send = await bodies(t)
  for (const json of [
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"a":1,"\\u0061":2}',
    '{"\\u0061":1,"a":2}',
    '{"a" :1,"a"\t:2}',
    '{"a"\r:1,"a"\n:2}',
    '{"":1,"":2}',
    '{"x":{"y":[]},"a":1,"x":2}',
    '{"a\\"":1,"a\\u0022":2}',
    '{"x":"\\\\","a":1,"a":2}'
  ]) {
    t.match(await send(json), { own: true, message: 'A parameter is repeated.' }, json)
  }
})

t.test('keeps every value of a repeated form parameter', async (t) => {
  const send = await bodies(t)
  t.same(await send('a=1&b=2&a=1', FORM), { status: 200, body: { a: ['1', '1'], b: '2' } })
  t.same(await send('a=1&%61=&a=3', FORM), { status: 200, body: { a: ['1', '', '3'] } })
})

t.test('rejects malformed JSON with one message, and a forbidden key with another', async (t) => {
  const send = await bodies(t)
  for (const json of [
    '{',
    '{"a":1,}',
    '{a:1}',
    '{"a":1',
    '"',
    '"a',
    '{"\\',
    '{"\\u00":1}',
    '{"\\x":1,"b":2}',
    ']',
    '}{',
    '{"a":1}}',
    'undefined'
  ]) {
    t.match(await send(json), { own: true, message: 'The body is not valid JSON.' }, json)
  }
  for (const json of ['{"__proto__":1}', '{"constructor":{"prototype":1}}'])
    t.match(await send(json), { own: true, message: /^The body has a key that is not allowed: __proto__, or / }, json)
})

t.test('accepts JSON up to 32 levels deep', async (t) => {
  const send = await bodies(t)
  const nested = (levels: number, open = '[', close = ']'): string => open.repeat(levels) + close.repeat(levels)
  t.equal((await send(nested(32))).status, 200)
  t.match(await send(nested(33)), { own: true, message: 'The body is nested more than 32 levels deep.' })
  t.match(await send(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`), { own: true, message: /more than 32/ })
  t.equal(
    (await send(`[${Array.from({ length: 40 }, () => '[]').join()},${Array.from({ length: 40 }, () => '{}').join()}]`))
      .status,
    200,
    'side by side is not deep'
  )
  t.equal(
    (await send(JSON.stringify({ a: '['.repeat(40), ['{'.repeat(40)]: 1 }))).status,
    200,
    'nor are brackets in text'
  )
})

t.test('accepts at most 64 form parameters, and parses them without a prototype', async (t) => {
  const form = (count: number): string => Array.from({ length: count }, (_, index) => `p${index}=${index}`).join('&')
  t.equal(Object.keys(parseForm(form(64))).length, 64)
  t.throws(() => parseForm(form(65)), { error: 'invalid_request', message: 'The body has too many parameters.' })
  t.equal(Object.getPrototypeOf(parseForm('')), null)
  t.strictSame({ ...parseForm('toString=1&a=%C3%A4+b&c') }, { toString: '1', a: 'ä b', c: '' })
})

t.test('rejects a content type that the route does not accept', async (t) => {
  const both = await bodies(t)
  const jsonOnly = await bodies(t, { forms: false })
  t.match(await both('a=1', FORM), { status: 200, body: { a: '1' } })
  t.match(await both('a=1', `${FORM}; charset=utf-8`), { status: 200 })
  t.equal((await jsonOnly('a=1', FORM)).status, 415)
  for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x'])
    t.equal((await both('a', type)).status, 415, type)
})

t.test('validates a body without changing it, and names the first invalid field', async (t) => {
  const send = await bodies(t, {
    schema: {
      body: Type.Object(
        {
          name: Type.String({ minLength: 2 }),
          count: Type.Optional(Type.Integer()),
          deep: Type.Optional(Type.Object({ x: Type.Boolean() }))
        },
        { additionalProperties: false }
      )
    }
  })
  t.strictSame(await send('{"name":"ab","count":1,"deep":{"x":true}}'), {
    status: 200,
    body: { name: 'ab', count: 1, deep: { x: true } }
  })
  for (const [json, message] of [
    ['{"name":1}', /^name: .+\.$/],
    ['{}', /^name: .+\.$/],
    ['{"name":"ab","count":"1"}', /^count: .+\.$/],
    ['{"name":"ab","deep":{"x":"true"}}', /^deep\.x: .+\.$/],
    ['{"name":"ab","more":1}', /^more: .+\.$/],
    ['[]', 'The body must be an object with the fields of this endpoint.'],
    ['null', 'The body must be an object with the fields of this endpoint.']
  ] as const) {
    t.match(await send(json), { own: true, message }, json)
  }
})

t.test('ignores a plain JSON schema of a route, and sends host errors in the Fastify format', async (t) => {
  const send = await bodies(t, {
    schema: { querystring: { type: 'object', required: ['x'] }, body: { type: 'object', required: ['y'] } }
  })
  t.strictSame(await send('{}'), { status: 200, body: {} })
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(async (child) => {
    useStrictValidation(child)
    child.get('/error', { schema: { response: { '4xx': { type: 'object' } } } }, async () =>
      Object.assign(new TypeError('why'), { statusCode: 418, code: 'HOST', error: 'Teapot', secret: 1 })
    )
    child.get(
      '/plain',
      { schema: { response: { 200: { type: 'object', properties: { a: { type: 'string' } } } } } },
      async () => ({ a: 1, b: 2 })
    )
  })
  t.strictSame((await app.inject('/plain')).json(), { a: 1, b: 2 }, 'nothing is taken out of an answer')
  t.strictSame((await app.inject('/error')).json(), {
    statusCode: 418,
    code: 'HOST',
    error: "I'm a Teapot",
    message: 'why'
  })
})
