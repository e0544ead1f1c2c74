/**
 * Two people, each with a mailbox, two browsers and an account at each of two providers, act as users in any order;
 * sometimes one signs up with the other's address. Disconnecting an account never locks its user out, no user gets into
 * another's account, and after the owner of a mailbox has proved it, no earlier access opens the account.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import Database from 'libsql'
import * as fc from 'fast-check'
import t from '../support/tap.ts'
import { isPasswordOlder } from '../../lib/accounts/address-proof.ts'
import { memoryUserStore, type Message, sqliteUserStore, type UserStore } from '../../lib/index.ts'
import { turns } from '../unit/accounts/world.ts'
import { connectApp, type ConnectApp, SAME } from '../http/connect/support.ts'
import { testBrowser, type TestBrowser } from '../support/browser.ts'
import { fakeConnection, fakeUpstream, SECRET } from '../support/fake-upstream.ts'
import { KEYS } from '../support/openid.ts'
import { property } from './support/property.ts'

const CONNECTIONS = ['acme', 'other'] as const

interface Person {
  name: string
  /** Two addresses of the one mailbox. */
  mails: [string, string]
  browsers: [TestBrowser, TestBrowser]
  /** All passwords that this person chose, the newest last. */
  passwords: string[]
}

/** The test's knowledge: the owner of each account, and the last known password. */
interface Walk {
  test: ConnectApp
  users: Required<UserStore>
  mails: Message[]
  people: [Person, Person]
  owners: Map<string, Person>
  known: Map<string, string>
  /** Tokens of messages that were used. */
  used: Set<string>
}

type Act = (walk: Walk, me: Person, them: Person, browser: TestBrowser) => Promise<string>

const cookieOf = (browser: TestBrowser): Record<string, string> => ({
  ...SAME,
  ...(browser.cookies.size === 0 ? {} : { cookie: [...browser.cookies].map((pair) => pair.join('=')).join('; ') })
})
const subjectOf = ({ name }: Person, connection: string): string => `${name}-at-${connection}`

/** A requested message, if any, is sent after the response. */
async function mail(
  { mails }: Walk,
  address: string,
  kind: Message['kind'],
  from: number
): Promise<Message | undefined> {
  for (let turn = 0; turn < 40; turn++) {
    const found = mails.slice(from).findLast((message) => message.kind === kind && message.user.email === address)
    if (found !== undefined) return found
    await turns(5)
  }
  return undefined
}

const post = async ({ test }: Walk, url: string, payload: object, browser?: TestBrowser) =>
  await test.app.inject({
    method: 'POST',
    url,
    payload,
    ...(browser === undefined ? {} : { headers: cookieOf(browser) })
  })
const remove = async ({ test }: Walk, url: string, browser: TestBrowser) =>
  await test.app.inject({ method: 'DELETE', url, headers: cookieOf(browser) })
const choose = (person: Person): string => {
  const next = `long words of ${person.name} ${person.passwords.length}`
  person.passwords.push(next)
  return next
}

const signUp =
  (address: (me: Person, them: Person) => string): Act =>
  async (walk, me, them) => {
    const password = choose(me)
    const reply = await post(walk, '/auth/register', { username: address(me, them), password })
    if (reply.statusCode !== 201) return 'sign-up refused'
    const { sub } = reply.json<{ sub: string }>()
    walk.owners.set(sub, me)
    walk.known.set(sub, password)
    return address(me, them) === me.mails[0] ? 'signed up' : "signed up with another's address"
  }

const signIn: Act = async (walk, me, _them, browser) => {
  const [id, password] = [...walk.known].findLast(([one]) => walk.owners.get(one) === me) ?? []
  const user = id === undefined ? null : await walk.users.findById(id)
  if (user === null || password === undefined) return 'no password to sign in with'
  equal(
    (await browser.submit('/auth/login', { username: user.username, password })).statusCode,
    303,
    'a password that they know opens their account'
  )
  equal(await walk.test.who(browser), user.id)
  return 'signed in by password'
}

