/**
 * A host without second factors and without sign-in by email. Serves a request of each other kind, and prints
 * the status of each answer and the files of lib that the process has loaded. Runs as a process of its own,
 * because loaded files belong to the whole process.
 */
import { Session } from 'node:inspector'
import Fastify from 'fastify'
import type { Client } from '../../../../lib/index.ts'

const loaded = new Set<string>()
const inspector = new Session()
inspector.connect()
const LIB = new URL('../../../../lib/', import.meta.url).href
inspector.on('Debugger.scriptParsed', ({ params: { url } }) => {
  if (url.startsWith(LIB)) loaded.add(url.slice(LIB.length))
})
inspector.post('Debugger.enable')

const { default: authPlugin, memoryUserStore } = await import('../../../../lib/index.ts')
const [origin, username, password] = ['https://auth.example', 'ann@example.com', 'correct horse battery']
const client: Client = {
  clientId: 'app',
  redirectUris: ['https://app.example/cb'],
  grantTypes: ['authorization_code', 'password', 'refresh_token'],
  firstParty: true
}
const app = Fastify()
let sent = (_token: string): void => {}
const reset = new Promise<string>((resolve) => {
  sent = resolve
})
await app.register(authPlugin, {
  issuer: origin,
  users: memoryUserStore(),
  clients: [client],
  scopes: ['read'],
  password: { memoryCost: 7168, timeCost: 5 },
  sendMessage: (message) => {
    if (message.kind === 'password_reset') sent(message.token)
  }
})
app.get('/mine', { onRequest: [app.authority.requireSession({ maxAge: 300 })] }, async () => 'mine')
await app.ready()
const atReady = loaded.size

const answers: Record<string, number> = {}
const cookies = new Map<string, string>()
async function send(
  what: string,
  url: string,
  { json, form, bearer }: { json?: object; form?: Record<string, string>; bearer?: string } = {}
) {
  const headers = {
    host: 'auth.example',
    ...(bearer === undefined
      ? { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') }
      : { authorization: `Bearer ${bearer}` })
  }
  const posted = { method: 'POST', url } as const
  const reply = await app.inject(
    form !== undefined
      ? {
          ...posted,
          headers: {
            ...headers,
            origin,
            'sec-fetch-site': 'same-origin',
            'content-type': 'application/x-www-form-urlencoded'
          },
          payload: new URLSearchParams(form).toString()
        }
      : json === undefined
        ? { url, headers: { ...headers, 'sec-fetch-site': 'none' } }
        : { ...posted, headers, payload: json }
  )
  for (const { name, value } of reply.cookies) cookies.set(name, value)
  answers[what] = reply.statusCode
  return reply
}
const actionOf = (html: string): string =>
  (/<form method="post" action="([^"]*)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')

await send('registration', '/auth/register', { json: { username, password } })
await send('sign-up page', '/auth/signup')
const granted = (
  await send('password grant', '/auth/token', {
    json: { grant_type: 'password', client_id: 'app', username, password }
  })
).json<{ access_token: string; refresh_token: string }>()
await send('refresh grant', '/auth/token', {
  json: { grant_type: 'refresh_token', client_id: 'app', refresh_token: granted.refresh_token }
})
await send('mfa grant', '/auth/token', {
  json: { grant_type: 'urn:fastify-authority:grant-type:mfa', client_id: 'app', mfa_token: 'x', otp: '123456' }
})
await send('passkey grant', '/auth/token', {
  json: { grant_type: 'urn:fastify-authority:grant-type:passkey', client_id: 'app', credential: '{}' }
})
await send('profile', '/auth/profile', { bearer: granted.access_token })
await send('sign-in page', '/auth/login')
await send('wrong sign-in', '/auth/login', { form: { username, password: 'wrong password' } })
await send('sign-in', '/auth/login', { form: { username, password, passkeys: 'yes' } })
await send('passkey at sign-in', '/auth/login', { form: { credential: '{}' } })
await send('page of the host', '/mine')
for (const page of ['', '/email', '/password', '/sessions', '/access', '/remove'])
  await send(`account${page}`, `/auth/account${page}`)
const { body: proof } = await send('reauthentication page', '/auth/reauthenticate?return_to=%2Fmine')
await send('reauthentication', actionOf(proof), { form: { current_password: password } })
const authorize =
  '/auth/authorize?response_type=code&client_id=app&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&scope=read&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256'
const code = new URL((await send('authorization', authorize)).headers.location ?? '').searchParams.get('code') ?? ''
await send('code grant', '/auth/token', {
  json: {
    grant_type: 'authorization_code',
    client_id: 'app',
    code,
    redirect_uri: 'https://app.example/cb',
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  }
})
await send('authorization with mfa', `${authorize}&acr_values=mfa&max_age=1`)
await send('password reset', '/auth/password-reset', { json: { username } })
await send('password set', '/auth/password-reset/confirm', {
  json: { token: await reset, password: 'another horse battery' }
})
await send('sign-out', '/auth/logout', { form: {} })
const noFactors = await app.authority.startEnrolment('x').catch(({ message }: Error) => message)
await app.close()
process.stdout.write(JSON.stringify({ atReady, loaded: [...loaded], answers, noFactors }))
