/** Servers with bad responses: the process that calls them gets an error in time, and stays alive. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import t, { type Test } from '../support/tap.ts'
import type { Order, Outcome } from './support/outbound-child.ts'

type Hostile = (socket: Socket) => void

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const REFUSAL = 'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n'
const BODY = gzipSync('{"error":"x"}')
const SIX = 'gzip, gzip, gzip, gzip, gzip, gzip'

const ENCODINGS = [null, 'identity', 'gzip', 'br', 'deflate', 'x-unknown', 'gzip, gzip, gzip, gzip, gzip', SIX]
const ENDINGS: Record<string, (socket: Socket, rest: Buffer) => void> = {
  whole: (socket, rest) => socket.write(rest),
  cut: (socket) => socket.end(),
  hang: () => {},
  reset: (socket) => {
    setImmediate(() => socket.resetAndDestroy())
  }
}

/** Every content encoding × every end of the body × both ways to say its length × success and refusal. */
const ENCODED = ENCODINGS.flatMap((encoding) =>
  Object.entries(ENDINGS).flatMap(([end, finish]) =>
    ['length', 'chunks'].flatMap((framing) =>
      [HEAD, REFUSAL].map((head): [name: string, hostile: Hostile] => [
        `${encoding}, ${framing}, ${end}, ${head.slice(9, 12)}`,
        (socket) => {
          const header = encoding === null ? '' : `Content-Encoding: ${encoding}\r\n`
          if (framing === 'length') {
            socket.write(`${head}${header}Content-Length: ${BODY.length}\r\n\r\n`)
            socket.write(BODY.subarray(0, 5))
            finish(socket, BODY.subarray(5))
          } else {
            socket.write(`${head}${header}Transfer-Encoding: chunked\r\n\r\n`)
            socket.write(`5\r\n${BODY.subarray(0, 5).toString('latin1')}\r\n`, 'latin1')
            finish(socket, Buffer.from(`1\r\nx\r\n0\r\n\r\n`))
          }
        }
      ])
    )
  )
)

/** Writes the same data repeatedly while the socket accepts it. */
function flood(socket: Socket, text: string): void {
  const block = text.repeat(Math.ceil(65_536 / text.length))
  const more = (): void => {
    while (!socket.destroyed && socket.write(block));
    if (!socket.destroyed) socket.once('drain', more)
  }
  more()
}

