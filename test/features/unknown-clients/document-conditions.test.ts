/** Revalidation of cached client metadata documents. */
import t from '../../support/tap.ts'
import { documentHost, open, requestOf, world } from './world.ts'

for (const [header, value, condition] of [
  ['etag', '"one"', 'if-none-match'],
  ['last-modified', 'Thu, 26 Nov 2026 10:00:00 GMT', 'if-modified-since']
] as const)
  t.test(`revalidates a cached document by ${condition}`, async (t) => {
    const host = await documentHost(t)
    const test = await world(t)
    const conditions: Array<string | undefined> = []
    const ask = async (): Promise<number> => (await test.browser.get(requestOf(host.url))).statusCode
    const answers = (status: number, headers: Record<string, string>, name = 'Agent'): void => {
      host.answer = (request, reply) => {
        conditions.push(request.headers[condition]?.toString())
        reply.writeHead(status, { 'content-type': 'application/json', ...headers })
        reply.end(status === 304 ? '' : JSON.stringify({ client_id: host.url, ...host.metadata, client_name: name }))
      }
    }
    answers(200, { [header]: value })
    t.equal(await ask(), 303)
    answers(304, { 'cache-control': 'max-age=3600' })
    test.clock.step(301_000)
    t.equal(await ask(), 303)
    t.same(conditions, [undefined, value])
    test.clock.step(3_599_000)
    t.equal(await ask(), 303)
    t.equal(conditions.length, 2, 'kept as the headers of the 304 say')
    test.clock.step(2000)
    t.equal(await ask(), 303)
    t.equal(conditions[2], value, 'the validator of the document outlives a 304 without one')
    answers(200, {}, 'Agent 2')
    test.clock.step(3_601_000)
    t.match((await open(test.browser, requestOf(host.url))).reply.body, 'Agent 2')
    answers(304, {})
    test.clock.step(301_000)
    t.equal(await ask(), 503, 'a 304 to a request without a condition')
    t.equal(conditions.at(-1), undefined)
  })

t.test('sends no validator of a cached document that is longer than 256 characters', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  const conditions: unknown[] = []
  host.answer = (request, reply) => {
    conditions.push(request.headers['if-none-match'])
    reply.writeHead(200, { 'content-type': 'application/json', etag: `"${'x'.repeat(255)}"` })
    reply.end(JSON.stringify({ client_id: host.url, ...host.metadata }))
  }
  for (let count = 0; count < 2; count++) {
    t.equal((await test.browser.get(requestOf(host.url))).statusCode, 303)
    test.clock.step(301_000)
  }
  t.same(conditions, [undefined, undefined])
})
