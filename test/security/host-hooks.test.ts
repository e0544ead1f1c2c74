/**
 * Checks the values that the host's hooks return. A missing value means none. An invalid value is a named error that
 * grants nothing.
 */
import t, { type Test } from '../support/tap.ts'
import { memoryFactorStore, memoryUserStore, type AuthorityOptions } from '../../lib/index.ts'
import { OPTIONS_SCHEMA } from '../../lib/composition/compose.ts'
import { HOOK_ANSWERS } from '../../lib/boundary/host-hooks.ts'
import { PASSWORD, testApp, type LightMyRequestResponse } from '../support/app.ts'

const ANN = { username: 'ann@example.com', password: PASSWORD }

interface Line {
  level: number
  err?: { code?: string; message?: string }
}
interface Subject {
  app: Awaited<ReturnType<typeof testApp>>['app']
  misfits: string[]
  signIn(headers?: Record<string, string>, password?: string): Promise<LightMyRequestResponse>
}

async function subjectOf(t: Test, options: Partial<AuthorityOptions>): Promise<Subject> {
  const misfits: string[] = []
  const { app, close } = await testApp(
    { users: memoryUserStore(), ...options },
    {
      logger: {
        level: 'info',
        stream: {
          write(text: string) {
            const line = JSON.parse(text) as Line
            if (line.level === 50 && line.err?.code === 'FST_AUTHORITY_HOOK_MISFIT')
              misfits.push(String(line.err.message))
          }
        }
      }
    }
  )
  t.teardown(close)
  return {
    app,
    misfits,
    signIn: async (headers = {}, password = PASSWORD) =>
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers,
        payload: { grant_type: 'password', ...ANN, password }
      })
  }
}

const register = async ({ app }: Subject, password = PASSWORD): Promise<LightMyRequestResponse> =>
  await app.inject({ method: 'POST', url: '/auth/register', payload: { ...ANN, password } })

/** A hook with this result, which its type may not allow. */
const answers = (answer: unknown) => (async () => answer) as never

const circular: Record<string, unknown> = {}
circular['self'] = circular

interface HookCase {
  /** Missing and valid results. */
  fit: unknown[]
  /** Invalid results, with the expected log message. */
  misfit: Array<[unknown, RegExp]>
  /** Runs the action that calls the hook. `well` is true if it succeeds as without the hook. */
  ask(t: Test, answer: unknown): Promise<{ well: boolean; misfits: string[] }>
  /**
   * True if the action continues without the result, because only comfort depends on it, or the default is stricter.
   */
  goesOn: boolean
}

const guesses = async ({ signIn }: Subject, headers: (i: number) => Record<string, string>): Promise<number[]> => {
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await signIn(headers(i), 'a wrong password')).statusCode)
  return statuses
}
const LIMITS = { login: { max: 2 } }
const HELD = [400, 400, 429]

