import { generateKeyPairSync, sign } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import t, { type Test } from '../support/tap.ts'
import { type Hook, OAuthError } from '../../lib/index.ts'
import { DECORATORS } from '../../lib/settings/sections/decorators.ts'
import { decodeJwt, encodePart } from '../support/jwt.ts'
import { bearer, signUp } from '../support/app.ts'
import { basic, SECRET } from '../support/openid.ts'
import { appWith, next } from './support/hooks-app.ts'

type Token =
  | 'none'
  | 'malformed'
  | 'badly signed'
  | 'of an unknown kid'
  | 'expired'
  | 'revoked'
  | "a third party's"
  | "a machine's"
  | 'good'

const BAD: Token[] = ['malformed', 'badly signed', 'of an unknown kid', 'expired', 'revoked']
const ALL: Token[] = ['none', ...BAD, "a third party's", "a machine's", 'good']

interface Subject {
  app: FastifyInstance
  headers: Record<Token, Record<string, string>>
}

async function subjectOf(t: Test): Promise<Subject> {
  const { app, clock } = await appWith(t, (host) => {
    for (const [form, route] of Object.entries(FORMS))
      for (const [name, { hooks }] of Object.entries(HOOKS)) route(host, `/${form}/${name}`, hooks(host))
  })
  const { sub } = await signUp(app)
  const issue = async (clientId?: string): Promise<string> =>
    (await app.authority.issueTokens(sub, { clientId, amr: ['pwd'] })).access_token
  const expired = await issue()
  clock.step(901_000)
  const revoked = await issue()
  await app.authority.revokeSession(sub, String(decodeJwt(revoked).claims.sid))
  const good = await issue()
  const machine = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: basic('robot', SECRET),
    payload: { grant_type: 'client_credentials' }
  })
  const { header, claims } = decodeJwt(good)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signed = (kid: string): string => {
    const input = `${encodePart({ ...header, kid })}.${encodePart(claims)}`
    const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return `${input}.${signature.toString('base64url')}`
  }
  return {
    app,
    headers: {
      none: {},
      malformed: bearer('x'),
      'badly signed': bearer(signed(String(header.kid))),
      'of an unknown kid': bearer(signed('other')),
      expired: bearer(expired),
      revoked: bearer(revoked),
      "a third party's": bearer(await issue('third')),
      "a machine's": bearer(machine.json().access_token),
      good: bearer(good)
    }
  }
}

interface Expected {
  /** The hook with its required guard. */
  hooks(app: FastifyInstance): Hook[]
  /** The tokens that pass. */
  passes: Token[]
  /** Status and code of requests that are refused for other reasons than the token. */
  refuses?: Partial<Record<Token, [status: number, code: string]>>
}

const THIRD: Expected['refuses'] = { "a third party's": [403, 'insufficient_scope'] }

/** Every hook that the plugin adds, by the name of its decorator or its method. */
const HOOKS: Record<string, Expected> = {
  authenticate: { hooks: (app) => [app.authenticate], passes: ["a third party's", "a machine's", 'good'] },
  authenticateOptional: {
    hooks: (app) => [app.authenticateOptional],
    passes: ['none', "a third party's", "a machine's", 'good']
  },
  requireFirstParty: {
    hooks: (app) => [app.authenticate, app.requireFirstParty],
    passes: ["a machine's", 'good'],
    refuses: THIRD
  },
  requireScope: {
    hooks: (app) => [app.authenticate, app.requireScope('profile')],
    passes: ["a third party's", 'good'],
    refuses: { "a machine's": [403, 'insufficient_scope'] }
  },
  requireRole: {
    hooks: (app) => [app.authenticate, app.requireRole('editor')],
    passes: ["a third party's", 'good'],
    refuses: { "a machine's": [403, 'insufficient_scope'] }
  },
  requireNoActor: {
    hooks: (app) => [app.authenticate, app.requireNoActor],
    passes: ["a third party's", "a machine's", 'good']
  },
  requireAuth: {
    hooks: (app) => [app.authenticate, app.requireAuth({ maxAge: 300 })],
    passes: ["a third party's", 'good'],
    refuses: { "a machine's": [403, 'access_denied'] }
  },
  requireUser: {
    hooks: (app) => [app.requireUser],
    passes: ['good'],
    refuses: { ...THIRD, "a machine's": [403, 'access_denied'] }
  },
  // A token for the service is not for an API.
  protectedResource: { hooks: (app) => [app.protectedResource({ resource: '/api' })], passes: [] },
  // These two only read the browser session.
  readSession: { hooks: (app) => [app.authority.readSession], passes: ALL },
  requireSession: {
    hooks: (app) => [app.authority.requireSession()],
    passes: [],
    refuses: Object.fromEntries(ALL.map((token) => [token, [401, 'login_required']]))
  }
}

