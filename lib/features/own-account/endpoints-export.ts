import { Type } from '@sinclair/typebox'
import { exportUser } from '../../accounts/export-user.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { accountOf } from '../../http/edge/caller-guards.ts'
import { endpoint } from '../../http/edge/endpoint.ts'
import { originOf } from '../../http/edge/request-origin.ts'

/** `GET /auth/account/export`. */
export const exported = endpoint({
  method: 'GET',
  path: '/account/export',
  callers: 'account',
  summary: 'A copy of my data',
  what:
    'Everything that the service keeps of the person: profile, sessions, consents, connections, factors, API keys, ' +
    'and entries of the audit log. No secret is in it. The sign-in must be at most five minutes old.',
  answers: { 200: Type.Object({}, { additionalProperties: true }) },
  errors: { 401: 'insufficient_user_authentication' },
  handle: async (request, reply, { registration, grants: { accounts } }) => {
    const { user, sid, authentication } = accountOf(request)
    await requireProof('export', { user, sid, authentication, origin: originOf(request) }, accounts)
    reply.header('content-disposition', 'attachment; filename="account.json"')
    return await exportUser(user, registration?.profile?.names ?? [], accounts)
  }
})
