import t from '../../support/tap.ts'
import { readRequestObject } from '../../../lib/protocol/authorization-params.ts'

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const NONE = part({ alg: 'none' })
const BODY = part({ state: 's', response_mode: 'fragment', redirect_uri: 'https://evil.example' })

t.test('reads state and response_mode from an unsigned request object', async (t) => {
  t.strictSame(readRequestObject(`${NONE}.${BODY}.`), { state: 's', responseMode: 'fragment' })
  t.strictSame(readRequestObject(`${NONE}.${part({ state: 's' })}.`), { state: 's' })
  t.strictSame(readRequestObject(`${NONE}.${part({ response_mode: '' })}.`), { responseMode: '' })
  for (const body of [{}, { state: '' }, { state: 1, response_mode: 1 }, { state: null, response_mode: ['query'] }])
    t.strictSame(readRequestObject(`${NONE}.${part(body)}.`), {}, JSON.stringify(body))
})

t.test('reads nothing from a signed or malformed request object', async (t) => {
  const notUtf8 = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]).toString('base64url')
  const cases = [
    '',
    '.',
    '..',
    'x',
    NONE,
    `${NONE}.${BODY}`,
    `${NONE}.${BODY}.x`,
    `${NONE}.${BODY}..`,
    `${NONE}.${BODY}..x`,
    `.${BODY}.`,
    `${part({ alg: 'HS256' })}.${BODY}.`,
    `${part({})}.${BODY}.`,
    `${part('null')}.${BODY}.`,
    `${part('"none"')}.${BODY}.`,
    `${part('{')}.${BODY}.`,
    `!${NONE}.${BODY}.`,
    `${NONE}!.${BODY}.`,
    `${NONE}.${part('null')}.`,
    `${NONE}.${part('5')}.`,
    `${NONE}.${part('"x"')}.`,
    `${NONE}.${part('{')}.`,
    `${NONE}.${notUtf8}.`,
    `${NONE}. ${BODY}.`,
    `${NONE}.!${BODY}.`,
    `${NONE}.${BODY}=.`
  ]
  for (const request of cases) t.strictSame(readRequestObject(request), {}, request)
  const list = Object.assign([], { alg: 'none' })
  t.strictSame(readRequestObject(`${part(JSON.stringify(list))}.${BODY}.`), {})
})
