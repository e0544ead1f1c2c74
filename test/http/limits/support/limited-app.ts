import { plainCookie } from '../../../../lib/http/edge/sealed-cookies.ts'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions, InjectOptions } from 'fastify'
import { memoryAttemptStore } from '../../../../lib/adapters/memory/attempt-store.ts'
import { systemRandom } from '../../../../lib/adapters/node/system.ts'
import { createAttemptLimiter } from '../../../../lib/adapters/rate-limit/limiter.ts'
import { OAuthError } from '../../../../lib/errors.ts'
import type { AuthorityEvents } from '../../../../lib/events.ts'
import { createEvents } from '../../../../lib/events/emitter.ts'
import { sendOAuthError } from '../../../../lib/http/edge/error-reply.ts'
import { createRequestLimiter } from '../../../../lib/http/edge/limit.ts'
import type { RateLimitOptions } from '../../../../lib/settings/sections/rate-limit.ts'
import { resolveRateLimits } from '../../../../lib/settings/sections/rate-limit.ts'
import { withCheckedLimitHooks } from '../../../../lib/composition/hooks.ts'
import { steppedClock, type SteppedClock } from '../../../../lib/testing/doubles.ts'

export type Limits = RateLimitOptions

export interface LimitedApp {
  app: FastifyInstance
  clock: SteppedClock
  limited: Array<AuthorityEvents['rate_limited']>
  warnings: string[]
  /** The reported refusals. */
  told: unknown[]
  /** The number of times that the work ran. */
  work: { done: number }
  /** Sends `POST /login` with the result that the work shall have. Resolves to the response. */
  login(attempt?: Attempt, request?: InjectOptions): Promise<Awaited<ReturnType<FastifyInstance['inject']>>>
  /** The statuses of this many sequential attempts. */
  statuses(count: number, attempt?: Attempt, request?: InjectOptions): Promise<number[]>
}

export interface Attempt {
  username?: string
  /** The result of the work. Default: a wrong password. */
  as?: 'success' | 'invalid_grant' | 'server_error' | 'temporarily_unavailable' | 'bug'
  rule?: 'login' | 'register' | 'passwordReset' | 'refresh'
}

/** A Fastify app with one route, which succeeds or fails as the request says, behind the real rate limiter. */
export async function limitedApp(
  t: { teardown(task: () => Promise<void>): void },
  limits: Limits | false = {},
  options: FastifyServerOptions & { secureCookies?: boolean } = {}
): Promise<LimitedApp> {
  const { secureCookies = true, ...serverOptions } = options
  const clock = steppedClock()
  const limited: LimitedApp['limited'] = []
  const warnings: string[] = []
  const told: unknown[] = []
  const work = { done: 0 }
  const events = createEvents(
    () => clock.now(),
    () => {}
  )
  events.on('rate_limited', (payload) => {
    limited.push(payload)
  })
  const store = memoryAttemptStore({ clock })
  const attempts = createAttemptLimiter(store)
  const app = Fastify(serverOptions)
  const resolved = resolveRateLimits(limits)
  const limiter = createRequestLimiter(resolved === false ? false : withCheckedLimitHooks(resolved, clock), {
    attempts: {
      ...attempts,
      refund: (id, given) => {
        store.refund(id, given)
      }
    },
    random: systemRandom(),
    events,
    clock,
    log: {
      info: (...args: unknown[]) => {
        told.push(args[0])
      },
      warn: (...args: unknown[]) => {
        warnings.push(String(args.at(-1)))
      },
      error: (...args: unknown[]) => {
        warnings.push(String(args.at(-1)))
      }
    },
    deviceKey: Buffer.alloc(32, 7),
    userOf: async (username) => ({ id: 'u', username, passwordHash: 'the same all the time' }),
    onceRehashed: async (user) => user,
    deviceCookie: plainCookie({
      issuer: secureCookies ? 'https://auth.example.com' : 'http://localhost:3000',
      prefix: '/auth',
      of: 'device'
    })
  })
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof OAuthError) sendOAuthError(error, request, reply)
    else reply.code(500).send({ error: 'bug' })
  })
  app.route<{ Body: Attempt | undefined; Querystring: Attempt }>({
    method: ['GET', 'HEAD', 'POST'],
    url: '/login',
    async handler(request, reply) {
      const { username, as = 'invalid_grant', rule = 'login' } = request.body ?? request.query
      const limited = async <T>(todo: () => Promise<T>): Promise<T> =>
        rule === 'refresh'
          ? await limiter.countFailure(request, reply, todo)
          : await limiter.reserve(request, reply, username === undefined ? { rule } : { rule, account: username }, todo)
      return await limited(async () => {
        work.done++
        // The work takes some turns, so that parallel requests overlap.
        await new Promise((resolve) => {
          setImmediate(resolve)
        })
        if (as === 'success') {
          reply.header('set-cookie', 'theirs=1')
          return { signedIn: true }
        }
        if (as === 'bug') throw new TypeError('a bug')
        throw new OAuthError(as, 'It did not work.')
      })
    }
  })
  t.teardown(async () => {
    await app.close()
  })
  const login: LimitedApp['login'] = async (attempt = {}, request = {}) =>
    await app.inject({ method: 'POST', url: '/login', payload: attempt, ...request })
  return {
    app,
    clock,
    limited,
    warnings,
    told,
    work,
    login,
    async statuses(count, attempt, request) {
      const seen: number[] = []
      for (let i = 0; i < count; i++) seen.push((await login(attempt, request)).statusCode)
      return seen
    }
  }
}
