/**
 * A1, L2: checks with random clients, scopes, consents and `claims` that a client learns only permitted claims about a
 * user. For a third-party client, the lines of the consent page decide.
 */
import t from '../support/tap.ts'
import { type AuthorityOptions, type Client, memoryUserStore, type User } from '../../lib/index.ts'
import { bearer, PASSWORD, signUp, testApp, type TestApp } from '../support/app.ts'
import { formAction, testBrowser, type TestBrowser } from '../support/browser.ts'
import { decodeJwt } from '../support/jwt.ts'
import { answerOf, authorizePath, basic, KEYS, redeem, SECRET } from '../support/openid.ts'
import { chance, type Chance } from '../support/random.ts'

const CASES = 60
const CLAIMS: Record<string, string[]> = {
  profile: [
    'name',
    'family_name',
    'given_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at'
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified']
}
const STANDARD = Object.values(CLAIMS).flat()
/** The page's line for each scope. */
const LINES: Record<string, string> = {
  'know who you are': 'openid',
  'see your name and profile details': 'profile',
  'see your email': 'email',
  'see your phone number': 'phone',
  'see your postal address': 'address',
  'keep this access when you’re not using the app': 'offline_access'
}
const ALL_SCOPES = Object.values(LINES)
const EMAIL = 'ann@example.com'
const PERSON = {
  name: 'Ann Example',
  given_name: 'Ann',
  family_name: 'Example',
  middle_name: 'B',
  nickname: 'annie',
  profile: 'https://a.example/',
  picture: 'https://a.example/p',
  website: 'https://a.example/w',
  gender: 'female',
  birthdate: '1990-01-01',
  zoneinfo: 'Europe/Zurich',
  locale: 'de-CH',
  updated_at: 1_700_000_000,
  email: EMAIL,
  emailVerified: true,
  phone_number: '+41',
  phone_number_verified: true,
  address: { country: 'CH' }
}
const claimsOf = (scopes: readonly string[]): string[] => scopes.flatMap((scope) => CLAIMS[scope] ?? [])

interface Subject extends TestApp {
  browser: TestBrowser
  client: Client
  sub: string
}

async function subjectWith(options: Partial<AuthorityOptions>): Promise<Subject> {
  const client: Client = { clientId: 'any', clientSecret: SECRET, redirectUris: ['https://any.example/cb'] }
  const users = memoryUserStore()
  const findById = async (id: string): Promise<User | null> => {
    const user = await users.findById(id)
    return user === null ? null : { ...user, ...PERSON }
  }
  const subject = await testApp({
    keys: KEYS,
    users: { ...users, findById },
    clients: { findById: async (id) => (id === client.clientId ? { ...client } : null) },
    ...options
  })
  const browser = testBrowser(subject.app)
  const { sub } = await signUp(subject.app, EMAIL)
  await browser.submit('/auth/login', { username: EMAIL, password: PASSWORD })
  return { ...subject, browser, client, sub }
}

function randomClaims(random: Chance): { userinfo?: Record<string, unknown>; id_token?: Record<string, unknown> } {
  const member = (): Record<string, unknown> =>
    Object.fromEntries(
      random
        .some([...STANDARD, 'role', 'name#ja', 'email#x', 'passwordHash'])
        .slice(0, random.integer(8))
        .map((name) => [name, random.pick([null, { essential: true }])])
    )
  return { ...(random.one(4) ? {} : { userinfo: member() }), ...(random.one(4) ? {} : { id_token: member() }) }
}

interface Asked {
  scope: string[]
  claims: ReturnType<typeof randomClaims>
  prompt: string | undefined
}

/** Sends one request. `shown` contains the scopes on the consent page, or is `null` without a page. */
async function ask(
  { browser }: Subject,
  { scope, claims, prompt }: Asked,
  decision: 'allow' | 'deny'
): Promise<{ shown: string[] | null; answer: Record<string, string> }> {
  const path = authorizePath({
    client_id: 'any',
    redirect_uri: 'https://any.example/cb',
    scope: scope.join(' '),
    claims: JSON.stringify(claims),
    prompt
  })
  const { reply, url } = await browser.follow(await browser.get(path))
  if (reply.statusCode !== 200) return { shown: null, answer: answerOf(url) }
  const shown = [...reply.body.matchAll(/<li><span>(.*?)<\/span><\/li>/gs)].map(([, line = '']) => LINES[line] ?? line)
  const after = await browser.follow(await browser.submit(formAction(reply.body), { decision }))
  return { shown, answer: answerOf(after.url) }
}

const randomRequest = (random: Chance): Asked => ({
  scope: ['openid', ...random.some(ALL_SCOPES.slice(1))],
  claims: random.one(5) ? {} : randomClaims(random),
  prompt: random.pick([undefined, undefined, 'none', 'none', 'consent'])
})

const standardIn = (claims: Record<string, unknown>): string[] =>
  Object.keys(claims).filter((name) => STANDARD.includes(name.split('#')[0] ?? ''))

// covers A1 OIDC-5.5
t.test('releases no claim beyond the allowed scopes, even if the parameter `claims` asks for it', async (t) => {
  const subject = await subjectWith({ scopes: ALL_SCOPES })
  t.teardown(subject.close)
  Object.assign(subject.client, { firstParty: false, scopes: ['openid'] })
  const beyond = { email: null, phone_number: null, address: null, birthdate: null, preferred_username: null }
  const greedy: Asked = { scope: ['openid'], claims: { userinfo: beyond, id_token: beyond }, prompt: undefined }
  const learned = async (answer: Record<string, string>): Promise<string[]> => {
    const tokens = (
      await redeem(
        subject.app,
        answer.code ?? '',
        { client_id: undefined, redirect_uri: 'https://any.example/cb' },
        basic('any', SECRET)
      )
    ).json() as Record<'access_token' | 'id_token', string>
    return [
      ...standardIn((await subject.app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })).json()),
      ...standardIn(decodeJwt(tokens.id_token).claims)
    ]
  }
  const first = await ask(subject, greedy, 'allow')
  t.same(first.shown, ['openid'])
  t.same(await learned(first.answer), [])
  const silent = await ask(subject, { ...greedy, prompt: 'none' }, 'allow')
  t.equal(silent.shown, null)
  t.same(await learned(silent.answer), [], 'nor by the older consent')
  Object.assign(subject.client, { firstParty: true })
  t.same(
    await learned((await ask(subject, greedy, 'allow')).answer),
    [],
    'nor does the host’s own client, of what it may not have'
  )
  Object.assign(subject.client, { scopes: ['openid', 'email'] })
  t.same(
    await learned((await ask(subject, greedy, 'allow')).answer),
    ['email', 'email'],
    'of what it may have, the host’s own does'
  )
})

