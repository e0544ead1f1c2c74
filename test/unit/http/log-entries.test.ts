import { inspect } from 'node:util'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import t from '../../support/tap.ts'
import { redactLoggedUrls } from '../../../lib/http/edge/log-redaction.ts'

type Log = FastifyBaseLogger & Record<string, unknown>
const METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

/** The logger that a route of the plugin gets over this logger of the host. */
function seenThrough(logger: unknown, secretHeaders?: readonly string[]): Log {
  let factory = (..._args: unknown[]): unknown => null
  const child = {
    childLoggerFactory: (given: unknown) => given,
    setChildLoggerFactory: (made: typeof factory) => {
      factory = made
    }
  }
  redactLoggedUrls(child as unknown as FastifyInstance, secretHeaders)
  return factory.call({}, logger, {}, {}, {}) as Log
}

/** The one argument that reaches the host's logger. */
function logged(entry: unknown, secretHeaders?: readonly string[]): Record<string, unknown> {
  const entries: unknown[] = []
  seenThrough(
    {
      level: 'info',
      info: (...args: unknown[]) => {
        entries.push(...args)
      }
    },
    secretHeaders
  ).info(entry)
  t.equal(entries.length, 1)
  return entries[0] as Record<string, unknown>
}

function noop(): void {}

t.test('keeps other members of a plain request, also with names that every object has', (t) => {
  t.strictSame(logged({ url: '/x?code=s', query: 'code=s', constructor: 'mine', toString: 'too', raw: null }), {
    url: '/x?code=***',
    query: 'code=***',
    constructor: 'mine',
    toString: 'too',
    raw: null
  })
  t.end()
})

t.test('redacts credential headers, and the query in headers that contain a URL', async (t) => {
  const headers = {
    authorization: 's',
    Authorization: 's',
    'proxy-authorization': 's',
    cookie: 's',
    'set-cookie': ['s'],
    'x-key': 's',
    referer: '/a?code=s',
    location: '/b?code=s',
    ':path': '/c?code=s',
    accept: '/d?code=s',
    host: 'h'
  }
  t.strictSame(logged({ req: { url: '/x?code=s', headers, id: 1 }, other: 2 }, ['x-key']), {
    req: {
      url: '/x?code=***',
      headers: {
        authorization: '***',
        Authorization: '***',
        'proxy-authorization': '***',
        cookie: '***',
        'set-cookie': '***',
        'x-key': '***',
        referer: '/a?code=***',
        location: '/b?code=***',
        ':path': '/c?code=***',
        accept: '/d?code=s',
        host: 'h'
      },
      id: 1
    },
    other: 2
  })
  t.strictSame(logged({ req: { url: '/x', headers: { location: ['/a?code=s'], 'x-key': 's' } } }), {
    req: { url: '/x', headers: { location: ['/a?code=s'], 'x-key': 's' } }
  })
  t.strictSame(logged({ req: { url: '/x' } }), { req: { url: '/x' } })
  t.strictSame(logged({ req: { url: '/x', headers: null } }), { req: { url: '/x', headers: null } })
})

t.test('passes a value that is neither a request nor a reply through unchanged', async (t) => {
  for (const entry of [
    'text',
    5,
    null,
    undefined,
    new Error('x'),
    [],
    {},
    { req: 5 },
    { req: null },
    { req: { url: 5 } },
    { res: null },
    { res: 'x' },
    { url: 5 }
  ])
    t.equal(logged(entry), entry, inspect(entry))
  const failed = Object.assign(new Error('x'), { url: '/x?code=s' })
  t.equal(logged(failed), failed)
})

