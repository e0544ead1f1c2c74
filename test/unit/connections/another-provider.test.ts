/**
 * "A host adds a provider that is not in the list with at most 20 lines": runs the code of the guide as it is
 * printed.
 */
import { readFileSync } from 'node:fs'
import t from '../../support/tap.ts'
import { oauth2, oidc } from '../../../lib/connections/index.ts'
import { providerServer } from '../../support/upstream/provider-server.ts'
import { openidServer } from '../../support/upstream/openid-server.ts'
import { flow, refusalOf, signInAt, upstreamOf } from '../../support/upstream/sign-in.ts'

const GUIDE = readFileSync(new URL('../../../docs/guides/connections/another-provider.md', import.meta.url), 'utf8')

interface GiteaUser {
  id: number
  full_name: string
  avatar_url: string
}
interface GiteaEmail {
  email: string
  primary: boolean
  verified: boolean
}

export const gitea = (origin: string, clientId: string, clientSecret: string) =>
  oauth2({
    id: 'gitea',
    name: 'Gitea',
    issuer: origin,
    clientId,
    clientSecret,
    authorizationEndpoint: `${origin}/login/oauth/authorize`,
    tokenEndpoint: `${origin}/login/oauth/access_token`,
    scopes: ['read:user'],
    identify: async (get) => {
      const { id, full_name: name, avatar_url: picture } = (await get(`${origin}/api/v1/user`)) as GiteaUser
      const emails = (await get(`${origin}/api/v1/user/emails`)) as GiteaEmail[]
      const email = emails.find(({ primary, verified }) => primary && verified)?.email
      return { subject: String(id), email, emailVerified: email !== undefined, profile: { name, picture } }
    }
  })

t.test('connects an OAuth 2.0 API in at most twenty lines of code', async (t) => {
  const [, printed = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(GUIDE) ?? []
  t.ok((printed.match(/^.+$/gm) ?? []).length <= 20)
  const own = readFileSync(import.meta.filename, 'utf8')
  t.ok(own.includes(printed.split('\n\n').slice(2).join('\n\n').trim()), 'what the guide prints is what is tried here')
  const server = await providerServer({
    'POST /login/oauth/access_token': ({ form }) =>
      form.get('client_secret') === 'secret'
        ? { json: { access_token: 'token', token_type: 'bearer' } }
        : { status: 401, json: { error: 'invalid_client' } },
    'GET /api/v1/user': ({ headers }) =>
      headers.authorization === 'Bearer token'
        ? { json: { id: 7, full_name: 'Ann Example', avatar_url: 'https://gitea.example/a.png' } }
        : { status: 401, json: {} },
    'GET /api/v1/user/emails': () => ({
      json: [
        { email: 'old@example.com', primary: false, verified: true },
        { email: 'ann@example.com', primary: true, verified: true }
      ]
    })
  })
  t.teardown(async () => {
    await server.close()
  })
  const answer = () => new URLSearchParams({ code: 'code', state: flow().state })
  const { assertion } = await signInAt(upstreamOf(gitea(server.origin, 'client', 'secret')), answer)
  t.strictSame(assertion, {
    issuer: server.origin,
    subject: '7',
    email: 'ann@example.com',
    emailAuthoritative: false,
    profile: { name: 'Ann Example', picture: 'https://gitea.example/a.png' }
  })
  t.match(await refusalOf(signInAt(upstreamOf(gitea(server.origin, 'client', 'wrong')), answer)), {
    reason: 'exchange',
    message: /401 and invalid_client/
  })
})

t.test('connects an OpenID Connect provider in one line of code', async (t) => {
  const server = await openidServer()
  t.teardown(async () => {
    await server.close()
  })
  const { assertion } = await signInAt(
    upstreamOf(oidc({ id: 'acme', issuer: server.issuer, clientId: 'client', clientSecret: 'secret' })),
    server.answerTo
  )
  t.equal(assertion.subject, 'person-1')
})
