/** Real answers of GitHub, Discord and Facebook, and the assertions made from them. */
import { createHmac } from 'node:crypto'
import t, { type Test } from '../../support/tap.ts'
import { discord, facebook, github } from '../../../lib/connections/index.ts'
import type { ConnectionOption } from '../../../lib/ports/provider.ts'
import type { UpstreamResult } from '../../../lib/ports/upstream.ts'
import { type GithubSwitches, discordServer, facebookServer, githubServer } from '../../support/upstream/providers.ts'
import { flow, refusalOf, signInAt, upstreamOf } from '../../support/upstream/sign-in.ts'

const client = { clientId: 'client', clientSecret: 'secret' }
const answer =
  (over: Record<string, string> = {}) =>
  () =>
    new URLSearchParams({ code: 'good', state: flow().state, ...over })
const signIn = async (option: ConnectionOption, over = {}): Promise<UpstreamResult> =>
  await signInAt(upstreamOf(option), answer(over))
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

t.test('turns answers of GitHub into an assertion', async (t) => {
  const server = await closing(t, githubServer())
  const usual: GithubSwitches = { ...server.is }
  t.beforeEach(() => {
    Object.assign(server.is, usual)
  })
  const user = usual.user as Record<string, unknown>

  // covers FED-8
  await t.test('identifies users by their number, and takes the primary verified address', async (t) => {
    const { assertion, claims, tokens } = await signIn(github(client))
    t.strictSame(assertion, {
      issuer: 'https://github.com/login/oauth',
      subject: '583231',
      email: 'ann@example.com',
      emailAuthoritative: false,
      profile: {
        name: 'Ann Example',
        picture: 'https://avatars.githubusercontent.com/u/583231',
        profile: 'https://github.com/octo-ann'
      }
    })
    t.match(claims, { login: 'octo-ann', name: 'Ann Example' })
    t.match(tokens, { accessToken: 'gho_token', scope: 'read:user,user:email' })
    t.ok(server.asked.every(({ headers }) => headers['user-agent'] === 'fastify-authority'))
  })

  // covers FED-8
  await t.test('ignores an address that is not both primary and verified', async (t) => {
    const none: unknown[] = [
      [],
      [{ email: 'ann@example.com', primary: true, verified: false }],
      [{ email: 'ann@example.com', primary: true }],
      [{ email: 'ann@example.com', primary: true, verified: 'true' }],
      [{ email: 'ann@example.com', primary: false, verified: true }],
      [{ email: null, primary: true, verified: true }],
      [null, 'x']
    ]
    for (const emails of none) {
      server.is.emails = emails
      t.equal((await signIn(github(client))).assertion.email, undefined, JSON.stringify(emails))
    }
    server.is.emails = { message: 'CANARY' }
    t.match(await refusalOf(signIn(github(client))), { reason: 'userinfo' })
    t.equal(
      (await signIn(github({ ...client, scopes: ['read:user'] }))).assertion.email,
      undefined,
      'which is not asked for without the scope'
    )
  })

  await t.test('requires only the id in a profile', async (t) => {
    server.is.user = { ...user, name: null, avatar_url: null, html_url: undefined }
    t.strictSame((await signIn(github(client))).assertion.profile, { name: 'octo-ann' })
    for (const id of [undefined, null, '583231', 1.5, 2 ** 60, {}]) {
      server.is.user = { ...user, id }
      t.match(await refusalOf(signIn(github(client))), { reason: 'userinfo' }, JSON.stringify(id))
    }
    server.is.user = []
    t.match(await refusalOf(signIn(github(client))), { reason: 'userinfo' })
  })

  // covers FED-8
  await t.test('detects an error with status 200, and accepts a form-encoded token', async (t) => {
    t.match(await refusalOf(signIn(github(client), { code: 'used' })), {
      reason: 'mismatch',
      message: /bad_verification_code/
    })
    server.is.formEncoded = true
    t.equal((await signIn(github(client))).assertion.subject, '583231')
    server.is.token = { type: 'application/x-www-form-urlencoded', body: 'error=CANARY' }
    t.match(await refusalOf(signIn(github(client))), { reason: 'exchange' })
    server.is.token = { json: { scope: '' } }
    t.match(await refusalOf(signIn(github(client))), { reason: 'exchange' })
  })

  // covers FED-8
  await t.test('compares iss if it is present, and does not require it', async (t) => {
    t.equal((await signIn(github(client), { iss: 'https://github.com/login/oauth' })).assertion.subject, '583231')
    t.match(await refusalOf(signIn(github(client), { iss: 'https://github.com' })), { reason: 'mismatch' })
  })

  await t.test('sends a login hint only if it is a login name', async (t) => {
    const url = async (loginHint: string) =>
      await upstreamOf(github(client)).authorizationUrl(flow(), { loginHint, prompt: 'select_account' })
    t.match(await url('octo-ann'), /[?&]login=octo-ann&prompt=select_account/)
    t.notMatch(await url('ann@example.com'), /login=ann|login_hint/)
  })
})

