import { createHash, generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import authPlugin, { type Hook, memoryUserStore } from '../lib/index.ts'
import { newApp } from './protected-apps.ts'
import { type Bench, median } from './report.ts'

const ISSUER = 'http://localhost'
const ROUNDS = 7
const SECRET = 'a secret of the benchmark, of more than 32 bytes'

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const client = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const issuerKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
const jwk = client.publicKey.export({ format: 'jwk' })

function proof(method: string, url: string, token?: string): string {
  const ath = token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }
  const claims = { jti: randomUUID(), htm: method, htu: url, iat: Math.floor(Date.now() / 1000), ...ath }
  const text = `${part({ typ: 'dpop+jwt', alg: 'ES256', jwk })}.${part(claims)}`
  const key = { key: client.privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

/** The guards of a bound token, and those of a Bearer token, each next to one raw verification in the same round. */
export const dpop: Bench = async ({ quick }) => {
  const rounds = quick ? 1 : ROUNDS
  const count = quick ? 100 : 2000
  const app = newApp()
  await app.register(authPlugin, {
    issuer: ISSUER,
    users: memoryUserStore(),
    keys: [{ ...issuerKey, alg: 'ES256', kid: 'es' }],
    dpop: true,
    scopes: ['read'],
    rateLimit: false,
    clients: [{ clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials'] }]
  })
  const api = app.protectedResource({ resource: '/api', scopes: { pay: 'pay' } })
  await app.ready()

  async function tokenFor(asked: Record<string, string>, isBound: boolean): Promise<string> {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: {
        authorization: `Basic ${Buffer.from(`machine:${encodeURIComponent(SECRET)}`).toString('base64')}`,
        ...(isBound ? { dpop: proof('POST', `${ISSUER}/auth/token`) } : {})
      },
      payload: { grant_type: 'client_credentials', ...asked }
    })
    return reply.json<{ access_token: string }>().access_token
  }

  const asked = { own: { scope: 'read' }, api: { resource: `${ISSUER}/api` } }
  const guards: Array<{ name: string; hook: Hook; path: string; token: string; isBound: boolean; goal: string }> = []
  for (const isBound of [true, false])
    for (const [name, hook, path, of] of [
      ['app.authenticate', app.authenticate, '/me', asked.own],
      ['app.protectedResource', api, '/api', asked.api]
    ] as const)
      guards.push({
        name: `${name}, ${isBound ? 'a bound token with a proof' : 'a Bearer token'}`,
        hook,
        path,
        token: await tokenFor(of, isBound),
        isBound,
        goal: isBound ? '≤ 2.20' : ''
      })

  const signed = Buffer.from('x'.repeat(500))
  const signature = sign('sha256', signed, { key: client.privateKey, dsaEncoding: 'ieee-p1363' })
  const publicKey = { key: client.publicKey, dsaEncoding: 'ieee-p1363' } as const
  const raw: number[] = []
  const found = guards.map((): number[] => [])
  const spent = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / count
  }
  for (let round = 0; round <= rounds; round++) {
    // The first round is for the compiler.
    const counts = round > 0 || quick
    const one = await spent(async () => {
      for (let i = 0; i < count; i++) if (!verify('sha256', signed, publicKey, signature)) throw new Error('no proof')
    })
    if (counts) raw.push(one)
    for (const [index, { hook, path, token, isBound }] of guards.entries()) {
      const requests = Array.from({ length: count }, () => ({
        method: 'GET',
        originalUrl: path,
        raw: {},
        headers: isBound
          ? { authorization: `DPoP ${token}`, dpop: proof('GET', ISSUER + path, token) }
          : { authorization: `Bearer ${token}` }
      })) as unknown as FastifyRequest[]
      const each = await spent(async () => {
        for (const request of requests) await hook(request)
      })
      if (counts) found[index]?.push(each)
    }
  }
  await app.close()
  return {
    title: 'a guard and a token that is bound to a key',
    method: `${rounds} rounds of ${count} each, medians of CPU; ratios to the raw verification of the same round.`,
    tables: [
      {
        columns: ['', 'µs', 'ratio', 'goal'],
        rows: [
          ['one raw ES256 verification', median(raw).toFixed(1), '1.00', ''],
          ...guards.map(({ name, goal }, index) => [
            name,
            median(found[index] ?? []).toFixed(1),
            median((found[index] ?? []).map((value, round) => value / (raw[round] ?? Number.NaN))).toFixed(2),
            goal
          ])
        ]
      }
    ]
  }
}
