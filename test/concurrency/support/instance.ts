/**
 * A process with the plugin on a file that other processes also write to. Reports `ready`. Redeems each received code
 * five times at once and reports the statuses. Ends on `end`.
 */
import Fastify from 'fastify'
import Database from 'libsql'
import authPlugin, { sqliteState, sqliteUserStore } from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/index.ts'
import { parallel } from '../../../lib/testing/contract.ts'
import { CALLBACK, CLIENTS, VERIFIER } from '../../support/openid.ts'

const [file = '', issuer = ''] = process.argv.slice(2)
const db = new Database(file)
const app = Fastify()
await app.register(authPlugin, {
  issuer,
  users: sqliteUserStore(db),
  state: sqliteState(db),
  clients: CLIENTS,
  rateLimit: false,
  secret: 'of two processes, of 32 bytes at least',
  password: { hasher: fastHasher() }
})
await app.ready()

async function work(code: string): Promise<Array<{ status: number; accessToken: string | undefined }>> {
  return await parallel(5, async () => {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: {
        grant_type: 'authorization_code',
        client_id: 'spa',
        redirect_uri: CALLBACK,
        code_verifier: VERIFIER,
        code
      }
    })
    return { status: reply.statusCode, accessToken: reply.json<{ access_token?: string }>().access_token }
  })
}

process.on('message', (message) => {
  if (message === 'end') {
    void app.close().then(() => {
      db.close()
      process.disconnect()
    })
    return
  }
  work(String(message)).then(
    (outcomes) => {
      process.send?.({ outcomes })
    },
    (error: unknown) => {
      process.send?.({ error: String(error) })
    }
  )
})
process.send?.('ready')
