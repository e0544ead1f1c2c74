/** The checks of an ID token of a provider, with one fault at a time. */
import { createHmac } from 'node:crypto'
import t, { type Test } from '../../support/tap.ts'
import { oidc } from '../../../lib/connections/index.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import {
  openidServer,
  type OpenidServer,
  type OpenidSwitches,
  signingKey
} from '../../support/upstream/openid-server.ts'
import { refusalOf, signInAt, upstreamOf } from '../../support/upstream/sign-in.ts'

const connectionTo = ({ issuer }: { issuer: string }) =>
  oidc({ id: 'up', issuer, clientId: 'client', clientSecret: 'secret' })

async function provider(t: Test, switches: Partial<OpenidSwitches> = {}, places = {}): Promise<OpenidServer> {
  const server = await openidServer(switches, places)
  t.teardown(async () => {
    await server.close()
  })
  return server
}

// covers FED-4
t.test('returns assertion, claims and tokens for a valid ID token', async (t) => {
  const server = await provider(t, {
    claims: { email: 'ann@example.com', email_verified: true, name: 'Ann', auth_time: 1_000 }
  })
  const { assertion, claims, tokens } = await signInAt(upstreamOf(connectionTo(server)), server.answerTo)
  t.strictSame(assertion, {
    issuer: server.issuer,
    subject: 'person-1',
    email: 'ann@example.com',
    emailAuthoritative: false,
    profile: { name: 'Ann' },
    authenticatedAt: 1_000_000
  })
  t.equal(claims['nonce'], 'a-nonce-of-256-bits')
  t.match(tokens, { accessToken: 'upstream-access-token', expiresIn: 300 })
})

// covers FED-4
t.test('refuses an ID token with a single fault in a claim, the header or the signature', async (t) => {
  const server = await provider(t)
  const other = signingKey()
  const [none, hs] = ['none', 'HS256']
  const payloadOf = (token: string): string => token.split('.')[1] ?? ''
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const usual = { ...server.is }
  const wrong: Record<string, Partial<OpenidSwitches>> = {
    'another nonce': { claims: { nonce: 'another' } },
    'no nonce': { claims: { nonce: undefined } },
    'another audience': { claims: { aud: 'another' } },
    'several audiences without azp': { claims: { aud: ['client', 'another'] } },
    'azp is another': { claims: { aud: ['client', 'another'], azp: 'another' } },
    expired: { claims: { exp: 1000 } },
    'no exp': { claims: { exp: undefined } },
    'no iat': { claims: { iat: undefined } },
    'no sub': { claims: { sub: undefined } },
    'sub is a number': { claims: { sub: 7 } },
    'not valid yet': { claims: { nbf: 4_000_000_000 } },
    'another issuer': { claims: { iss: 'https://other.example' } },
    'alg none': { idToken: (token) => `${part({ alg: none })}.${payloadOf(token)}.` },
    'alg HS256 with the client secret': {
      idToken: (token) => {
        const input = `${part({ alg: hs })}.${payloadOf(token)}`
        return `${input}.${createHmac('sha256', 'secret').update(input).digest('base64url')}`
      }
    },
    'tampered sub': {
      idToken: (token) => {
        const [header, , signature] = token.split('.')
        return `${header}.${part({ ...(JSON.parse(Buffer.from(payloadOf(token), 'base64url').toString()) as object), sub: 'admin' })}.${signature}`
      }
    },
    'unknown kid': { header: { kid: 'CANARY' } },
    'the key of another under its kid': { key: { ...other, kid: usual.key.kid } },
    'the key of another, brought along by jku and jwk': {
      key: { ...other, kid: usual.key.kid },
      header: { jku: 'https://evil.example/keys', jwk: other.jwk }
    },
    'crit header': { header: { crit: ['b64'] } },
    'no token at all': { idToken: () => undefined },
    'no JWT': { idToken: () => 'CANARY' },
    'too many parts': { idToken: (token) => `${token}.CANARY.x` }
  }
  for (const [name, switches] of Object.entries(wrong)) {
    Object.assign(server.is, usual, switches)
    // Use a new connection for each fault, because a connection looks for unknown keys once in ten seconds.
    t.match(await refusalOf(signInAt(upstreamOf(connectionTo(server)), server.answerTo)), { reason: 'id_token' }, name)
  }
})

