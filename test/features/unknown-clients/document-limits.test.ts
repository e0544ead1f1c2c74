import t from '../../support/tap.ts'
import { documentHost, requestOf, world } from './world.ts'

const QUICK = { rateLimit: false } as const

t.test('fetches at most 120 client documents a minute, and more in the next minute', async (t) => {
  const hosts = await Promise.all(Array.from({ length: 5 }, async () => await documentHost(t)))
  const test = await world(t, QUICK)
  for (const host of hosts) host.answer = (_request, reply) => reply.writeHead(404).end()
  const ask = async (): Promise<number> => {
    for (const { url } of hosts)
      for (let count = 0; count < 25; count++) t.equal((await test.browser.get(requestOf(url))).statusCode, 503)
    return hosts.reduce((sum, { calls }) => sum + calls(), 0)
  }
  t.equal(await ask(), 120)
  test.clock.step(60_001)
  t.equal(await ask(), 240)
})

t.test('fetches at most 16 client documents in parallel, and 4 of one origin', async (t) => {
  const hosts = await Promise.all(Array.from({ length: 5 }, async () => await documentHost(t)))
  const test = await world(t, QUICK)
  const waiting: Array<() => void> = []
  for (const host of hosts)
    host.answer = (_request, reply) => {
      waiting.push(() => void reply.writeHead(404).end())
    }
  let answered = 0
  const replies = hosts.flatMap(({ url }) =>
    Array.from({ length: 5 }, async (_, index) => {
      const reply = await test.app.inject(requestOf(url.replace('client', `client${index}`)))
      answered++
      return reply.statusCode
    })
  )
  // Waits until each request is either answered or waits for its document.
  while (answered + waiting.length < 25) await new Promise((resolve) => setImmediate(resolve))
  t.equal(waiting.length, 16)
  for (const host of hosts) t.ok(host.calls() <= 4)
  for (const end of waiting) end()
  t.same(new Set(await Promise.all(replies)), new Set([503]))
  const last = test.app.inject(requestOf(hosts[4]?.url ?? ''))
  while (waiting.length < 17) await new Promise((resolve) => setImmediate(resolve))
  waiting[16]?.()
  t.equal((await last).statusCode, 503, 'there is room again')
})
