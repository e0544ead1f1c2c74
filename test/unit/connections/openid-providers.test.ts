/** Real answers of Google, Apple and Microsoft, and the assertions made from them. */
import t, { type Test } from '../../support/tap.ts'
import { apple, google, microsoft } from '../../../lib/connections/index.ts'
import type { UpstreamAssertion } from '../../../lib/ports/upstream.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import type { OpenidServer } from '../../support/upstream/openid-server.ts'
import {
  APPLE_KEY,
  appleServer,
  CONSUMER_TENANT,
  googleServer,
  microsoftServer,
  TENANT
} from '../../support/upstream/providers.ts'
import { flow, refusalOf, signInAt, upstreamOf } from '../../support/upstream/sign-in.ts'

const client = { clientId: 'client', clientSecret: 'secret' }
const closing = async <Server extends { close(): Promise<void> }>(
  t: Test,
  server: Promise<Server>
): Promise<Server> => {
  const made = await server
  t.teardown(async () => {
    await made.close()
  })
  return made
}

t.test('turns ID tokens of Google into an assertion', async (t) => {
  const server = await closing(t, googleServer())
  const usual = server.is.claims
  const signIn = async (claims: Record<string, unknown>, options = {}): Promise<UpstreamAssertion> => {
    server.is.claims = { ...usual, ...claims }
    return (await signInAt(upstreamOf(google({ ...client, ...options })), server.answerTo)).assertion
  }

  // covers FED-6
  await t.test('treats only Gmail and hosted-domain addresses as authoritative', async (t) => {
    t.strictSame(await signIn({}), {
      issuer: 'https://accounts.google.com',
      subject: '110169484474386276334',
      email: 'ann@gmail.com',
      emailAuthoritative: true,
      profile: {
        name: 'Ann Example',
        given_name: 'Ann',
        family_name: 'Example',
        picture: 'https://lh3.googleusercontent.com/a/photo'
      }
    })
    t.match(await signIn({ email: 'ann@example.com', hd: 'example.com' }), {
      email: 'ann@example.com',
      emailAuthoritative: true
    })
    t.match(
      await signIn({ email: 'ann@example.com' }),
      { email: 'ann@example.com', emailAuthoritative: false },
      'it may have changed hands since'
    )
    t.match(await signIn({ email: 'ann@gmail.com.evil.example' }), { emailAuthoritative: false })
    t.match(await signIn({ email: 'ann@example.com', hd: '' }), { emailAuthoritative: false })
    const { email, emailAuthoritative } = await signIn({ email_verified: false })
    t.strictSame([email, emailAuthoritative], [undefined, false])
    t.equal((await signIn({ email_verified: 'true' })).email, undefined, 'it says a boolean')
  })

  // covers FED-6
  await t.test('rejects an ID token without the configured hd, and sends hd in the request', async (t) => {
    t.match(await signIn({ hd: 'acme.com' }, { hd: 'acme.com' }), { subject: '110169484474386276334' })
    t.match(await signIn({ hd: 'acme.org' }, { hd: ['acme.com', 'acme.org'] }), { subject: '110169484474386276334' })
    for (const hd of [undefined, 'other.com', 'sub.acme.com', 'ACME.com', ['acme.com'], '', true])
      t.match(await refusalOf(signIn({ hd }, { hd: 'acme.com' })), { reason: 'email' }, String(hd))
    const url = (options: object) =>
      upstreamOf(google({ ...client, ...options })).authorizationUrl(flow(), {
        prompt: 'login',
        maxAge: 0,
        loginHint: 'ann@acme.com'
      })
    t.match(await url({ hd: 'acme.com' }), /[?&]hd=acme\.com&.*login_hint=ann%40acme\.com&prompt=select_account/)
    t.notMatch(await url({}), /max_age|hd=/)
    t.match(await url({ hd: ['a.com', 'b.com'] }), /[?&]hd=\*/)
  })

  // covers FED-6
  await t.test('treats an issuer without a scheme as the same issuer', async (t) => {
    t.match(await signIn({ iss: 'accounts.google.com' }), { issuer: 'https://accounts.google.com' })
    t.match(await refusalOf(signIn({ iss: 'http://accounts.google.com' })), { reason: 'id_token' })
    t.match(await refusalOf(signIn({ iss: 'https://accounts.google.com.evil.example' })), { reason: 'id_token' })
    t.equal(server.count('/v1/userinfo'), 0, 'userinfo says nothing more, and is not asked')
  })
})

