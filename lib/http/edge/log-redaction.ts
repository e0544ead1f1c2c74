import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

const HIDDEN = '***'
/** Parameters whose values are no secrets and say nothing about a person. */
const SHOWN_PARAMETERS = ['client_id', 'response_type', 'scope', 'prompt', 'ui_locales', 'response_mode', 'error']
/** The form of parameter names in OAuth. Anything else could be a value without its name, and is not shown. */
const PARAMETER_NAME = /^[a-z_]{1,32}$/
/** No delimiter, plain or encoded: another parameter could hide behind it. */
const PLAIN_VALUE = /^(?:[\w.~+:/, -]|%(?:20|2[BbCcFf]|3[Aa])){0,256}$/
const SECRET_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie']
const URL_HEADERS = ['referer', 'location', ':path']
const LOGGER_METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/**
 * A URL of our routes for the log: the path, the names of its parameters, and only those values that are no secret. It
 * works on the text, so that a URL that can't be parsed is redacted too.
 */
export function redactUrl(url: string): string {
  // A host may have set ; as a delimiter of the query. No path of the plugin contains it.
  const end = url.search(/[?;#]/)
  if (end === -1) return url
  const [query = '', fragment] = url.slice(end + 1).split(/#(.*)/s)
  const shown = url[end] === '#' ? HIDDEN : query.split('&').map(redactParameter).join('&')
  return `${url.slice(0, end + 1)}${shown}${fragment === undefined ? '' : `#${HIDDEN}`}`
}

/**
 * Makes every later line that is logged through `request.log` or `reply.log` in routes of `child` show URLs as
 * `redactUrl` does, and no credentials of headers. It holds for any serializers, formatters or factory of child loggers
 * of the host, and for pino and other loggers: they all get the request as they know it, with these members replaced.
 * Lines that a host logs by other means, or in a text of its own, are not changed. `secretHeaders` are more names of
 * such headers, in lower case.
 */
export function redactLoggedUrls(child: FastifyInstance, secretHeaders: readonly string[] = []): void {
  const secrets = new Set([...SECRET_HEADERS, ...secretHeaders])
  const inherited = child.childLoggerFactory
  child.setChildLoggerFactory(function (logger, bindings, options, rawRequest) {
    return redactingLogger(inherited.call(this, logger, bindings, options, rawRequest), secrets)
  })
}

function redactParameter(parameter: string): string {
  if (parameter === '') return ''
  const [name = '', value] = parameter.split(/=(.*)/s)
  if (!PARAMETER_NAME.test(name)) return HIDDEN
  return value === undefined ? name : `${name}=${shownValue(name, value)}`
}

function shownValue(name: string, value: unknown): string {
  return SHOWN_PARAMETERS.includes(name) && typeof value === 'string' && PLAIN_VALUE.test(value) ? value : HIDDEN
}

/**
 * Stands in front of the host's logger. The proxy has an empty target, because a proxy must not change the members of a
 * frozen logger. Methods run on the logger itself, which may have private fields.
 */
function redactingLogger(logger: FastifyBaseLogger, secrets: ReadonlySet<string>): FastifyBaseLogger {
  if (typeof logger !== 'object' || logger === null || isNone(logger)) return logger
  return new Proxy({} as FastifyBaseLogger, {
    get(_target, key) {
      const value: unknown = Reflect.get(logger, key, logger)
      if (typeof value !== 'function') return value ?? (isLoggerMethod(key) ? () => {} : value)
      const method = value as (...args: unknown[]) => unknown
      if (isNoop(method)) return method
      return (...args: unknown[]) => {
        const result = method.apply(
          logger,
          args.map((entry) => redactEntry(entry, secrets))
        )
        return key === 'child' ? redactingLogger(result as FastifyBaseLogger, secrets) : result
      }
    },
    set: (_target, key, value) => Reflect.set(logger, key, value, logger),
    has: (_target, key) => key in logger,
    getPrototypeOf: () => Object.getPrototypeOf(logger) as object | null
  })
}

/** The logger of an app without one: nothing is logged, and no level can be set that would change that. */
function isNone(logger: FastifyBaseLogger & { level?: unknown }): boolean {
  return (
    logger.level === undefined &&
    isNoop(logger.info) &&
    isNoop(logger.fatal) &&
    isNoop(logger.error) &&
    isNoop(logger.warn) &&
    isNoop(logger.debug) &&
    isNoop(logger.trace)
  )
}

/** The method of pino and abstract-logging for a level that is off. It needs no view of the request. */
function isNoop(method: unknown): boolean {
  return typeof method === 'function' && method.name === 'noop' && method.length === 0
}

/**
 * Fastify refuses a logger that lacks one of these, but only if a factory made it. Ours must not make that difference.
 */
function isLoggerMethod(key: string | symbol): boolean {
  return typeof key === 'string' && LOGGER_METHODS.includes(key)
}

/** One argument of a log call: bindings with `req` and `res`, a request itself, or anything. */
function redactEntry(entry: unknown, secrets: ReadonlySet<string>): unknown {
  if (!isObject(entry) || entry instanceof Error) return entry
  if (isRequest(entry)) return requestView(entry, secrets)
  const { req, res } = entry
  const shown = {
    ...(isRequest(req) ? { req: requestView(req, secrets) } : {}),
    ...(isObject(res) ? { res: replyView(res, secrets) } : {})
  }
  return Object.keys(shown).length === 0 ? entry : { ...entry, ...shown }
}

/** The request of Fastify or of Node.js, or a plain object in its likeness. */
interface RequestLike extends Record<string, unknown> {
  url: string
}

/** Behaves like the request, with other values in the members that show the URL. */
function requestView(request: RequestLike, secrets: ReadonlySet<string>): object {
  if (Object.getPrototypeOf(request) === Object.prototype)
    return {
      ...request,
      url: redactUrl(request.url),
      ...(isObject(request['headers']) ? { headers: redactHeaders(request['headers'], secrets) } : {})
    }
  const { raw, originalUrl, query, headers } = request
  return Object.create(request, {
    url: { value: redactUrl(request.url), enumerable: true },
    originalUrl: { value: typeof originalUrl === 'string' ? redactUrl(originalUrl) : originalUrl },
    query: { value: isObject(query) ? redactQuery(query) : query },
    headers: { value: isObject(headers) ? redactHeaders(headers, secrets) : headers },
    raw: { value: isRequest(raw) ? requestView(raw, secrets) : raw }
  }) as object
}

/**
 * The same for a reply of Fastify or a response of Node.js, because they contain the request, and the target of a
 * redirect.
 */
function replyView(reply: Record<string, unknown>, secrets: ReadonlySet<string>): object {
  const { request, req, getHeaders } = reply
  const shown = {
    ...(isRequest(request) ? { request: { value: requestView(request, secrets) } } : {}),
    ...(isRequest(req) ? { req: { value: requestView(req, secrets) } } : {}),
    ...(typeof getHeaders === 'function'
      ? { getHeaders: { value: () => redactHeaders(getHeaders.call(reply) as Record<string, unknown>, secrets) } }
      : {})
  }
  return Object.keys(shown).length === 0 ? reply : (Object.create(reply, shown) as object)
}

function redactQuery(query: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) =>
      PARAMETER_NAME.test(name) ? [name, shownValue(name, value)] : [HIDDEN, HIDDEN]
    )
  )
}

function redactHeaders(headers: Record<string, unknown>, secrets: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (secrets.has(name.toLowerCase())) return [name, HIDDEN]
      return [name, URL_HEADERS.includes(name) && typeof value === 'string' ? redactUrl(value) : value]
    })
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isRequest(value: unknown): value is RequestLike {
  return isObject(value) && typeof value['url'] === 'string'
}
