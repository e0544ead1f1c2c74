/**
 * A server with defaults: starts, serves, closes and reports that. Anything that still runs then keeps the process
 * alive.
 */
import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from '../../../../lib/index.ts'

const app = Fastify()
await app.register(authPlugin, {
  issuer: 'http://localhost:3000',
  users: memoryUserStore(),
  secret: '0123456789abcdefghijklmnopqrstuvwxyz',
  sendMessage() {}
})
const address = await app.listen({ port: 0, host: '127.0.0.1' })
const json = { 'content-type': 'application/json', connection: 'close' }
const credentials = { username: 'ann@mail.example', password: 'correct horse battery' }
const statuses: number[] = []
for (const [path, body] of [
  ['register', credentials],
  ['token', { grant_type: 'password', ...credentials }],
  ['password-reset', { username: credentials.username }]
] as const) {
  const reply = await fetch(`${address}/auth/${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) })
  statuses.push(reply.status)
  await reply.text()
}
await app.close()
// Ends a process that is still alive after this time. A delayed process ends in the turns before.
let turns = 0
const tooLong = (): void => {
  if (++turns > 50) process.exit(7)
  setImmediate(tooLong).unref()
}
setTimeout(tooLong, 2000).unref()
process.send?.({ statuses })
// The channel to the parent is the test's only handle.
process.disconnect()
