import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

const HIDDEN = '***'
/** Parameters whose values are no secrets and say nothing about a person. */
const SHOWN_PARAMETERS = ['client_id', 'response_type', 'scope', 'prompt', 'ui_locales', 'response_mode', 'error']
/** The form of parameter names in OAuth. Anything else could be a value without its name, and is not shown. */
const PARAMETER_NAME = /^[a-z_]{1,32}$/
/** A value without a delimiter, plain or encoded, because another parameter could hide behind a delimiter. */
const PLAIN_VALUE = /^(?:[\w.~+:/, -]|%(?:20|2[BbCcFf]|3[Aa])){0,256}$/
const SECRET_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie']
const URL_HEADERS = ['referer', 'location', ':path']
const LOGGER_METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/**
 * Redacts a URL of our routes for the log. Keeps the path, the parameter names that look like OAuth's, and the plain
 * values of `SHOWN_PARAMETERS`. Hides the fragment. Works on the text, so that a URL that can't be parsed is redacted
 * too.
 */
export function redactUrl(url: string): string {
  // Also ends the path at a `;`, because a host may use it as the delimiter of the query. No path of the plugin
  // contains a `;`.
  const end = url.search(/[?;#]/)
  if (end === -1) return url
  const [query = '', fragment] = url.slice(end + 1).split(/#(.*)/s)
  const shown = url[end] === '#' ? HIDDEN : query.split('&').map(redactParameter).join('&')
  return `${url.slice(0, end + 1)}${shown}${fragment === undefined ? '' : `#${HIDDEN}`}`
}

/**
 * Redacts URLs and the credentials in headers in every line that routes of `child` log through `request.log` or
 * `reply.log`. Works with any serializers, formatters, child logger factory and logger of the host, because they get an
 * object that behaves like the request. Does not change lines of other loggers, nor the text of a line.
 * `secretHeaders`: the names of more headers to hide, in lower case.
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
 * Wraps the host's logger in a proxy. The proxy has an empty target, because a proxy of a frozen logger could not
 * replace its members. Methods run on the logger itself, which may have private fields.
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

/** True for the logger that Fastify uses if the host sets none: it logs nothing, and has no level to set. */
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

/**
 * True for the empty method that pino and abstract-logging have for a level that is off. Its arguments need no
 * redaction.
 */
function isNoop(method: unknown): boolean {
  return typeof method === 'function' && method.name === 'noop' && method.length === 0
}

/**
 * True for a method that a logger must have. Fastify refuses a logger that lacks one, but only if a factory made the
 * logger. Our factory must not cause that, so a missing method does nothing.
 */
function isLoggerMethod(key: string | symbol): boolean {
  return typeof key === 'string' && LOGGER_METHODS.includes(key)
}

/**
 * Redacts one argument of a log call: a request, or the `req` and `res` of bindings. Returns any other value unchanged.
 */
function redactEntry(entry: unknown, secrets: ReadonlySet<string>): unknown {
  if (!isObjectOrArray(entry) || entry instanceof Error) return entry
  if (isRequest(entry)) return requestView(entry, secrets)
  const { req, res } = entry
  const shown = {
    ...(isRequest(req) ? { req: requestView(req, secrets) } : {}),
    ...(isObjectOrArray(res) ? { res: replyView(res, secrets) } : {})
  }
  return Object.keys(shown).length === 0 ? entry : { ...entry, ...shown }
}

/** The request of Fastify or Node.js, or a plain object with the same members. */
interface RequestLike extends Record<string, unknown> {
  url: string
}

/** Makes an object that behaves like the request, with redacted URLs, query and headers. */
function requestView(request: RequestLike, secrets: ReadonlySet<string>): object {
  const { raw, originalUrl, query, headers } = request
  const shown: Record<string, unknown> = {
    url: redactUrl(request.url),
    originalUrl: typeof originalUrl === 'string' ? redactUrl(originalUrl) : originalUrl,
    query: redactQuery(query),
    headers: isObjectOrArray(headers) ? redactHeaders(headers, secrets) : headers,
    raw: isRequest(raw) && raw !== request ? requestView(raw, secrets) : raw
  }
  if (Object.getPrototypeOf(request) === Object.prototype)
    return Object.fromEntries(
      Object.entries(request).map(([name, value]) => [name, Object.hasOwn(shown, name) ? shown[name] : value])
    )
  return Object.create(request, {
    url: { value: shown['url'], enumerable: true },
    originalUrl: { value: shown['originalUrl'] },
    query: { value: shown['query'] },
    headers: { value: shown['headers'] },
    raw: { value: shown['raw'] }
  }) as object
}

/** Makes an object that behaves like the reply of Fastify or Node.js, with a redacted request and redacted headers. */
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

function redactQuery(query: unknown): unknown {
  if (typeof query === 'string') return redactUrl(`?${query}`).slice(1)
  if (!isObjectOrArray(query)) return query
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
      return [name, URL_HEADERS.includes(name.toLowerCase()) && typeof value === 'string' ? redactUrl(value) : value]
    })
  )
}

function isObjectOrArray(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isRequest(value: unknown): value is RequestLike {
  return isObjectOrArray(value) && typeof value['url'] === 'string'
}
