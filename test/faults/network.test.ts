import { once } from 'node:events'
import { type Agent, createServer as createHttpServer, request } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import t from '../support/tap.ts'
import { type Balancer, createBalancer } from './support/balancer.ts'
import { HOST } from './support/connections.ts'
import { startProxy } from './support/proxy.ts'

type Setup = { teardown(task: () => unknown): void }

/** A server that sends its name to each connection, and echoes all bytes. */
async function echo(t: Setup, name = ''): Promise<{ port: number; stop(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (name !== '') socket.write(name)
    socket.pipe(socket)
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  const address = server.address()
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  t.teardown(stop)
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, stop }
}

interface Peer {
  say(text: string): void
  /** The next received text; the code of an error, or `end`. */
  heard(): Promise<string>
  socket: Socket
}

function peer(t: Setup, port: number): Peer {
  const socket = connect(port, HOST)
  t.teardown(() => socket.destroy())
  const inbox: string[] = []
  let wake = (): void => {}
  const got = (text: string): void => {
    inbox.push(text)
    wake()
  }
  socket.on('data', (data) => {
    got(data.toString())
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    got(error.code ?? 'error')
  })
  socket.on('end', () => {
    got('end')
  })
  return {
    socket,
    say(text) {
      socket.write(text)
    },
    async heard() {
      if (inbox.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      return inbox.shift() ?? ''
    }
  }
}

/** True if nothing arrives for a while, the only sign that bytes were swallowed. */
async function isSilent(from: Peer, ms = 150): Promise<boolean> {
  return await Promise.race([
    from.heard().then(() => false),
    new Promise<boolean>((resolve) => {
      setTimeout(() => {
        resolve(true)
      }, ms)
    })
  ])
}

t.test('passes data through the proxy in both directions', async (t) => {
  const proxy = await startProxy(await echo(t))
  t.teardown(() => proxy.stop())
  const client = peer(t, proxy.port)
  client.say('one')
  t.equal(await client.heard(), 'one')
})

t.test('delays each direction of the proxy separately, and keeps the order', async (t) => {
  const proxy = await startProxy(await echo(t))
  t.teardown(() => proxy.stop())
  for (const [towardsMs, backMs] of [
    [80, 0],
    [0, 80]
  ] as const) {
    const client = peer(t, proxy.port)
    client.say('a')
    await client.heard()
    proxy.delay(towardsMs, backMs)
    const start = performance.now()
    client.say('b')
    t.equal(await client.heard(), 'b')
    t.ok(performance.now() - start >= 79, `${towardsMs} ms towards, ${backMs} ms back`)
    proxy.delay(0)
  }
  const client = peer(t, proxy.port)
  client.say('a')
  await client.heard()
  proxy.delay(80, 0)
  client.say('first,')
  await new Promise((resolve) => {
    setTimeout(resolve, 20)
  })
  proxy.delay(0)
  client.say('second')
  let heard = ''
  while (heard.length < 12) heard += await client.heard()
  t.equal(heard, 'first,second', 'nothing overtakes')
})

t.test('loses bytes that the proxy drops, and delivers later ones', async (t) => {
  const proxy = await startProxy(await echo(t))
  t.teardown(() => proxy.stop())
  const client = peer(t, proxy.port)
  client.say('a')
  await client.heard()
  proxy.drop(true)
  client.say('lost')
  t.ok(await isSilent(client))
  const late = peer(t, proxy.port)
  await once(late.socket, 'connect')
  late.say('lost too')
  t.ok(await isSilent(late), 'new connections are taken and get no answer')
  proxy.drop(false)
  const after = peer(t, proxy.port)
  after.say('b')
  t.equal(await after.heard(), 'b')
})

t.test('delivers requests while the proxy drops only answers', async (t) => {
  const heard: string[] = []
  const target = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      heard.push(data.toString())
      socket.write('done')
    })
  })
  target.listen(0, HOST)
  await once(target, 'listening')
  t.teardown(() => {
    target.close()
  })
  const address = target.address()
  const proxy = await startProxy({ port: typeof address === 'object' ? (address?.port ?? 0) : 0 })
  t.teardown(() => proxy.stop())
  const client = peer(t, proxy.port)
  proxy.drop('back')
  client.say('do it')
  t.ok(await isSilent(client))
  t.strictSame(heard, ['do it'])
})

