import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { toNodeHandler } from 'better-auth/node'
import { IDLE_MS, type LoadedRequest, type Subject } from '../subject.ts'

export const USER = { email: 'ann@example.com', password: 'correct horse battery', name: 'Ann' }

/** better-auth in memory, without its limits, with one user; `cookie` is that user's session. */
async function start(): Promise<{ port: number; cookie: string }> {
  const server = createServer()
  server.keepAliveTimeout = IDLE_MS
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const auth = betterAuth({
    baseURL: `http://127.0.0.1:${port}`,
    secret: 'a secret that is long enough, and used by nobody else',
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    emailAndPassword: { enabled: true },
    rateLimit: { enabled: false },
    // As a refresh does, each look moves the end of the session.
    session: { updateAge: 0 },
    telemetry: { enabled: false }
  })
  const handle = toNodeHandler(auth)
  server.on('request', (request, response) => {
    void handle(request, response)
  })
  const { headers } = await auth.api.signUpEmail({ body: USER, returnHeaders: true })
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  return { port, cookie }
}

const subject = (port: number, request: LoadedRequest): Subject => ({ port, requests: [request], status: 200 })

/** The nearest that it has to a refresh: a look at the session, which moves its end. */
export async function betterAuthSession(): Promise<Subject> {
  const { port, cookie } = await start()
  return subject(port, { method: 'GET', path: '/api/auth/get-session', headers: { cookie }, body: '' })
}

/** scrypt N=16384 r=16 p=1, its default. */
export async function betterAuthSignIn(): Promise<Subject> {
  const { port } = await start()
  const { email, password } = USER
  return subject(port, {
    method: 'POST',
    path: '/api/auth/sign-in/email',
    headers: { 'content-type': 'application/json', origin: `http://127.0.0.1:${port}` },
    body: JSON.stringify({ email, password })
  })
}