t.test('turns ID tokens of Apple into an assertion', async (t) => {
  const clock = steppedClock(Date.now())
  const server = await closing(
    t,
    appleServer({}, () => Math.floor(clock.now() / 1000))
  )
  const usual = server.is.claims
  const option = { clientId: 'com.example.web', teamId: 'TEAMID', keyId: 'KEYID', privateKey: APPLE_KEY }
  const subject = upstreamOf(apple(option), clock)
  const signIn = async (claims: Record<string, unknown> = {}, user?: string): Promise<UpstreamAssertion> => {
    server.is.claims = { ...usual, ...claims }
    const answerTo: OpenidServer['answerTo'] = (url) => {
      const answer = server.answerTo(url)
      if (user !== undefined) answer.set('user', user)
      return answer
    }
    return (await signInAt(subject, answerTo)).assertion
  }

  // covers FED-7
  await t.test('takes only the name from the user parameter, and never the address', async (t) => {
    const user = JSON.stringify({ name: { firstName: 'Ann', lastName: 'Example' }, email: 'victim@example.com' })
    t.match(await signIn({}, user), {
      subject: '001234.a0b1c2d3e4f5.0123',
      email: 'ann@example.com',
      profile: { name: 'Ann Example', given_name: 'Ann', family_name: 'Example' }
    })
    t.equal((await signIn({ email: undefined, email_verified: undefined }, user)).email, undefined)
    t.strictSame((await signIn()).profile, {}, 'later there is none')
    const long = await signIn({}, JSON.stringify({ name: { firstName: 'A'.repeat(500), lastName: 'B'.repeat(500) } }))
    t.strictSame([long.profile['given_name'], long.profile['family_name']], ['A'.repeat(100), 'B'.repeat(100)])
    for (const odd of [
      '',
      'null',
      '7',
      '[]',
      '{',
      '{"name":null}',
      '{"name":"Ann"}',
      '{"name":{"firstName":7}}',
      '{"__proto__":{"name":{"firstName":"x"}}}',
      'x'.repeat(5000)
    ])
      t.strictSame((await signIn({}, odd)).profile, {}, odd.slice(0, 40))
  })

  // covers FED-7
  await t.test('accepts email_verified only as true or as the string true', async (t) => {
    for (const word of [true, 'true']) t.equal((await signIn({ email_verified: word })).email, 'ann@example.com')
    for (const word of [false, 'false', 'TRUE', 1, undefined])
      t.equal((await signIn({ email_verified: word })).email, undefined, String(word))
    t.match(await signIn({ email: 'x7@privaterelay.appleid.com' }), { emailAuthoritative: true })
    t.match(await signIn(), { emailAuthoritative: false })
  })

  // covers FED-7
  await t.test('maps both Apple issuers to one, and uses fixed endpoints', async (t) => {
    t.equal((await signIn({ iss: 'https://account.apple.com' })).issuer, 'https://appleid.apple.com')
    t.equal((await signIn({ iss: 'https://appleid.apple.com' })).issuer, 'https://appleid.apple.com')
    t.match(await refusalOf(signIn({ iss: 'https://idmsa.apple.com' })), { reason: 'id_token' })
    t.equal(server.count('/.well-known/openid-configuration'), 0)
    t.match(await subject.authorizationUrl(flow(), {}), /response_mode=form_post/)
  })

  // covers FED-7
  await t.test('creates a client secret for each call, valid for 300 seconds', async (t) => {
    server.secrets.length = 0
    await signIn()
    clock.step(1000 * 1000)
    await signIn()
    t.match(server.secrets[0], {
      alg: 'ES256',
      kid: 'KEYID',
      iss: 'TEAMID',
      sub: 'com.example.web',
      aud: 'https://appleid.apple.com'
    })
    t.strictSame(
      server.secrets.map(({ exp, iat }) => Number(exp) - Number(iat)),
      [300, 300]
    )
    t.equal(Number(server.secrets[1]?.['iat']) - Number(server.secrets[0]?.['iat']), 1000)
    const fromEnvironment = upstreamOf(apple({ ...option, privateKey: APPLE_KEY.replaceAll('\n', '\\n') }), clock)
    t.equal((await signInAt(fromEnvironment, server.answerTo)).assertion.subject, '001234.a0b1c2d3e4f5.0123')
  })
})

