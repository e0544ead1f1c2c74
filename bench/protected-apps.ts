import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import jwt from '@fastify/jwt'
import express from 'express'
import { auth } from 'express-oauth2-jwt-bearer'
import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { memoryUserStore } from '../lib/index.ts'
import { some } from './quick.ts'
import { bearer, IDLE_MS, type LoadedRequest, listen, type Subject } from './subject.ts'

const ISSUER = 'http://localhost'
const HELLO = { hello: 'world' }
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const KEY = { ...pair.privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'es' }
const PUBLIC_KEY = { ...pair.publicKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'es', use: 'sig' }

export const newApp = (): FastifyInstance => Fastify()

/** A host's route behind `app.authenticate`. All of one process sign with one key. */
export async function protectedApp(): Promise<FastifyInstance> {
  const app = newApp()
  await app.register(authPlugin, {
    issuer: ISSUER,
    keys: [KEY],
    users: memoryUserStore([{ id: 'u1', username: 'ann', passwordHash: null }])
  })
  app.get('/', { onRequest: app.authenticate }, async () => HELLO)
  await app.ready()
  return app
}

export async function tokensOf(app: FastifyInstance, count: number): Promise<string[]> {
  const tokens: string[] = []
  for (let i = 0; i < some(count); i++) tokens.push((await app.authority.issueTokens('u1')).access_token)
  return tokens
}

/** Made by another instance with the same key. */
export async function foreignTokens(count: number): Promise<string[]> {
  const other = await protectedApp()
  const tokens = await tokensOf(other, count)
  await other.close()
  return tokens
}

export const requestsWith = (tokens: readonly string[]): LoadedRequest[] =>
  tokens.map((token) => ({ method: 'GET', path: '/', headers: bearer(token), body: '' }))

async function subject(app: FastifyInstance, tokens: readonly string[]): Promise<Subject> {
  return { port: await listen(app), requests: requestsWith(tokens), status: 200 }
}

/** The same bytes come in as for the others. */
export async function bare(count: number): Promise<Subject> {
  const app = newApp()
  app.get('/', async () => HELLO)
  return await subject(app, await foreignTokens(count))
}

export async function ours(count: number): Promise<Subject> {
  const app = await protectedApp()
  return await subject(app, await tokensOf(app, count))
}

export async function oursNeverSeen(count: number): Promise<Subject> {
  return await subject(await protectedApp(), await foreignTokens(count))
}

/** As little as a route can do that checks a token with `node:crypto` alone. */
export async function handWritten(count: number): Promise<Subject> {
  const key = { key: createPublicKey({ key: PUBLIC_KEY, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
  const read = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Record<string, unknown>
  const app = newApp()
  app.decorateRequest('claims', null)
  app.get(
    '/',
    {
      onRequest: (request, reply, done) => {
        const token = request.headers.authorization?.slice(7) ?? ''
        const [header = '', payload = '', signature = ''] = token.split('.')
        const { alg } = read(header)
        const signed =
          alg === 'ES256' &&
          verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'))
        const claims = signed ? read(payload) : null
        if (
          claims === null ||
          claims['iss'] !== ISSUER ||
          claims['aud'] !== ISSUER ||
          Number(claims['exp']) * 1000 <= new Date().getTime()
        ) {
          reply.code(401).send({ error: 'invalid_token' })
          return
        }
        ;(request as unknown as Record<string, unknown>)['claims'] = claims
        done()
      }
    },
    async () => HELLO
  )
  return await subject(app, await foreignTokens(count))
}

async function jwtApp(cache: boolean): Promise<FastifyInstance> {
  const app = newApp()
  await app.register(jwt, {
    secret: {
      private: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      public: pair.publicKey.export({ format: 'pem', type: 'spki' }).toString()
    },
    sign: { algorithm: 'ES256' },
    verify: { algorithms: ['ES256'], allowedIss: ISSUER, allowedAud: ISSUER, cache }
  })
  return app
}

export async function fastifyJwt(count: number, { cache }: { cache: boolean }): Promise<Subject> {
  const app = await jwtApp(cache)
  app.get(
    '/',
    {
      onRequest: async (request) => {
        await request.jwtVerify()
      }
    },
    async () => HELLO
  )
  return await subject(app, await foreignTokens(count))
}

/** Without the wrapper of @fastify/jwt around requests: its verification (fast-jwt) as a host may call it in a hook. */
export async function fastJwtInHook(count: number): Promise<Subject> {
  const app = await jwtApp(true)
  app.get(
    '/',
    {
      onRequest: (request, _reply, done) => {
        request.user = app.jwt.verify(request.headers.authorization?.slice(7) ?? '')
        done()
      }
    },
    async () => HELLO
  )
  return await subject(app, await foreignTokens(count))
}

export async function expressBearer(count: number): Promise<Subject> {
  const app = express()
  app.get('/jwks', (_request, response) => {
    response.json({ keys: [PUBLIC_KEY] })
  })
  const server = app.listen(0, '127.0.0.1')
  server.keepAliveTimeout = IDLE_MS
  await new Promise((resolve) => {
    server.once('listening', resolve)
  })
  const { port } = server.address() as AddressInfo
  app.use(
    auth({ issuer: ISSUER, audience: ISSUER, jwksUri: `http://127.0.0.1:${port}/jwks`, tokenSigningAlg: 'ES256' })
  )
  app.get('/', (_request, response) => {
    response.json(HELLO)
  })
  return { port, requests: requestsWith(await foreignTokens(count)), status: 200 }
}
