import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from '../support/tap.ts'
import { formPost, outbound } from '../../lib/adapters/node/outbound.ts'
import { systemClock } from '../../lib/adapters/node/system.ts'
import { PUBLIC } from '../../lib/protocol/distance.ts'
import type { FormAnswer } from '../../lib/ports/outbound.ts'

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: string
}

/** A client's server on a real socket. */
async function rp(
  t: { teardown(task: () => unknown): void },
  answer: (reply: ServerResponse, request: IncomingMessage) => void
): Promise<{ url: string; seen: Seen[]; closed: () => number }> {
  const seen: Seen[] = []
  let closed = 0
  const listener: RequestListener = (request, reply) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
    })
    request.on('end', () => {
      seen.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.concat(chunks).toString()
      })
      answer(reply, request)
    })
    reply.on('close', () => {
      closed++
    })
  }
  const server = createServer(listener)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/bc?tenant=1`, seen, closed: () => closed }
}

const ask = async (url: string, timeoutMs = 5000, thirdParty = false): Promise<FormAnswer> =>
  await formPost(outbound(systemClock), async () => PUBLIC)(
    url,
    { logout_token: 'a.b+c/d=&e' },
    { timeoutMs, thirdParty }
  )
const post = async (url: string, timeoutMs = 5000): Promise<number> => (await ask(url, timeoutMs)).status

t.test('posts the logout token as a form, without credentials and without a cookie', async (t) => {
  const { url, seen } = await rp(t, (reply) => {
    reply.setHeader('set-cookie', 'x=1').end()
  })
  t.equal(await post(url), 200)
  t.equal(await post(url), 200)
  t.match(seen, [{ method: 'POST', url: '/bc?tenant=1', body: 'logout_token=a.b%2Bc%2Fd%3D%26e' }, {}])
  for (const { headers } of seen) {
    t.match(headers['content-type'], /^application\/x-www-form-urlencoded/)
    t.equal(headers.cookie, undefined)
    t.equal(headers.authorization, undefined)
    t.equal(headers.referer, undefined)
  }
})

t.test("returns the HTTP status of the client's answer, also of an error", async (t) => {
  for (const status of [200, 204, 400, 404, 500, 501]) {
    const { url } = await rp(t, (reply) => {
      reply.writeHead(status).end(status === 204 ? undefined : '{"error":"invalid_request"}')
    })
    t.equal(await post(url), status)
  }
})

// covers L5
t.test('returns the error code of a failed response as text of at most 64 characters', async (t) => {
  const rows: Array<[what: string, status: number, body: string | Buffer, error: string | undefined]> = [
    [
      'as the specification has it',
      400,
      '{"error":"invalid_request","error_description":"The logout token has expired."}',
      'invalid_request'
    ],
    ['of any failing status', 501, '{"error":"unsupported"}', 'unsupported'],
    ['a success', 200, '{"error":"invalid_request"}', undefined],
    ['none', 400, '{}', undefined],
    ['null', 400, '{"error":null}', undefined],
    ['empty', 400, '{"error":""}', undefined],
    ['no text', 400, '{"error":{"code":1}}', undefined],
    ['no JSON', 400, 'error=invalid_request', undefined],
    ['no object', 400, 'null', undefined],
    ['no body', 400, '', undefined],
    ['long', 400, JSON.stringify({ error: 'x'.repeat(500) }), 'x'.repeat(64)],
    [
      'more than a kilobyte',
      400,
      JSON.stringify({ error: 'invalid_request', error_description: 'x'.repeat(5000) }),
      undefined
    ],
    ['lines and colours', 400, JSON.stringify({ error: 'a\r\nb\u001b[31mc\u202eé' }), 'a??b?[31mc??'],
    ['bytes', 400, Buffer.from([0xff, 0xfe, 0]), undefined]
  ]
  for (const [what, status, body, error] of rows) {
    const { url } = await rp(t, (reply) => {
      reply.writeHead(status).end(body)
    })
    t.strictSame(await ask(url), error === undefined ? { status } : { status, error }, what)
  }
  const endless = await rp(t, (reply) => {
    reply.writeHead(400).write(`{"error":"${'x'.repeat(70_000)}`)
  })
  t.strictSame(await ask(endless.url), { status: 400 }, 'one that has no end is cut')
  const slow = await rp(t, (reply) => {
    reply.writeHead(400).write('{"error":')
  })
  t.strictSame(await ask(slow.url, 100), { status: 400 }, 'one that dribbles is given up with its time')
  const two = await rp(t, (reply) => {
    reply.writeHead(400).write('{"error":"inva')
    setImmediate(() => {
      reply.end('lid_request"}')
    })
  })
  t.strictSame(await ask(two.url), { status: 400, error: 'invalid_request' }, 'in pieces')
})

// covers ASVS-15.3.2
t.test('follows no redirect of the client, and returns its status', async (t) => {
  const other = await rp(t, (reply) => {
    reply.end()
  })
  for (const status of [301, 302, 303, 307, 308]) {
    const { url } = await rp(t, (reply) => {
      reply.writeHead(status, { location: other.url }).end()
    })
    t.equal(await post(url), status)
  }
  t.strictSame(other.seen, [])
})

t.test('times out when the client never answers or never completes the response head', async (t) => {
  const silent = await rp(t, () => {})
  await t.rejects(post(silent.url, 50), { code: 'TIMEOUT' })
  const half = await rp(t, (_reply, request) => {
    request.socket.write('HTTP/1.1 200 OK\r\nX-Half: ')
  })
  await t.rejects(post(half.url, 50), { code: 'TIMEOUT' })
})

t.test('closes the connection after the status, and does not read an endless body', async (t) => {
  let sent = 0
  const { url, closed } = await rp(t, (reply) => {
    const more = (): void => {
      while (!reply.destroyed && reply.write(Buffer.alloc(65_536))) sent += 65_536
      if (!reply.destroyed) reply.once('drain', more)
    }
    more()
  })
  t.equal(await post(url), 200)
  while (closed() === 0)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  t.ok(sent < 50_000_000, `${sent} bytes went out`)
  const slow = await rp(t, (reply) => {
    reply.write('a body that never ends')
  })
  t.equal(await post(slow.url), 200, 'nor does one that dribbles keep us')
})

t.test('rejects an unreachable address with an error text without the token', async (t) => {
  const { url } = await rp(t, (reply) => {
    reply.destroy()
  })
  for (const bad of [url, 'http://127.0.0.1:1/', 'https://127.0.0.1:1/', 'file:///etc/passwd', 'not a url']) {
    const error = await post(bad).then(
      () => null,
      (reason: unknown) => reason
    )
    t.ok(error instanceof Error, bad)
    t.notMatch((error as Error).message + String((error as { cause?: unknown }).cause), /a\.b/)
  }
})

t.test('sends nothing to a private address that a third-party client registered', async (t) => {
  const { url, seen } = await rp(t, (reply) => {
    reply.end()
  })
  for (const near of [url, url.replace('127.0.0.1', 'localhost'), 'https://10.0.0.1/', 'https://[fd00::1]/'])
    await t.rejects(ask(near, 5000, true), { code: 'BAD_URL' }, near)
  t.strictSame(seen, [])
})
