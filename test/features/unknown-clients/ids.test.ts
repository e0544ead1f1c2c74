import { type AddressInfo, createServer } from 'node:net'
import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from '../../../lib/index.ts'
import { ISSUER } from '../../support/app.ts'
import { logLines } from '../../support/log-lines.ts'
import { KEYS } from '../../support/openid.ts'
import t, { type Test } from '../../support/tap.ts'
import { documentHost, requestOf, world } from './world.ts'

/** A port that counts its connections. */
async function trap(t: Test): Promise<{ port: number; calls(): number }> {
  let calls = 0
  const server = createServer((socket) => {
    calls++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, () => resolve()))
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, calls: () => calls }
}

t.test('refuses a malformed client id without connecting, and logs the reason', async (t) => {
  const { port, calls } = await trap(t)
  const test = await world(t)
  const at = `127.0.0.1:${port}`
  for (const id of [
    `HTTP://${at}/c`,
    `HTTPS://localhost:${port}/c`,
    ` http://${at}/c`,
    `http:\\\\${at}\\c`,
    `http:/${at}/c`,
    `http:////${at}/c`,
    `http://${at}`,
    `http://${at}/c?`,
    `http://${at}/c?x=1`,
    `http://${at}/c#`,
    `http://${at}/c#x`,
    `http://${at}/./c`,
    `http://${at}/../c`,
    `http://${at}/a/%2e%2E/c`,
    `http://${at}/a/.%2e/c`,
    `http://${at}/c\t`,
    `http://${at}/\nc`,
    `http://${at}/c c`,
    `http://user@${at}/c`,
    `http://user:pw@${at}/c`,
    `http://2130706433:${port}/c`,
    `http://0x7f.1:${port}/c`,
    `http://127.1:${port}/c`,
    `http://LOCALHOST:${port}/c`,
    `https://example.com:443/c`,
    `http://example.com/c`,
    `http://${at}/${'x'.repeat(1024)}`
  ]) {
    test.lines.length = 0
    test.clock.step(61_000)
    const reply = await test.browser.get(requestOf(id))
    t.equal(reply.statusCode, 400, id.slice(0, 60))
    t.match(test.told(), /its id (?:is no plain|names no public)/, id.slice(0, 60))
  }
  t.equal(calls(), 0)
})

t.test('refuses a client id at a private address without connecting', async (t) => {
  const { port, calls } = await trap(t)
  const test = await world(t, { issuer: 'https://auth.example.com' })
  for (const host of [
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '192.0.0.1',
    '192.168.0.1',
    '198.18.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fc00::1]',
    '[fe80::1]',
    '[ff02::1]',
    'localhost'
  ]) {
    test.lines.length = 0
    test.clock.step(61_000)
    t.equal((await test.app.inject(requestOf(`https://${host}:${port}/c`))).statusCode, 400, host)
    t.match(test.told(), 'public', host)
  }
  t.equal(calls(), 0)
})

t.test('refuses the URL of an API as a client id, even if the app adds the API after the registration', async (t) => {
  const host = await documentHost(t)
  const { lines, stream } = logLines()
  const app = Fastify({ logger: { level: 'info', stream } })
  t.teardown(() => app.close())
  await app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore(), keys: KEYS, clientIdMetadata: true })
  app.protectedResource({ resource: host.url })
  t.equal((await app.inject(requestOf(host.url))).statusCode, 400)
  t.match(JSON.stringify(lines), /its id is the audience of access tokens/)
  t.equal(host.calls(), 0)
})