t.test('turns answers of Discord into an assertion', async (t) => {
  // covers FED-8
  await t.test('keeps long ids exact as strings', async (t) => {
    const server = await closing(t, discordServer({ id: '9007199254740993' }))
    const { assertion } = await signIn(discord(client))
    t.strictSame(assertion, {
      issuer: 'https://discord.com',
      subject: '9007199254740993',
      email: 'nelly@example.com',
      emailAuthoritative: false,
      profile: {
        name: 'Nelly',
        picture: 'https://cdn.discordapp.com/avatars/9007199254740993/8342729096ea3675442027381ff50dfe.png',
        locale: 'en-US'
      }
    })
    t.equal(server.asked.at(-1)?.headers.authorization, 'Bearer discord-token')
  })

  // covers FED-8
  await t.test('ignores an address that the provider has not verified', async (t) => {
    for (const user of [
      { verified: false },
      { verified: undefined },
      { verified: 'true' },
      { email: null },
      { email: undefined }
    ]) {
      const server = await discordServer(user)
      t.equal((await signIn(discord(client))).assertion.email, undefined, JSON.stringify(user))
      await server.close()
    }
  })

  await t.test('rejects an id that is not a string of digits', async (t) => {
    for (const id of [80351110224678912, null, '', 'nelly', '1'.repeat(30), '1/../2']) {
      const server = await discordServer({ id })
      t.match(await refusalOf(signIn(discord(client))), { reason: 'userinfo' }, String(id))
      await server.close()
    }
  })
})

t.test('turns answers of Facebook into an assertion', async (t) => {
  // covers ADV-CVE-2013-4593
  await t.test('sends appsecret_proof to the API, and returns no email address in the assertion', async (t) => {
    const server = await closing(t, facebookServer())
    const { assertion, claims } = await signIn(facebook(client))
    t.strictSame(assertion, {
      issuer: 'https://www.facebook.com',
      subject: '10158444224678912',
      emailAuthoritative: false,
      profile: {
        name: 'Ann Example',
        given_name: 'Ann',
        family_name: 'Example',
        picture: 'https://platform-lookaside.fbsbx.com/p.jpg'
      }
    })
    t.equal(claims['email'], 'ann@example.com', "the host's own hooks see it")
    t.equal(
      server.asked.at(-1)?.url.searchParams.get('appsecret_proof'),
      createHmac('sha256', 'secret').update('fb-token').digest('hex')
    )
    t.notOk(server.asked.some(({ url }) => url.href.includes('fb-token') || url.href.includes('client_secret')))
    t.match(await refusalOf(signIn(facebook(client), { code: 'bad' })), { reason: 'exchange' })
  })

  await t.test('signs in a phone account without an address or a picture', async (t) => {
    await closing(
      t,
      facebookServer({ email: undefined, picture: undefined, first_name: undefined, last_name: undefined })
    )
    t.strictSame((await signIn(facebook(client))).assertion.profile, { name: 'Ann Example' })
  })

  await t.test('rejects an invalid id, and an error with status 200', async (t) => {
    for (const user of [{ id: 7 }, { id: null }, { id: '', error: { message: 'CANARY' } }]) {
      const server = await facebookServer(user)
      t.match(await refusalOf(signIn(facebook(client))), { reason: 'userinfo' }, JSON.stringify(user))
      await server.close()
    }
  })

  await t.test('uses the configured version of the API', async (t) => {
    t.match(
      await upstreamOf(facebook({ ...client, version: 'v25.0' })).authorizationUrl(flow(), {}),
      /^https:\/\/www\.facebook\.com\/v25\.0\/dialog\/oauth\?/
    )
  })
})
