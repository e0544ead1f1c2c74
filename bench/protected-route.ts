import { bare, expressBearer, fastifyJwt, fastJwtInHook, handWritten, ours, oursNeverSeen } from './protected-apps.ts'
import type { HttpBenchmark } from './subject.ts'

export const protectedRoute: HttpBenchmark = {
  title: 'a protected route, ES256, token seen before',
  shotMs: 500,
  concurrency: 20,
  subjects: {
    'bare route': { start: async () => await bare(1) },
    'app.authenticate, 1 token': { start: async () => await ours(1), goal: 1.04 },
    'bare route, 800 tokens': { start: async () => await bare(800) },
    'app.authenticate, 800 tokens': {
      start: async () => await ours(800),
      against: 'bare route, 800 tokens'
    },
    'bare route, 5000 tokens': { start: async () => await bare(5000) },
    'app.authenticate, 5000 tokens': {
      start: async () => await ours(5000),
      against: 'bare route, 5000 tokens'
    },
    'fast-jwt with cache in a hook, 1 token': { start: async () => await fastJwtInHook(1) },
    '@fastify/jwt with cache, 1 token': { start: async () => await fastifyJwt(1, { cache: true }) },
    '@fastify/jwt with cache, 5000 tokens': {
      start: async () => await fastifyJwt(5000, { cache: true }),
      against: 'bare route, 5000 tokens'
    },
    '@fastify/jwt, 1 token': { start: async () => await fastifyJwt(1, { cache: false }) },
    'express-oauth2-jwt-bearer, 1 token': { start: async () => await expressBearer(1) }
  }
}

/** More than are ever remembered, and none asks twice before it is forgotten. */
const TOKENS = 60_000

export const unseenToken: HttpBenchmark = {
  title: 'a protected route, ES256, token never seen',
  shotMs: 500,
  concurrency: 20,
  subjects: {
    'one node:crypto verify by hand': { start: async () => await handWritten(TOKENS) },
    'app.authenticate': { start: async () => await oursNeverSeen(TOKENS), goal: 1.05 },
    '@fastify/jwt with cache': { start: async () => await fastifyJwt(TOKENS, { cache: true }) },
    '@fastify/jwt': { start: async () => await fastifyJwt(TOKENS, { cache: false }) }
  }
}