const CASES: Record<keyof typeof HOOK_ANSWERS, HookCase> = {
  claims: {
    fit: [undefined, null, {}, { role: 'admin', roles: ['a'], since: new Date(0), nothing: undefined }],
    misfit: [
      ['admin', /^claims: the answer is a string; it takes an object of claims\.$/],
      [[], /an array/],
      [7, /a number/],
      [{ level: 7n }, /^claims: level is a bigint; it takes what JSON can hold\.$/],
      [{ f: () => 1 }, /f is a function/],
      [{ tree: circular }, /tree is an object/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { claims: answers(answer), rateLimit: { account: { max: 1 }, login: false } })
      await register(subject)
      const first = await subject.signIn()
      if (first.statusCode !== 200) {
        t.same([first.statusCode, first.json<{ error: string }>().error], [500, 'server_error'])
        t.equal((await subject.signIn()).statusCode, 429, 'it counted')
      }
      return { well: first.statusCode === 200, misfits: subject.misfits }
    },
    goesOn: false
  },
  'password.isBreached': {
    fit: [undefined, null, false],
    misfit: [
      [3, /^password\.isBreached: the answer is a number; it takes true or false/],
      [0, /a number/],
      ['no', /a string/],
      [{ breached: true }, /an object/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { password: { isBreached: answers(answer) } })
      const { statusCode } = await register(subject)
      if (statusCode !== 201) t.equal(statusCode, 500)
      return { well: statusCode === 201, misfits: subject.misfits }
    },
    goesOn: false
  },
  'password.hasher.hash': {
    fit: ['$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaA'],
    misfit: [
      [undefined, /^password\.hasher\.hash: the answer is nothing; it takes a PHC string\.$/],
      [Buffer.from('x'), /an object/],
      ['', /an empty string/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { password: { hasher: { hash: answers(answer), verify: answers(false) } } })
      const { statusCode } = await register(subject)
      if (statusCode !== 201) t.equal(statusCode, 500)
      return { well: statusCode === 201, misfits: subject.misfits.slice(-1) }
    },
    goesOn: false
  },
  'password.hasher.verify': {
    fit: [true],
    misfit: [
      [1, /^password\.hasher\.verify: the answer is a number; it takes true or false\.$/],
      [{ valid: true }, /an object/],
      [undefined, /nothing/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, {
        password: {
          hasher: {
            hash: answers('$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaA'),
            verify: answers(answer)
          }
        }
      })
      await register(subject)
      const { statusCode } = await subject.signIn()
      if (statusCode !== 200) t.equal(statusCode, 500)
      return { well: statusCode === 200, misfits: subject.misfits.slice(-1) }
    },
    goesOn: false
  },
  'rateLimit.key': {
    fit: [undefined, null, '', 'tenant'],
    misfit: [
      [7, /^rateLimit\.key: the answer is a number; it takes a string\.$/],
      [['a'], /an array/],
      [false, /a boolean/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { rateLimit: { ...LIMITS, key: answers(answer) } })
      t.same(await guesses(subject, () => ({})), HELD)
      return { well: true, misfits: subject.misfits.slice(0, 1) }
    },
    goesOn: true
  },
  'rateLimit.apiKey.verify': {
    fit: [undefined, null, false],
    misfit: [
      ['yes', /^rateLimit\.apiKey\.verify: the answer is a string; it takes true, false or \{ max \}\.$/],
      [1, /a number/],
      [[], /an array/],
      [{ max: '100' }, /max is a string; it takes a whole number from 1/],
      [{ max: 0 }, /max is a number/],
      [{ id: 'partner' }, /max is nothing/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { rateLimit: { ...LIMITS, apiKey: { verify: answers(answer) } } })
      t.same(await guesses(subject, (i) => ({ 'x-api-key': `made up ${i}` })), HELD, 'the address counts')
      return { well: true, misfits: subject.misfits.slice(0, 1) }
    },
    goesOn: true
  },
  'rateLimit.onLimit': {
    fit: [undefined, null, { message: 'slow down' }, 'slow down'],
    misfit: [
      [circular, /^rateLimit\.onLimit: the answer is an object; it takes the body of the answer/],
      [7n, /a bigint/],
      [() => 'slow down', /a function/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { rateLimit: { ...LIMITS, onLimit: answers(answer) } })
      t.same(await guesses(subject, () => ({})), HELD)
      return { well: true, misfits: subject.misfits }
    },
    goesOn: true
  },
  'mfa.required': {
    fit: [true, false],
    misfit: [
      [undefined, /^mfa\.required: the answer is nothing; it takes true or false/],
      [null, /null/],
      [1, /a number/],
      ['false', /a string/],
      [{}, /an object/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { factors: memoryFactorStore(), mfa: { required: answers(answer) } })
      await register(subject)
      const reply = await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', ...ANN }
      })
      if (typeof answer === 'boolean') t.equal(reply.statusCode, answer ? 400 : 200)
      else t.notMatch(reply.body, 'access_token')
      return { well: typeof answer === 'boolean', misfits: subject.misfits }
    },
    goesOn: false
  },
  'pages.render': {
    fit: [undefined, null, '<p>own</p>', ''],
    misfit: [
      [7, /^pages\.render: the answer is a number; it takes a string of HTML/],
      [{ html: 'x' }, /an object/]
    ],
    async ask(t, answer) {
      const subject = await subjectOf(t, { pages: { render: answers(answer) } })
      const page = await subject.app.inject({ url: '/auth/login' })
      t.equal(page.statusCode, 200)
      if (typeof answer !== 'string') t.match(page.body, 'name="password"')
      return { well: true, misfits: subject.misfits }
    },
    goesOn: true
  }
}

for (const [name, { fit, misfit, ask, goesOn }] of Object.entries(CASES)) {
  // covers A5
  t.test(`logs an error for undocumented results of ${name}, and accepts documented ones`, async (t) => {
    for (const answer of fit) t.same(await ask(t, answer), { well: true, misfits: [] })
    for (const [answer, said] of misfit) {
      const { well, misfits } = await ask(t, answer)
      t.equal(well, goesOn)
      t.match(misfits, [said], String(said))
    }
  })
}

// covers A5
t.test('lists a result check for each function option except those tested elsewhere', async (t) => {
  // Results of stores and ports and of `admin.allow` are checked elsewhere, and the result of `sendMessage` is ignored.
  const others = [
    'admin.allow',
    'admin.isProtected',
    'apiKeys.find',
    'apiKeys.store.find',
    'audit.append',
    'audit.log.append',
    'sendMessage',
    'clients.findById',
    'clock.now',
    'clock.monotonic',
    'clock.after'
  ]
  const functions = new Set<string>()
  const walk = (schema: Record<string, unknown>, path: string): void => {
    if (schema['type'] === 'Function') functions.add(path)
    for (const variant of (schema['anyOf'] ?? []) as Array<Record<string, unknown>>) walk(variant, path)
    for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as Record<string, Record<string, unknown>>))
      walk(inner, path === '' ? name : `${path}.${name}`)
  }
  walk(OPTIONS_SCHEMA as unknown as Record<string, unknown>, '')
  t.same([...functions].toSorted(), [...Object.keys(HOOK_ANSWERS), ...others].toSorted())
})