/** The methods of `app.authority` that are no hooks and make none. */
const METHODS = [
  'apiKeys',
  'verify',
  'issueTokens',
  'signIn',
  'signOut',
  'revokeUser',
  'sessions',
  'revokeSession',
  'consents',
  'blockClient',
  'unblockClient',
  'users',
  'revokeConsent',
  'identities',
  'linkIdentity',
  'unlinkIdentity',
  'hashPassword',
  'verifyAudit',
  'verifyPassword',
  'changePassword',
  'factors',
  'removeFactor',
  'resetFactors',
  'startEnrolment',
  'importTotp',
  'forgetDevices',
  'deleteUser',
  'startPasswordReset',
  'connections',
  'health',
  'on',
  'off'
]

/** Calls a hook like NestJS: guards decide, and the handler runs if they accept. */
class Guard {
  readonly #hooks: Hook[]

  constructor(hooks: Hook[]) {
    this.#hooks = hooks
  }

  async canActivate(context: { getRequest(): FastifyRequest; getResponse(): FastifyReply }): Promise<boolean> {
    for (const hook of this.#hooks) await hook(context.getRequest(), context.getResponse())
    return true
  }
}

type Route = (app: FastifyInstance, url: string, hooks: Hook[]) => unknown

const FORMS: Record<string, Route> = {
  hook: (app, url, hooks) => app.get(url, { onRequest: hooks }, next),
  fastifyAuth: (app, url, hooks) => app.get(url, { onRequest: app.auth(hooks, { relation: 'and' }) }, next),
  // Fastify hands a callback to an asynchronous hook too.
  passedOn: (app, url, hooks) =>
    app.get(
      url,
      {
        onRequest: hooks.map(
          (hook) =>
            async (...given: [FastifyRequest, FastifyReply]) =>
              await hook(...given)
        )
      },
      next
    ),
  awaited: (app, url, hooks) =>
    app.get(url, async (request, reply) => {
      for (const hook of hooks) await hook(request, reply)
      return await next(request, reply)
    }),
  guard: (app, url, hooks) =>
    app.get(url, async (request, reply) => {
      const allowed = await new Guard(hooks).canActivate({ getRequest: () => request, getResponse: () => reply })
      return allowed ? await next(request, reply) : await reply.code(403).send()
    }),
  graphql: (app, url, hooks) => {
    const contextOf = async (request: FastifyRequest): Promise<{ auth: unknown }> => {
      for (const hook of hooks) await hook(request)
      return { auth: request.auth }
    }
    app.get(url, async (request, reply) => {
      await contextOf(request)
      return await next(request, reply)
    })
  }
}

t.test('adds only the hooks, methods and decorators that these tests list', async (t) => {
  const { app } = await appWith(t, () => {})
  const members = new Set<string>([...Object.keys(DECORATORS), ...Object.keys(app.authority)])
  for (const name of ['auth', 'authSession', 'authority', ...METHODS]) t.ok(members.delete(name), name)
  t.strictSame([...members].sort(), Object.keys(HOOKS).sort())
})

// covers ASVS-8.2.1 ASVS-8.3.1
t.test('runs the handler only with a token that the hook accepts, for six ways to call the hook', async (t) => {
  const { app, headers } = await subjectOf(t)
  for (const [name, { passes, refuses = {} }] of Object.entries(HOOKS)) {
    for (const form of Object.keys(FORMS)) {
      for (const token of ALL) {
        const label = `${name}, ${form}, ${token}`
        const reply = await app.inject({ url: `/${form}/${name}`, headers: headers[token] })
        const reached = reply.headers['x-reached'] === 'yes'
        t.equal(reached, passes.includes(token), label)
        if (reached) {
          t.strictSame([reply.statusCode, reply.body], [200, 'the next line'], label)
          continue
        }
        const callback = ['hook', 'fastifyAuth', 'passedOn'].includes(form)
        if (name === 'requireSession' && callback) {
          t.match([reply.statusCode, reply.headers.location], [303, /^\/auth\/login\?/], label)
          continue
        }
        const [status, code] = refuses[token] ?? [401, 'invalid_token']
        t.match([reply.statusCode, reply.json()], [status, { code: 'FST_AUTHORITY_OAUTH' }], label)
        const challenge = reply.headers['www-authenticate']
        if (token === 'none' && code === 'invalid_token')
          t.match(challenge, name === 'protectedResource' ? /^Bearer resource_metadata="[^"]+"$/ : /^Bearer$/, label)
        else if (code === 'access_denied' || code === 'login_required') t.equal(challenge, undefined, label)
        else t.match(challenge, `Bearer error="${code}"`, label)
      }
    }
  }
})

t.test('rejects an awaited hook with an OAuthError, sends nothing and sets no user', async (t) => {
  let seen: unknown[] = []
  const { app } = await appWith(t, (host) => {
    host.get('/caught', async (request, reply) => {
      const errors: unknown[] = []
      for (const hook of [host.authenticate, host.requireUser, host.authority.requireSession({ maxAge: 60 })])
        await hook(request, reply).catch((error: unknown) => {
          errors.push(error)
        })
      seen = [reply.sent, request.auth, request.authSession, ...errors]
      return 'mine'
    })
  })
  const reply = await app.inject({ url: '/caught?a=1', headers: bearer('x') })
  t.strictSame([reply.statusCode, reply.body, reply.headers['www-authenticate']], [200, 'mine', undefined])
  const [sent, auth, session, ...errors] = seen as [boolean, unknown, unknown, ...OAuthError[]]
  t.strictSame([sent, auth, session], [false, null, null])
  for (const error of errors) t.ok(error instanceof OAuthError)
  t.match(errors, [
    {
      code: 'FST_AUTHORITY_OAUTH',
      error: 'invalid_token',
      statusCode: 401,
      message: 'The token is malformed.',
      headers: { 'www-authenticate': /^Bearer error="invalid_token"/ }
    },
    { error: 'invalid_token', statusCode: 401 },
    { error: 'login_required', statusCode: 401, redirectTo: '/auth/login?return_to=%2Fcaught%3Fa%3D1' }
  ])
})

t.test('@fastify/auth tries the next function after a rejection, in both orders', async (t) => {
  const { app } = await appWith(t, (host) => {
    const apiKey = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
      if (request.headers['x-api-key'] === 'right') done()
      else done(Object.assign(new Error('no key'), { statusCode: 401 }))
    }
    host.get('/token-first', { onRequest: host.auth([host.authenticate, apiKey]) }, next)
    host.get('/key-first', { onRequest: host.auth([apiKey, host.authenticate]) }, next)
  })
  const { sub } = await signUp(app)
  const good = bearer((await app.authority.issueTokens(sub)).access_token)
  for (const url of ['/token-first', '/key-first']) {
    const ask = async (headers: Record<string, string>): Promise<unknown[]> => {
      const reply = await app.inject({ url, headers })
      return [reply.statusCode, reply.headers['x-reached'], reply.headers['www-authenticate'] !== undefined]
    }
    t.strictSame(await ask(good), [200, 'yes', false], `${url}: a token`)
    t.strictSame(await ask({ 'x-api-key': 'right' }), [200, 'yes', false], `${url}: a key`)
    t.strictSame(await ask({ 'x-api-key': 'right', ...bearer('x') }), [200, 'yes', false], `${url}: a key, a bad token`)
    t.match(await ask({ 'x-api-key': 'wrong', ...bearer('x') }), [401, undefined], `${url}: neither`)
  }
})