t.test('turns ID tokens of Microsoft into an assertion', async (t) => {
  const signIn = async (
    tenant: string,
    claims: Record<string, unknown> & { tid?: string } = {},
    options = {}
  ): Promise<UpstreamAssertion> => {
    const server = await microsoftServer(tenant, claims)
    try {
      return (await signInAt(upstreamOf(microsoft({ ...client, tenant, ...options })), server.answerTo)).assertion
    } finally {
      await server.close()
    }
  }

  // covers FED-5
  await t.test('identifies users by oid and tenant', async (t) => {
    for (const tenant of ['common', 'organizations', TENANT]) {
      const assertion = await signIn(tenant)
      t.match(
        assertion,
        {
          issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
          subject: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
          emailAuthoritative: false,
          profile: { name: 'Ann Example' }
        },
        tenant
      )
      t.equal(assertion.email, undefined)
    }
    t.match(await signIn('consumers', { tid: CONSUMER_TENANT }), {
      issuer: `https://login.microsoftonline.com/${CONSUMER_TENANT}/v2.0`
    })
    t.match(await signIn('common', { tid: CONSUMER_TENANT }), {
      issuer: `https://login.microsoftonline.com/${CONSUMER_TENANT}/v2.0`
    })
  })

  // covers FED-5
  await t.test('rejects a tenant that is not allowed or does not match', async (t) => {
    const other = '11111111-6c67-4c5b-b112-36a304b66dad'
    const wrong: Array<[string, Record<string, unknown> & { tid?: string }, object, string]> = [
      ['common', { tid: 'not-a-uuid' }, {}, 'id_token'],
      ['common', { tid: `${TENANT}/v2.0/..` }, {}, 'id_token'],
      ['common', { tid: other, iss: `https://login.microsoftonline.com/${TENANT}/v2.0` }, {}, 'id_token'],
      ['common', { iss: `https://login.microsoftonline.com/${TENANT}/v1.0` }, {}, 'id_token'],
      ['common', { iss: `https://sts.windows.net/${TENANT}/` }, {}, 'id_token'],
      ['common', { iss: `https://login.microsoftonline.com.evil.example/${TENANT}/v2.0` }, {}, 'id_token'],
      ['common', { iss: 'https://login.microsoftonline.com/{tenantid}/v2.0' }, {}, 'id_token'],
      ['common', { oid: undefined }, {}, 'id_token'],
      ['organizations', { tid: CONSUMER_TENANT }, {}, 'email'],
      ['consumers', {}, {}, 'email'],
      [TENANT, { tid: other }, {}, 'email'],
      ['organizations', { tid: other }, { allowedTenants: [TENANT] }, 'email'],
      ['common', { tid: CONSUMER_TENANT }, { allowedTenants: [TENANT] }, 'email']
    ]
    for (const [tenant, claims, options, reason] of wrong)
      t.equal((await refusalOf(signIn(tenant, claims, options))).reason, reason, `${tenant} ${JSON.stringify(claims)}`)
    t.match(await signIn('organizations', {}, { allowedTenants: [TENANT] }), { subject: /690222be/ })
  })

  // covers FED-5 ADV-nOAuth
  await t.test('ignores an address unless xms_edov is true', async (t) => {
    for (const xms_edov of [true, '1', 'true'])
      t.match(
        await signIn('common', { xms_edov }),
        { email: 'ann@contoso.example', emailAuthoritative: true },
        String(xms_edov)
      )
    for (const xms_edov of [undefined, null, false, 'false', '0', 0, 1, {}]) {
      const { email, emailAuthoritative } = await signIn('common', {
        xms_edov,
        email_verified: true,
        upn: 'ann@contoso.example'
      })
      t.strictSame([email, emailAuthoritative], [undefined, false], JSON.stringify(xms_edov))
    }
  })

  await t.test('requests a fresh sign-in, with max_age only when authTime is configured', async (t) => {
    const asked = async (options = {}): Promise<string> =>
      await upstreamOf(microsoft({ ...client, ...options })).authorizationUrl(flow(), {
        prompt: 'login',
        maxAge: 0,
        loginHint: 'a@b.example',
        uiLocales: 'de'
      })
    t.match(await asked(), /login_hint=a%40b\.example&prompt=login/)
    t.notMatch(await asked(), /max_age|ui_locales/)
    t.match(await asked({ authTime: true }), /max_age=0/)
  })
})
