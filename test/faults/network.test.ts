import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { startBalancer } from './support/balancer.ts'
import { HOST } from './support/connections.ts'
import { startProxy } from './support/proxy.ts'

type Setup = { teardown(task: () => unknown): void }

/** A server that says its name when somebody comes, and sends back whatever it gets. */
async function echo (t: Setup, name = ''): Promise<{ port: number, stop(): Promise<void> }> {
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
  return { port: typeof address === 'object' ? address?.port ?? 0 : 0, stop }
}

interface Peer {
  say(text: string): void
  /** The next that comes; the code of an error, or `end`, where nothing does. */
  heard(): Promise<string>
  socket: Socket
}

function peer (t: Setup, port: number): Peer {
  const socket = connect(port, HOST)
  t.teardown(() => socket.destroy())
  const inbox: string[] = []
  let wake = (): void => {}
  const got = (text: string): void => {
    inbox.push(text)
    wake()
  }
  socket.on('data', (data) => { got(data.toString()) })
  socket.on('error', (error: NodeJS.ErrnoException) => { got(error.code ?? 'error') })
  socket.on('end', () => { got('end') })
  return {
    socket,
    say (text) { socket.write(text) },
    async heard () {
      if (inbox.length === 0) await new Promise<void>((resolve) => { wake = resolve })
      return inbox.shift() ?? ''
    }
  }
}

/** Whether nothing comes for a while: there is no other way to see that something was swallowed. */
async function isSilent (from: Peer, ms = 150): Promise<boolean> {
  return await Promise.race([from.heard().then(() => false), new Promise<boolean>((resolve) => { setTimeout(() => { resolve(true) }, ms) })])
}

t.test('the proxy passes what it gets, both ways', async (t) => {
  const proxy = await startProxy(await echo(t))
  t.teardown(() => proxy.stop())
  const client = peer(t, proxy.port)
  client.say('one')
  t.equal(await client.heard(), 'one')
})

t.test('the proxy delays each direction by itself, and keeps the order', async (t) => {
  const proxy = await startProxy(await echo(t))
  t.teardown(() => proxy.stop())
  for (const [towardsMs, backMs] of [[80, 0], [0, 80]] as const) {
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
  await new Promise((resolve) => { setTimeout(resolve, 20) })
  proxy.delay(0)
  client.say('second')
  let heard = ''
  while (heard.length < 12) heard += await client.heard()
  t.equal(heard, 'first,second', 'nothing overtakes')
})

t.test('what the proxy drops never comes, and what is sent later does', async (t) => {
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

t.test('where only answers are dropped, what is said arrives', async (t) => {
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
  t.teardown(() => { target.close() })
  const address = target.address()
  const proxy = await startProxy({ port: typeof address === 'object' ? address?.port ?? 0 : 0 })
  t.teardown(() => proxy.stop())
  const client = peer(t, proxy.port)
  proxy.drop('back')
  client.say('do it')
  t.ok(await isSilent(client))
  t.strictSame(heard, ['do it'])
})

t.test('the proxy cuts, refuses while it is stopped, and comes back on its port', async (t) => {
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

t.test('the proxy resets a client whose target is gone', async (t) => {
  const target = await echo(t)
  const proxy = await startProxy(target)
  t.teardown(() => proxy.stop())
  await target.stop()
  t.equal(await peer(t, proxy.port).heard(), 'ECONNRESET')
})

t.test('the balancer goes round, and past a target that refuses', async (t) => {
  const targets = [await echo(t, 'one'), await echo(t, 'two'), await echo(t, 'three')]
  const balancer = await startBalancer()
  t.teardown(() => balancer.stop())
  const next = async (): Promise<string> => await peer(t, balancer.port).heard()
  balancer.direct(targets.map(({ port }) => port))
  t.strictSame([await next(), await next(), await next(), await next()], ['one', 'two', 'three', 'one'])
  await targets[1]?.stop()
  t.strictSame([await next(), await next(), await next(), await next()], ['three', 'three', 'one', 'three'], 'its turns go to the next')
  balancer.direct(targets.slice(0, 1).map(({ port }) => port))
  t.strictSame([await next(), await next()], ['one', 'one'])
  balancer.direct([])
  t.equal(await next(), 'ECONNRESET', 'nobody is left')
})

t.test('a client of the balancer feels the end of its target', async (t) => {
  const target = await echo(t, 'one')
  const balancer = await startBalancer()
  t.teardown(() => balancer.stop())
  balancer.direct([target.port])
  const client = peer(t, balancer.port)
  t.equal(await client.heard(), 'one')
  client.say('hello')
  t.equal(await client.heard(), 'hello')
  const gone = once(client.socket, 'close')
  await target.stop()
  await gone
  t.ok(client.socket.destroyed)
})