const connect =
  (id: (typeof CONNECTIONS)[number], email: (me: Person) => string | undefined): Act =>
  async (walk, me, _them, browser) => {
    const { test } = walk
    const subject = subjectOf(me, id)
    const owner = await walk.users.findByIdentity({ issuer: 'https://sso.example.com', subject })
    const address = email(me)
    const former = address === undefined ? null : await walk.users.findByUsername(address)
    test.fake.person = { subject, emailAuthoritative: true, ...(address === undefined ? {} : { email: address }) }
    const { state } = await test.start('', browser, id)
    const back = await test.back(state, { code: 'good' }, browser, id)
    if (back.headers.location === '/auth/connect/confirm') return 'confirm'
    equal(back.statusCode, 303, `${back.statusCode} ${back.body}`)
    const now = (await test.who(browser)) ?? ''
    if (owner !== null) {
      equal(now, owner.id, 'an identity leads to whom it is linked')
      return 'signed in by connection'
    }
    if (walk.owners.has(now)) {
      // A password from before the proof of the address may belong to the person who named the address first.
      if (former !== null && isPasswordOlder(former)) walk.known.delete(now)
      return 'linked by address'
    }
    walk.owners.set(now, me)
    return 'registered by connection'
  }

const confirm: Act = async (_walk, _me, _them, browser) => {
  const page = await browser.get('/auth/connect/confirm')
  if (page.statusCode !== 200 || !page.body.includes('value="link"')) return 'nothing to confirm'
  return (await browser.submit('/auth/connect/confirm', { decision: 'link' })).statusCode === 303
    ? 'confirmed'
    : 'not confirmed'
}

const link =
  (id: (typeof CONNECTIONS)[number]): Act =>
  async (walk, me, _them, browser) => {
    const { test } = walk
    const before = test.fake.begun.length
    await browser.submit(`/auth/connect/${id}/link?return_to=/`)
    const begun = test.fake.begun[before]
    if (begun === undefined) return 'no link without a fresh sign-in'
    test.fake.person = { subject: subjectOf(me, id) }
    return (await test.back(begun.flow.state, { code: 'good' }, browser, id)).statusCode === 303
      ? 'linked'
      : 'not linked'
  }

const unlink =
  (which: number): Act =>
  async (walk, _me, _them, browser) => {
    const listed = await walk.test.app.inject({ url: '/auth/connections', headers: cookieOf(browser) })
    if (listed.statusCode !== 200) return 'signed out'
    const { connections } = listed.json<{ connections: Array<{ id: string }> }>()
    const one = connections[which % Math.max(1, connections.length)]
    if (one === undefined) return 'nothing to unlink'
    const { statusCode } = await remove(walk, `/auth/connections/${one.id}`, browser)
    return (
      ({ 204: 'unlinked', 401: 'too old to unlink', 409: 'the last way stays' } as Record<number, string>)[
        statusCode
      ] ?? `unlink ${statusCode}`
    )
  }

const reset: Act = async (walk, me, them) => {
  const [address] = me.mails
  const user = await walk.users.findByUsername(address)
  if (user === null) return 'no account to reset'
  const from = walk.mails.length
  await post(walk, '/auth/password-reset', { username: address })
  const { token = '' } = (await mail(walk, address, 'password_reset', from)) ?? {}
  const password = choose(me)
  equal(
    (await post(walk, '/auth/password-reset/confirm', { token, password })).statusCode,
    204,
    'the owner of the mailbox gets in'
  )
  const before = walk.owners.get(user.id)
  walk.owners.set(user.id, me)
  walk.known.set(user.id, password)
  return before === them ? 'taken back by a reset' : 'reset'
}

/**
 * The last message to this person that asks for a confirmation. A person who did not sign up presses "That wasn’t me".
 */