t.test('cuts connections of the proxy, refuses new ones while stopped, and restarts on its port', async (t) => {
  const proxy = await startProxy(await echo(t))
  t.teardown(() => proxy.stop())
  const { port } = proxy
  const client = peer(t, port)
  client.say('a')
  await client.heard()
  proxy.cut()
  t.equal(await client.heard(), 'ECONNRESET')
  await proxy.stop()
  t.equal(await peer(t, port).heard(), 'ECONNREFUSED')
  await proxy.start()
  t.equal(proxy.port, port)
  const again = peer(t, port)
  again.say('c')
  t.equal(await again.heard(), 'c')
})

t.test('resets a client of the proxy whose target is gone', async (t) => {
  const target = await echo(t)
  const proxy = await startProxy(target)
  t.teardown(() => proxy.stop())
  await target.stop()
  t.equal(await peer(t, proxy.port).heard(), 'ECONNRESET')
})

t.test('distributes connections of the balancer in turn, up to a maximum', async (t) => {
  const targets = [await named(t, 'one'), await named(t, 'two'), await named(t, 'three')]
  const { agent, direct } = balancer(t)
  const next = async (): Promise<string> => await asked(agent, { connection: 'close' })
  direct(targets.map(({ port }) => port))
  t.strictSame([await next(), await next(), await next(), await next()], ['one', 'two', 'three', 'one'])
  direct(targets.flatMap(({ port }, index) => (index === 1 ? [] : [port])))
  t.strictSame(
    [await next(), await next(), await next(), await next()].toSorted(),
    ['one', 'one', 'three', 'three'],
    'past one that is away'
  )
  direct(targets.slice(0, 1).map(({ port }) => port))
  t.strictSame([await next(), await next()], ['one', 'one'])
  direct([])
  t.equal(await next(), 'ECONNREFUSED', 'nobody is left')
  direct(targets.map(({ port }) => port))
  const before = targets.map((target) => target.accepted())
  await Promise.all(Array.from({ length: 12 }, async () => await asked(agent)))
  t.equal(
    targets.reduce((sum, target, index) => sum + target.accepted() - (before[index] ?? 0), 0),
    MOST
  )
})

t.test('keeps the connection of a balancer client, and ends it with its target', async (t) => {
  const target = await named(t, 'one')
  const { agent, direct } = balancer(t)
  direct([target.port])
  t.strictSame([await asked(agent), await asked(agent), target.accepted()], ['one', 'one', 1])
  const held = asked(agent, { 'x-hold': 'yes' })
  await target.holds()
  await target.stop()
  t.equal(await held, 'ECONNRESET')
  t.equal(await asked(agent), 'ECONNREFUSED')
})

const MOST = 3

function balancer(t: Setup): Balancer {
  const made = createBalancer(MOST)
  t.teardown(() => {
    made.agent.destroy()
  })
  return made
}

/** A server that answers with its name, except for requests with the header `x-hold`. */
async function named(
  t: Setup,
  name: string
): Promise<{ port: number; accepted(): number; holds(): Promise<unknown>; stop(): Promise<void> }> {
  let accepted = 0
  const server = createHttpServer((request, reply) => {
    if (request.headers['x-hold'] === undefined) reply.end(name)
    else server.emit('hold')
  })
  server.on('connection', () => {
    accepted++
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  const address = server.address()
  const held = once(server, 'hold')
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  t.teardown(stop)
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    accepted: () => accepted,
    holds: async () => await held,
    stop
  }
}

/** Returns the response, or the code of the error. */
async function asked(agent: Agent, headers: Record<string, string> = {}): Promise<string> {
  return await new Promise((resolve) => {
    const outgoing = request({ host: HOST, agent, headers }, (incoming) => {
      incoming.on('data', (chunk: Buffer) => {
        resolve(chunk.toString())
      })
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code ?? 'error')
    })
    outgoing.end()
  })
}