t.test('reports the expected and the given issuer of a refused token', async (t) => {
  const server = await provider(t, { claims: { iss: 'https://user:canary@other.example/' } })
  t.same(await refusalOf(signInAt(upstreamOf(connectionTo(server)), server.answerTo)), {
    reason: 'id_token',
    message: 'The ID token was refused (OAUTH_JWT_CLAIM_COMPARISON_FAILED iss).',
    issuers: `iss: expected "${server.issuer}", got "https://…@other.example/"`
  })
  const [header, body] = [{ alg: 'RS256' }, { iss: 'https://other.example', aud: 'client' }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url')
  )
  const subject = upstreamOf(connectionTo(server))
  const rules = { audiences: ['client'], nonce: undefined, azp: undefined } as never
  t.match(await refusalOf(subject.verifyIdToken(`${header}.${body}.x`, rules)), {
    message: 'The ID token was refused (iss).',
    issuers: `iss: expected "${server.issuer}", got "https://other.example"`
  })
})

// covers FED-4
t.test('refuses alg none and HS256 even if the metadata of the provider list only these', async (t) => {
  const server = await provider(t, { metadata: { id_token_signing_alg_values_supported: ['none', 'HS256'] } })
  t.match(await refusalOf(signInAt(upstreamOf(connectionTo(server)), server.answerTo)), { reason: 'id_token' })
  server.is.idToken = (token) => {
    const input = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${token.split('.')[1]}`
    return `${input}.${createHmac('sha256', 'secret').update(input).digest('base64url')}`
  }
  t.match(await refusalOf(signInAt(upstreamOf(connectionTo(server)), server.answerTo)), { reason: 'id_token' })
})

t.test('accepts only RS256 if the metadata list no algorithms', async (t) => {
  const rs = signingKey('RS256')
  const es = signingKey('ES256')
  const server = await provider(t, {
    key: rs,
    keys: [rs, es],
    metadata: { id_token_signing_alg_values_supported: undefined }
  })
  t.equal((await signInAt(upstreamOf(connectionTo(server)), server.answerTo)).assertion.subject, 'person-1')
  server.is.key = es
  t.match(await refusalOf(signInAt(upstreamOf(connectionTo(server)), server.answerTo)), { reason: 'id_token' })
})

t.test('accepts Ed25519 from the option signingAlgs as from the metadata', async (t) => {
  const key = signingKey('Ed25519')
  const metadata = { id_token_signing_alg_values_supported: ['Ed25519'] }
  const server = await provider(t, { key, keys: [key], metadata })
  for (const signingAlgs of [undefined, ['Ed25519']]) {
    const option = oidc({ id: 'up', issuer: server.issuer, clientId: 'client', clientSecret: 'secret', signingAlgs })
    t.equal(option.provider.mistake, null)
    t.equal((await signInAt(upstreamOf(option), server.answerTo)).assertion.subject, 'person-1')
  }
})

// covers FED-4
t.test('refuses userinfo of another user, and prefers the claims of the token', async (t) => {
  const server = await provider(t, {
    userinfo: { email: 'ann@example.com', email_verified: true, name: 'Ann of userinfo' },
    claims: { name: 'Ann' }
  })
  const { assertion } = await signInAt(upstreamOf(connectionTo(server)), server.answerTo)
  t.match(assertion, { email: 'ann@example.com', profile: { name: 'Ann' } })
  server.is.claims = { email: 'other@example.com' }
  t.equal(
    (await signInAt(upstreamOf(connectionTo(server)), server.answerTo)).assertion.email,
    undefined,
    'the word of userinfo is on its own address, not on that of the token'
  )
  server.is.userinfo = { sub: 'somebody-else' }
  t.match(await refusalOf(signInAt(upstreamOf(connectionTo(server)), server.answerTo)), { reason: 'userinfo' })
})

// covers ADV-CVE-2024-21632
t.test('ignores an email address unless email_verified is the boolean true', async (t) => {
  const server = await provider(t)
  for (const word of ['true', 1, 'yes', null, undefined, false, {}]) {
    server.is.claims = { email: 'ann@example.com', email_verified: word }
    t.equal(
      (await signInAt(upstreamOf(connectionTo(server)), server.answerTo)).assertion.email,
      undefined,
      JSON.stringify(word)
    )
  }
})

// covers FED-4b
t.test('fetches a rotated key at once, and looks for unknown keys once in ten seconds', async (t) => {
  const server = await provider(t)
  const clock = steppedClock(Date.now())
  const subject = upstreamOf(connectionTo(server), clock)
  await signInAt(subject, server.answerTo)
  t.equal(server.count('/keys'), 1)
  const next = signingKey()
  Object.assign(server.is, { key: next, keys: [next] })
  clock.step(1000)
  t.equal((await signInAt(subject, server.answerTo)).assertion.subject, 'person-1')
  t.equal(server.count('/keys'), 2)
  clock.step(10_000)
  const stranger = { ...signingKey(), kid: 'made-up' }
  server.is.key = stranger
  const refusals = await Promise.all(
    Array.from({ length: 50 }, async () => await refusalOf(signInAt(subject, server.answerTo)))
  )
  t.strictSame([...new Set(refusals.map(({ reason }) => reason))], ['id_token'])
  t.equal(server.count('/keys'), 3, 'fifty at once')
  clock.step(9_999)
  await refusalOf(signInAt(subject, server.answerTo))
  t.equal(server.count('/keys'), 3)
  clock.step(1)
  await refusalOf(signInAt(subject, server.answerTo))
  t.equal(server.count('/keys'), 4)
  server.is.key = next
  t.equal((await signInAt(subject, server.answerTo)).assertion.subject, 'person-1', 'and those that are known go on')
})

// covers FED-4b
t.test('uses the only matching key for a token without kid, and refuses the token if two match', async (t) => {
  const [one, two] = [signingKey('RS256', undefined), signingKey('RS256', undefined)]
  const plain = ({ kid: _kid, ...key }: typeof one) => ({ ...key, kid: undefined, jwk: { ...key.jwk, kid: undefined } })
  const server = await provider(t, { key: plain(one), keys: [plain(one), signingKey('ES256')] })
  const clock = steppedClock(Date.now())
  const subject = upstreamOf(connectionTo(server), clock)
  t.equal((await signInAt(subject, server.answerTo)).assertion.subject, 'person-1')
  Object.assign(server.is, { key: plain(two), keys: [plain(two)] })
  t.equal(
    (await signInAt(subject, server.answerTo)).assertion.subject,
    'person-1',
    'one that was rotated is found by its signature'
  )
  server.is.keys = [plain(one), plain(two)]
  t.match(await refusalOf(signInAt(upstreamOf(connectionTo(server)), server.answerTo)), { reason: 'id_token' })
})

// covers FED-4b
t.test('handles a trailing slash of the issuer in discovery, and compares the issuer exactly', async (t) => {
  const server = await provider(t, {}, { issuer: (origin: string) => `${origin}/tenant/` })
  t.equal(
    (await signInAt(upstreamOf(connectionTo(server)), server.answerTo)).assertion.issuer,
    `${server.origin}/tenant/`
  )
  t.equal(server.count('/tenant/.well-known/openid-configuration'), 1)
  t.match(
    await refusalOf(
      upstreamOf(
        oidc({ id: 'up', issuer: `${server.origin}/tenant`, clientId: 'client', clientSecret: 'secret' })
      ).authorizationUrl(
        { state: 's', nonce: 'n', codeVerifier: 'v', startedAt: 0, redirectUri: 'https://x.example' },
        {}
      )
    ),
    { reason: 'outage' }
  )
})

t.test('checks the expiry of an ID token against the given clock', async (t) => {
  const server = await provider(t, { now: () => 2_000_000_000 })
  const early = steppedClock(1_999_999_000_000)
  t.equal((await signInAt(upstreamOf(connectionTo(server), early), server.answerTo)).assertion.subject, 'person-1')
  t.match(
    await refusalOf(signInAt(upstreamOf(connectionTo(server), steppedClock(2_000_000_400_000)), server.answerTo)),
    { reason: 'id_token' }
  )
})
