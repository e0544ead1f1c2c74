import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { AuthorityOptions } from './options.ts'

const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip']

/** Says once, with the mend, what works but is unsafe. Returns a hook for our own routes, where there is something to watch for. */
export function warnOfUnsafeSettings (host: FastifyInstance, options: AuthorityOptions, facts: { memoryState: boolean, ownCounters: boolean, severalProcesses: boolean }): onRequestHookHandler | null {
  const warn = (text: string): void => { host.log.warn(`fastify-authority: ${text}`) }
  const trustProxy = trustProxyOf(host)
  if (facts.memoryState && !facts.severalProcesses) host.log.info('fastify-authority: the state is in memory: everybody is signed out when this process ends, and no second process would know them. Set the option state or redis to keep it elsewhere.')
  if (facts.ownCounters && !facts.memoryState) host.log.info('fastify-authority: attempts are counted by this process alone, so several let through that many times more. Set the option redis to count them together.')
  if (facts.memoryState && facts.severalProcesses) warn('this is one of several workers and the state is in memory, so a token of one worker is unknown to the next. Set the option redis, or state to a shared one.')
  if (options.keys === undefined && options.secret === undefined) warn('signing keys are kept in memory: they change at every start, and no other process knows them. Set the option secret (32 bytes or more) to keep and share them.')
  if (trustProxy === true) warn('trustProxy is true, so every client can choose the address that its attempts are counted under. Set trustProxy to the addresses of your proxies.')
  if (typeof trustProxy === 'number') warn('trustProxy is a number, which Fastify takes to trust nobody, so that all clients share the address of your proxy. Set trustProxy to the addresses of your proxies.')
  return trustProxy === undefined || trustProxy === false ? forwardedRequestWatch(warn) : null
}

/** A proxy in front that nobody told Fastify of puts all clients into one bucket. */
function forwardedRequestWatch (warn: (text: string) => void): onRequestHookHandler {
  let warned = false
  return (request, _reply, done) => {
    if (!warned && isForwarded(request.headers)) {
      warned = true
      warn('requests come with forwarding headers but trustProxy is off, so all clients behind a proxy count as one address. Set trustProxy to the addresses of your proxies, or have the headers removed.')
    }
    done()
  }
}

function isForwarded (headers: FastifyRequest['headers']): boolean {
  for (const name of FORWARDING_HEADERS) if (headers[name] !== undefined) return true
  return false
}

/** Fastify keeps its options under a symbol and shows trustProxy nowhere else. */
function trustProxyOf (host: FastifyInstance): unknown {
  const key = Object.getOwnPropertySymbols(host).find((symbol) => symbol.description === 'fastify.options')
  const fastifyOptions = key === undefined ? undefined : (host as unknown as Record<symbol, { trustProxy?: unknown } | undefined>)[key]
  return fastifyOptions?.trustProxy
}