/** With the code of the refusal, unless it depends on the version of Node.js. */
const BROKEN: Array<[name: string, hostile: Hostile, code: RegExp]> = [
  ['nothing', () => {}, /^TIMEOUT$/],
  ['a cut at once', (socket) => socket.end(), /^ECONNRESET$/],
  ['a reset at once', (socket) => socket.resetAndDestroy(), /^ECONNRESET$|^EPIPE$/],
  ['half a head', (socket) => socket.write(HEAD), /^TIMEOUT$/],
  ['half a head and a cut', (socket) => socket.end(HEAD), /^ECONNRESET$|^HPE_/],
  ['no HTTP', (socket) => socket.write('220 mail.example ESMTP\r\n'), /^HPE_/],
  [
    'a head of 20 kB',
    (socket) => socket.write(`${HEAD}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`),
    /^HPE_HEADER_OVERFLOW$/
  ],
  [
    'a head without end',
    (socket) => {
      socket.write(HEAD)
      flood(socket, 'X-More: more\r\n')
    },
    /^HPE_HEADER_OVERFLOW$/
  ],
  [
    'informational answers without end',
    (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n'),
    /^HPE_HEADER_OVERFLOW$/
  ],
  ['one informational answer', (socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), /^TIMEOUT$/],
  [
    'other protocols',
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nx'),
    /./
  ],
  ['two lengths', (socket) => socket.write(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `), /^HPE_/],
  [
    'length and chunks',
    (socket) => socket.write(`${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    /^HPE_/
  ],
  ['a bad chunk', (socket) => socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`), /^HPE_/],
  [
    'a chunk extension without end',
    (socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1;x=`)
      flood(socket, 'x')
    },
    /./
  ],
  [
    'trailers without end',
    (socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n`)
      flood(socket, 'X-More: more\r\n')
    },
    /./
  ],
  ['a length of 5 kB', (socket) => socket.write(`${HEAD}Content-Length: 5000\r\n\r\n`), /^TOO_LARGE$/],
  [
    'a body without end',
    (socket) => {
      socket.write(`${HEAD}\r\n`)
      flood(socket, 'x')
    },
    /^TOO_LARGE$/
  ],
  ['a status of 0', (socket) => socket.write('HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n'), /./]
]

/**
 * A child process that calls, and a server with one hostile response per path. A call waits long for expected events on
 * a busy machine, but not for missing ones.
 */
async function setUp(
  t: Test,
  answers: readonly Hostile[]
): Promise<(order: Pick<Order, 'reads'> & { isHanging?: boolean }, to: number) => Promise<Outcome>> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (data) => {
      const [, at] = /^POST \/(\d+) /.exec(data.toString('latin1')) ?? []
      if (at !== undefined) answers[Number(at)]?.(socket)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const child = fork(fileURLToPath(new URL('support/outbound-child.ts', import.meta.url)))
  const waiting = new Map<number, (outcome: Outcome) => void>()
  child.on('message', (outcome: Outcome | 'ready') => {
    if (outcome !== 'ready') waiting.get(outcome.id)?.(outcome)
  })
  child.on('exit', (code, signal) => {
    for (const [id, tell] of waiting) tell({ id, code: `the process ended with ${code ?? signal}` })
  })
  t.teardown(() => {
    child.kill()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(child, 'message')
  let ids = 0
  return async ({ reads, isHanging = false }, to) => {
    const id = ids++
    return await new Promise((resolve) => {
      waiting.set(id, resolve)
      if (child.exitCode === null && child.connected)
        child.send({ id, url: `http://127.0.0.1:${port}/${to}`, reads, timeoutMs: isHanging ? 1500 : 10_000 })
      else resolve({ id, code: 'the process has ended' })
    })
  }
}

t.test('rejects encoded and incomplete bodies when it reads bodies, and keeps running', async (t) => {
  const call = await setUp(
    t,
    ENCODED.map(([, hostile]) => hostile)
  )
  for (const reads of ['whole', 'status'] as const) {
    const outcomes = await inGroups(
      ENCODED,
      // An encoded response is refused by its head, even if its body hangs.
      async ([name], at) => await call({ reads, isHanging: /^(?:null|identity),.*hang/.test(name) }, at)
    )
    for (const [at, [name]] of ENCODED.entries()) {
      const { status, text, code } = outcomes[at] ?? {}
      const plain = /^(?:null|identity),/.test(name)
      const label = `${reads}: ${name}`
      if (reads === 'status') t.equal(status, name.endsWith('200') ? 200 : 400, label)
      else if (plain && name.includes('whole')) t.equal(status, name.endsWith('200') ? 200 : 400, label)
      else t.match(code, plain ? /^TIMEOUT$|^ECONNRESET$/ : /^ENCODED$/, label)
      if (!plain) t.notOk(text, `${label}: nothing of the body is read`)
    }
  }
  t.equal((await call({ reads: 'whole' }, 0)).status, 200, 'the process goes on calling')
})

t.test('rejects broken responses in time, and keeps running', async (t) => {
  const call = await setUp(
    t,
    BROKEN.map(([, hostile]) => hostile)
  )
  const outcomes = await inGroups(
    BROKEN,
    async ([, , code], at) => await call({ reads: 'whole', isHanging: code.test('TIMEOUT') }, at)
  )
  for (const [at, [name, , code]] of BROKEN.entries()) {
    t.equal(outcomes[at]?.status, undefined, name)
    t.match(outcomes[at]?.code, code, name)
    t.notMatch(outcomes[at]?.code, /ended/, name)
  }
  t.match(await call({ reads: 'whole', isHanging: true }, 0), { code: 'TIMEOUT' }, 'the process goes on calling')
})

async function inGroups<One, Result>(
  all: readonly One[],
  work: (one: One, at: number) => Promise<Result>
): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < all.length; from += 40)
    results.push(...(await Promise.all(all.slice(from, from + 40).map(async (one, at) => await work(one, from + at)))))
  return results
}