const verify: Act = async (walk, me) => {
  await turns()
  const message = walk.mails.findLast(
    ({ kind, user, token = '' }) =>
      kind === 'verify_email' && me.mails.includes(user.email ?? '') && !walk.used.has(token)
  )
  if (message === undefined) return 'nothing to verify'
  const {
    token = '',
    user: { id }
  } = message
  walk.used.add(token)
  if (walk.owners.get(id) === me)
    return (await post(walk, '/auth/email/verify', { token })).statusCode === 204 ? 'verified' : 'not verified'
  const disowned = await testBrowser(walk.test.app).submit('/auth/verify-email', { token, decision: 'not_me' })
  if (disowned.statusCode !== 303) return 'not disowned'
  walk.owners.set(id, me)
  walk.known.delete(id)
  return 'disowned'
}

const changeEmail: Act = async (walk, me, _them, browser) => {
  const id = await walk.test.who(browser)
  const next = me.mails[1]
  if (id === null || (await walk.users.findByUsername(next)) !== null) return 'no address to change'
  const from = walk.mails.length
  const reply = await post(walk, '/auth/email', { email: next }, browser)
  if (reply.statusCode !== 202) return 'too old to change the address'
  const { token = '' } = (await mail(walk, next, 'email_change', from)) ?? {}
  return (await post(walk, '/auth/email/verify', { token })).statusCode === 204
    ? 'address changed'
    : 'address not changed'
}

const removeAccount: Act = async (walk, _me, _them, browser) => {
  const id = await walk.test.who(browser)
  if (id === null || (await remove(walk, '/auth/account', browser)).statusCode !== 204) return 'not removed'
  walk.owners.delete(id)
  walk.known.delete(id)
  for (const connection of CONNECTIONS)
    for (const person of walk.people)
      ok(
        (await walk.users.findByIdentity({ issuer: 'https://sso.example.com', subject: subjectOf(person, connection) }))
          ?.id !== id
      )
  return 'removed'
}

const forget: Act = async ({ known, owners }, me) => {
  for (const id of known.keys()) if (owners.get(id) === me) known.delete(id)
  return 'forgot the password'
}

const later: Act = async ({ test }) => {
  test.clock.step(301_000)
  return 'later'
}

const ACTS: Record<string, Act> = {
  signUp: signUp((me) => me.mails[0]),
  signUpAsThem: signUp((_me, them) => them.mails[0]),
  signIn,
  connect: connect('acme', (me) => me.mails[0]),
  connectElse: connect('acme', (me) => me.mails[1]),
  connectNoMail: connect('acme', () => undefined),
  connectOther: connect('other', (me) => me.mails[0]),
  confirm,
  link: link('acme'),
  linkOther: link('other'),
  unlink: unlink(0),
  unlinkSecond: unlink(1),
  reset,
  verify,
  changeEmail,
  removeAccount,
  forget,
  later
}

/** The invariant after every action. */
async function check({ test, users, people, owners, known }: Walk): Promise<void> {
  for (const person of people) {
    for (const browser of person.browsers) {
      const id = await test.who(browser)
      if (id !== null)
        equal(owners.get(id)?.name, person.name, `${person.name} is signed in to an account of their own`)
    }
    for (const connection of CONNECTIONS) {
      const user = await users.findByIdentity({
        issuer: 'https://sso.example.com',
        subject: subjectOf(person, connection)
      })
      if (user !== null)
        equal(
          owners.get(user.id)?.name,
          person.name,
          `what ${person.name} has elsewhere leads to an account of their own`
        )
    }
  }
  for (const [id, owner] of owners) {
    const user = await users.findById(id)
    ok(user, 'who did not remove the account has it')
    const links = await users.listIdentities(id)
    for (const { subject } of links)
      ok(subject.startsWith(`${owner.name}-at-`), `${subject} is linked to an account of ${owner.name}`)
    ok(user.passwordHash !== null || links.length > 0, 'a way to sign in is left')
    if (user.emailVerified) ok(owner.mails.includes(user.email ?? ''), "a confirmed address is the owner's")
    const password = known.get(id)
    if (password !== undefined)
      equal(await test.app.authority.verifyPassword(user.username, password), id, 'the password that the owner knows')
    for (const person of people)
      if (person !== owner)
        for (const other of person.passwords)
          equal(
            await test.app.authority.verifyPassword(user.username, other),
            null,
            `no password of ${person.name} opens it`
          )
  }
}