/** The option `scopes` and `claims` of each app. */
const SETTINGS: Array<[what: string, options: Partial<AuthorityOptions>]> = [
  ['all scopes', { scopes: ALL_SCOPES }],
  ['few scopes', { scopes: ['openid', 'email', 'offline_access'] }],
  [
    'a claims hook that returns every claim',
    { scopes: ALL_SCOPES, claims: () => ({ ...PERSON, 'name#ja': 'アン', 'email#x': EMAIL, role: 'admin' }) }
  ]
]

for (const [index, [what, options]] of SETTINGS.entries()) {
  // covers A1 OIDC-5.5 ASVS-10.7.2 ASVS-8.2.3
  t.test(`releases only claims that the client may have and the consent page showed: ${what}`, async (t) => {
    const subject = await subjectWith(options)
    t.teardown(subject.close)
    const { app, client } = subject
    const offered = options.scopes as string[]
    const counts = { told: 0, silently: 0, beyond: 0 }
    for (let number = 0; number < CASES; number++) {
      const seed = index * 1000 + number
      const random = chance(seed)
      const third = !random.one(3)
      const scopes = random.one(3) ? undefined : ['openid', ...random.some(offered.slice(1))]
      for (const name of ['firstParty', 'scopes'] as const) delete client[name]
      Object.assign(client, { firstParty: !third, ...(scopes === undefined ? {} : { scopes }) })
      const mayHave = scopes ?? offered
      await app.authority.revokeConsent(subject.sub, 'any')

      // Some earlier requests, allowed or not; then the tested one.
      const allowed = new Set<string>()
      let last: Awaited<ReturnType<typeof ask>> = { shown: null, answer: {} }
      let request = randomRequest(random)
      for (let left = random.integer(3); left >= 0; left--) {
        request = randomRequest(random)
        const decision = left > 0 && random.one(3) ? 'deny' : 'allow'
        last = await ask(subject, request, decision)
        if (decision === 'allow') for (const scope of last.shown ?? []) allowed.add(scope)
      }
      const { code } = last.answer
      const name = `seed ${seed}`
      if (code === undefined) {
        t.match(last.answer.error, /^(?:consent_required|invalid_scope)$/, name)
        continue
      }
      counts.told++
      if (third && last.shown === null) counts.silently++
      const tokens = (
        await redeem(app, code, { client_id: undefined, redirect_uri: 'https://any.example/cb' }, basic('any', SECRET))
      ).json() as Record<'access_token' | 'id_token' | 'scope', string>
      const granted = tokens.scope.split(' ')
      const mayKnow = claimsOf(third ? mayHave.filter((scope) => allowed.has(scope)) : mayHave)
      const userinfo = async (): Promise<Record<string, unknown>> =>
        (await app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })).json()
      const idToken = decodeJwt(tokens.id_token).claims
      const access = decodeJwt(tokens.access_token).claims
      const introspected = (
        await app.inject({
          method: 'POST',
          url: '/auth/introspect',
          headers: basic('any', SECRET),
          payload: { token: tokens.access_token }
        })
      ).json() as Record<string, unknown>
      const answers = { userinfo: await userinfo(), idToken, introspected, ...(third ? { access } : {}) }

      for (const scope of granted)
        t.ok(mayHave.includes(scope) && (!third || allowed.has(scope)), `${name}: ${scope} was granted`)
      for (const [where, answer] of Object.entries(answers)) {
        t.same(
          standardIn(answer).filter((claim) => !mayKnow.includes(claim.split('#')[0] ?? '')),
          [],
          `${name}: ${where}`
        )
        if (!mayKnow.includes('email'))
          t.notOk(JSON.stringify(answer).includes(EMAIL), `${name}: L2 the email address in ${where}`)
      }
      const named = Object.keys(request.claims.userinfo ?? {})
      const due = [
        ...new Set([
          ...claimsOf(granted),
          ...named.filter((claim) => (third ? claimsOf(granted) : mayKnow).includes(claim))
        ])
      ]
      const known = (claim: string): boolean =>
        claim !== 'preferred_username' || granted.includes('email') || named.includes('email')
      t.strictSame(
        due.filter(known).filter((claim) => !(claim in answers.userinfo)),
        [],
        `${name}: what is due is told`
      )
      if (named.some((claim) => STANDARD.includes(claim) && !mayKnow.includes(claim))) counts.beyond++
      t.equal(introspected['scope'], tokens.scope, name)

      // The host removes scopes of the client, so issued tokens release only the rest.
      const left = random.some(mayHave)
      client.scopes = left
      t.same(
        standardIn(await userinfo()).filter((claim) => !claimsOf(left).includes(claim.split('#')[0] ?? '')),
        [],
        `${name}: after scopes were taken away`
      )
    }
    t.ok(
      counts.told > 25 && counts.silently > 0 && counts.beyond > 2,
      `the cases are worth it: ${JSON.stringify(counts)}`
    )
  })
}