t.test('redacts the URLs, the query and the headers of a logged request, and keeps its class', async (t) => {
  class Raw {
    url = '/x?code=s'
    headers = { cookie: 's' }
    method = 'GET'
  }
  class Request {
    url = '/x?code=s'
    originalUrl: unknown = '/y?code=s'
    query: unknown = { code: 's', scope: 'a', 'b c': 's', list: ['s'] }
    headers: unknown = { cookie: 's' }
    raw: unknown = new Raw()
    id = 'i'
  }
  for (const entry of [logged(new Request()), logged({ req: new Request() })['req'] as Record<string, unknown>]) {
    t.ok(entry instanceof Request)
    t.equal(entry['id'], 'i')
    t.strictSame(
      [entry['url'], entry['originalUrl'], entry['query'], entry['headers']],
      ['/x?code=***', '/y?code=***', { code: '***', scope: 'a', '***': '***', list: '***' }, { cookie: '***' }]
    )
    const raw = entry['raw'] as Raw
    t.strictSame(
      [raw instanceof Raw, raw.url, raw.headers, raw.method],
      [true, '/x?code=***', { cookie: '***' }, 'GET']
    )
    t.ok(Object.keys(entry).includes('url'))
  }
  const bare = logged(
    Object.assign(new Request(), { originalUrl: undefined, query: null, headers: undefined, raw: 'raw' })
  )
  t.strictSame([bare['originalUrl'], bare['query'], bare['headers'], bare['raw']], [undefined, null, undefined, 'raw'])
})

t.test('redacts the URLs and the headers of a logged reply, and keeps its class', async (t) => {
  class Reply {
    request: unknown = { url: '/x?code=s' }
    req: unknown = { url: '/y?code=s' }
    statusCode = 303
    getHeaders(): object {
      return { location: '/z?code=s', 'set-cookie': 's', code: this.statusCode }
    }
  }
  const { res } = logged({ res: new Reply() }) as { res: Reply }
  t.ok(res instanceof Reply)
  t.strictSame(
    [res.request, res.req, res.statusCode, res.getHeaders()],
    [{ url: '/x?code=***' }, { url: '/y?code=***' }, 303, { location: '/z?code=***', 'set-cookie': '***', code: 303 }]
  )
  const plain = { statusCode: 200, request: 'x', req: null, getHeaders: 'x' }
  const entry = { res: plain }
  t.equal((logged(entry) as typeof entry).res, plain, 'of which nothing is to be hidden, it is the very reply')
})

t.test('passes other properties and methods through to the logger of the host', async (t) => {
  class Logger {
    level = 'info'
    own = 1
    lines: unknown[] = []
    info(...args: unknown[]): number {
      return this.lines.push(args)
    }
    child(bindings: object): unknown {
      this.lines.push(bindings)
      return this
    }
  }
  const logger = new Logger()
  const log = seenThrough(logger)
  t.not(log, logger)
  t.ok((log as unknown) instanceof Logger)
  t.ok('own' in log)
  t.notOk('other' in log)
  log['own'] = 2
  t.equal(logger.own, 2)
  t.equal(log['own'], 2)
  t.equal((log.info as (...args: unknown[]) => unknown)('a', { url: '/x?code=s' }), 1, 'with what its methods return')
  log.child({ req: { url: '/y?code=s' } }).info({ url: '/z?code=s' })
  t.strictSame(logger.lines, [['a', { url: '/x?code=***' }], { req: { url: '/y?code=***' } }, [{ url: '/z?code=***' }]])
  for (const name of METHODS.filter((method) => method !== 'info'))
    t.equal((log[name] as () => unknown)(), undefined, `${name} is there, though the host's logger has none`)
  t.equal(log['silent'], undefined)
  t.equal(log[Symbol.iterator as unknown as string], undefined)
})

t.test('returns a logger unwrapped when its methods do nothing', async (t) => {
  const none = Object.fromEntries(METHODS.map((name) => [name, noop]))
  t.equal(seenThrough(none), none)
  t.equal(seenThrough(null), null)
  t.equal(seenThrough('logger'), 'logger')
  t.not(seenThrough({ ...none, level: 'info' }), none)
  for (const name of METHODS) {
    const one = { ...none, [name]: (): string => 'said' }
    t.not(seenThrough(one), one, `${name} is on`)
  }
  const off = {
    level: 'info',
    debug: noop,
    trace: function noop(_entry: unknown): void {},
    warn: function other(): void {}
  }
  const log = seenThrough(off)
  t.equal(log.debug, off.debug)
  t.not(log.trace, off.trace)
  t.not(log.warn, off.warn)
})
