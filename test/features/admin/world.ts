/** An app in which `root` administrates and `ann` does not. */
import type { AuthorityOptions } from '../../../lib/index.ts'
import { ADMIN_SCOPES } from '../../../lib/protocol/admin-scopes.ts'
import { PASSWORD, signUp } from '../../support/app.ts'
import { logLines } from '../../support/log-lines.ts'
import { CLIENTS, openidApp, SECRET } from '../../support/openid.ts'
import type { Test } from '../../support/tap.ts'

export const ROBOT = 'robot'

export async function world(t: Test, options: Partial<AuthorityOptions> = {}) {
  /** The admins by their username, and by the id of a machine client. */
  const admins = new Map<string, readonly string[]>([
    ['root', ADMIN_SCOPES],
    [ROBOT, ['authority:users:read']]
  ])
  const { lines, stream } = logLines()
  const test = await openidApp(
    {
      scopes: ['openid', 'profile', 'offline_access'],
      clients: [
        ...CLIENTS,
        { clientId: ROBOT, clientSecret: SECRET, grantTypes: ['client_credentials'] },
        { clientId: 'narrow', redirectUris: ['https://app.example/cb'], scopes: ['openid', 'authority:users:read'] }
      ],
      admin: {
        allow: ({ user, client, scopes }) => {
          const own = admins.get(user === null ? (client?.clientId ?? '') : user.username) ?? []
          return scopes.filter((scope) => own.includes(scope))
        }
      },
      ...options
    },
    { logger: { level: 'info', stream } }
  )
  t.teardown(test.close)
  const root = await signUp(test.app, 'root')
  const token = async (params: Record<string, string>) =>
    await test.app.inject({ method: 'POST', url: '/auth/token', payload: params })
  const byPassword = async (username: string, scope?: string) =>
    await token({ grant_type: 'password', username, password: PASSWORD, ...(scope === undefined ? {} : { scope }) })
  return { ...test, root, admins, lines, token, byPassword }
}

export type World = Awaited<ReturnType<typeof world>>