const step = fc.record({ act: fc.constantFrom(...Object.keys(ACTS)), who: fc.nat(1), browser: fc.nat(1) })
let runs = 0

const STORES: Record<string, () => Required<UserStore>> = {
  memory: () => memoryUserStore(),
  sqlite() {
    const db = new Database(':memory:')
    t.teardown(() => {
      db.close()
    })
    return sqliteUserStore(db)
  }
}

const PRE_HIJACKED = ['signUpAsThem', 'signIn', 'link'].map((act) => ({ act, who: 1, browser: 0 }))
const mine = (...acts: string[]) => acts.map((act) => ({ act, who: 0, browser: 0 }))

for (const [store, make] of Object.entries(STORES)) {
  const users = make()
  const mails: Message[] = []
  const fake = fakeUpstream()
  const test = await connectApp(t, {
    users,
    fake,
    keys: KEYS,
    secret: SECRET,
    registration: { username: 'email' },
    connections: [
      fakeConnection(fake),
      fakeConnection(fake, { id: 'other', name: 'Other', linking: 'verified-email', trustEmail: true })
    ],
    sendMessage: (message) => {
      mails.push(message)
    }
  })
  property(
    `FED-11, FED-13: keeps accounts separate and accessible after any order of actions on ${store}`,
    [fc.array(step, { minLength: 8, maxLength: 24 })],
    {
      share: 0.03,
      examples: [
        [mine('signUp', 'verify', 'signIn', 'connect', 'confirm', 'forget', 'unlink', 'unlink', 'connect')],
        [mine('signUp', 'signIn', 'link', 'forget', 'unlink', 'reset', 'signIn', 'link', 'unlink')],
        [mine('connect', 'unlink', 'linkOther', 'unlink', 'unlink', 'reset', 'unlink')],
        [
          mine(
            'signUp',
            'verify',
            'connectOther',
            'unlink',
            'connectOther',
            'changeEmail',
            'connectOther',
            'signUp',
            'removeAccount',
            'connectOther'
          )
        ],
        [[...PRE_HIJACKED, ...mine('verify', 'signUp', 'reset', 'signIn')]],
        [
          [
            ...PRE_HIJACKED,
            ...mine('connect', 'reset', 'connect', 'confirm', 'signIn', 'link'),
            { act: 'connect', who: 1, browser: 1 }
          ]
        ],
        [
          [
            ...PRE_HIJACKED,
            { act: 'changeEmail', who: 1, browser: 0 },
            ...mine('connectOther', 'verify', 'reset', 'connectOther')
          ]
        ]
      ]
    },
    async (steps) => {
      const run = `${store}${++runs}`
      const person = (name: string): Person => ({
        name: `${name}-${run}`,
        mails: [`${name}-${run}@example.com`, `${name}-${run}@mail.example`],
        browsers: [testBrowser(test.app), testBrowser(test.app)],
        passwords: []
      })
      const people: [Person, Person] = [person('ann'), person('mal')]
      const walk: Walk = { test, users, mails, people, owners: new Map(), known: new Map(), used: new Set() }
      const done: string[] = []
      for (const { act, who, browser } of steps) {
        const [me, them] = who === 0 ? people : [people[1], people[0]]
        const outcome = (await ACTS[act]?.(walk, me, them, browser === 0 ? me.browsers[0] : me.browsers[1])) ?? ''
        done.push(outcome)
        try {
          await check(walk)
        } catch (error) {
          deepEqual(done, [], `${error instanceof Error ? error.message : ''} after ${done.join(', ')}`)
        }
      }
      mails.length = 0
      return done
    }
  )
}
