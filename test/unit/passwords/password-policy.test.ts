import t from '../../support/tap.ts'
import { MisfitError } from '../../../lib/errors.ts'
import { commonPasswords } from '../../../lib/accounts/common-passwords.ts'
import { passwordPolicyOptions } from '../../support/password-policy.ts'
import { createPasswordPolicy, requireGoodPassword } from '../../../lib/accounts/password-policy.ts'
import type { PasswordPolicyOptions, PasswordRefusal } from '../../../lib/accounts/password-policy.ts'

const ada = { username: 'ada.lovelace@example.com', email: 'countess@example.com' }

/** A clock that runs its timers when told to. */
function steppedClock() {
  const timers = new Map<() => void, number>()
  return {
    timers,
    after(delayMs: number, task: () => void) {
      timers.set(task, delayMs)
      return () => {
        timers.delete(task)
      }
    },
    step() {
      for (const task of timers.keys()) task()
    }
  }
}

/** The result of `check` for a refused password. */
const refused = (reason: PasswordRefusal['reason'], message: RegExp = /^The password /) => ({ reason, message })

function policyOf(options: Partial<PasswordPolicyOptions> = {}) {
  const clock = steppedClock()
  const failures: unknown[] = []
  const policy = createPasswordPolicy(
    passwordPolicyOptions({ contextWords: ['Analytica', 'auth.engine.example'], ...options }),
    {
      clock,
      onHookFailure(error) {
        failures.push(error)
      }
    }
  )
  return { policy, clock, failures }
}

// covers ASVS-6.2.1 ASVS-6.2.9
t.test('counts the minimum length in code points and the maximum in bytes', async (t) => {
  const { policy } = policyOf()
  const table: Array<[string, string, ReturnType<typeof refused> | null]> = [
    ['7 code points', 'kvxqzwj', refused('too_short', /at least 8 characters/)],
    ['8 code points', 'kvxqzwjp', null],
    ['7 emoji, 14 code units', '\u{1f980}'.repeat(7), refused('too_short', /at least 8 characters/)],
    ['8 emoji', '\u{1f980}'.repeat(8), null],
    ['empty', '', refused('too_short', /at least 8 characters/)],
    ['64', 'kv'.repeat(32), null],
    ['256', 'kv'.repeat(128), null],
    ['1024 bytes', 'kv'.repeat(512), null],
    ['1025 bytes', `${'kv'.repeat(512)}x`, refused('too_long', /at most 1024 bytes/)],
    ['1026 bytes in 513 code points', '\u00e9'.repeat(513), refused('too_long', /at most 1024 bytes/)]
  ]
  for (const [what, password, reason] of table) {
    const found = await policy.check(password, ada)
    if (reason === null) t.equal(found, null, what)
    else t.match(found, reason, what)
  }
  t.match(await policyOf({ minLength: 15 }).policy.check('kvxqzwjpmrtbnd', ada), refused('too_short', /at least 15/))
  t.equal(await policyOf({ minLength: 15 }).policy.check('kvxqzwjpmrtbndg', ada), null)
})

// covers ASVS-6.2.5 ASVS-6.2.8
t.test('accepts a password without composition rules, also one of spaces or with a NUL', async (t) => {
  const { policy } = policyOf()
  for (const password of [
    'kvxqzwjp',
    'KVXQZWJP',
    '8402719365',
    '        ',
    ' kvxqzw ',
    '\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd',
    'kvx\0qzwj',
    'e\u0301kvxqzw',
    '!?!?!;:-',
    'a\tb\nc\rd e'
  ]) {
    t.equal(await policy.check(password, ada), null, JSON.stringify(password))
  }
})

// covers ASVS-6.2.4
t.test('refuses every entry of the bundled list of common passwords in lower and upper case', async (t) => {
  const { policy } = policyOf()
  const entries = [...commonPasswords()]
  t.ok(entries.length >= 3000)
  t.same(
    entries.filter((entry) => entry.length < 8 || entry !== entry.toLowerCase()),
    []
  )
  const accepted: string[] = []
  for (const entry of entries) {
    for (const form of [entry, entry.toUpperCase()]) {
      if ((await policy.check(form, ada))?.reason !== 'too_common') accepted.push(form)
    }
  }
  t.same(accepted, [])
  for (const known of ['password', 'Password1', 'qwertyuiop', '12345678', 'iloveyou'])
    t.match(await policy.check(known, ada), refused('too_common'), known)
})

// covers ASVS-6.1.2 ASVS-6.2.11
t.test('refuses a password made of the username, the email address or a context word', async (t) => {
  const { policy } = policyOf()
  const easy = [
    'ada.lovelace@example.com',
    'Lovelace',
    'LOVELACE1815',
    'lovelace-lovelace',
    'lovelace!xyz',
    'countess99',
    'analytica',
    'Analytica2026!',
    'analytica-lovelace',
    'ada.lovelace.42',
    'auth.engine.example',
    'engine-engine',
    'a1n2analytica',
    '84027lovelace19365'
  ]
  for (const password of easy) t.match(await policy.check(password, ada), refused('context_word'), password)
  t.match(await policy.check('my analytica', ada), refused('context_word'), 'two letters are no addition')
  for (const password of ['lovelace had a cat', 'ada-2026-ada', 'lov elace', 'kountess99'])
    t.equal(await policy.check(password, ada), null, password)
  t.match(
    await policy.check('Jose\u0301phine1', { username: 'jos\u00e9phine' }),
    refused('context_word'),
    'in another normalisation form'
  )
  t.equal(await policy.check('bob-bob-bob', { username: 'bob' }), null, 'a word of three letters is in too many')
  t.equal(await policy.check('kvxqzwjp', { username: 'ada' }), null)
})

// covers ASVS-6.2.12
t.test('asks the isBreached hook last, and accepts the password when the hook fails or hangs', async (t) => {
  await t.test('refuses a breached password, and asks only about otherwise good ones', async (t) => {
    const asked: string[] = []
    const { policy, clock, failures } = policyOf({
      isBreached: async (password) => {
        asked.push(password)
        return password === 'kvxqzwjp'
      }
    })
    t.match(await policy.check('kvxqzwjp', ada), refused('breached'))
    t.equal(await policy.check('kvxqzwjpm', ada), null)
    await policy.check('short', ada)
    await policy.check('password', ada)
    t.same(asked, ['kvxqzwjp', 'kvxqzwjpm'], 'not asked for what is refused anyway')
    t.equal(clock.timers.size, 0, 'no timer is left')
    t.same(failures, [])
  })
  for (const [what, isBreached] of [
    [
      'throws',
      () => {
        throw new Error('down')
      }
    ],
    [
      'rejects',
      async () => {
        throw new Error('down')
      }
    ]
  ] as const) {
    await t.test(`accepts the password and reports the error when the hook ${what}`, async (t) => {
      const { policy, clock, failures } = policyOf({ isBreached })
      t.equal(await policy.check('kvxqzwjp', ada), null)
      t.match(failures, [{ message: 'down' }])
      t.equal(clock.timers.size, 0)
    })
  }
  await t.test('accepts the password after 2 seconds without an answer', async (t) => {
    let rejectLate = (_error: Error): void => {}
    const { policy, clock, failures } = policyOf({
      isBreached: () =>
        new Promise<boolean>((_resolve, reject) => {
          rejectLate = reject
        })
    })
    const checked = policy.check('kvxqzwjp', ada)
    await new Promise(setImmediate)
    t.same([...clock.timers.values()], [2000])
    t.same(failures, [])
    clock.step()
    t.equal(await checked, null)
    t.match(failures, [{ message: /2000 ms/ }])
    t.notMatch(String(failures[0]), 'kvxqzwjp')
    rejectLate(new Error('too late to matter'))
    await new Promise(setImmediate)
    t.equal(failures.length, 1)
  })
})

t.test('DOS-huge-password accepts at sign-in only well-formed passwords within the byte limit', async (t) => {
  const { policy } = policyOf({ isBreached: () => true })
  for (const password of ['x', 'password', ada.username, 'x'.repeat(1024), 'a\0b', '\u{1f980}'])
    t.equal(policy.fits(password), true, password.slice(0, 20))
  for (const password of [
    'x'.repeat(1025),
    '\u00e9'.repeat(513),
    'abcdefgh\ud800',
    '\udc00abcdefgh',
    'x'.repeat(1_048_576)
  ])
    t.equal(policy.fits(password), false)
})

t.test('refuses a lone surrogate, because it would be stored as U+FFFD', async (t) => {
  const { policy } = policyOf()
  for (const password of ['kvxqzwjp\ud800', '\udc00kvxqzwjp', 'kvxq\udc00\ud800zwjp'])
    t.match(await policy.check(password, ada), refused('not_unicode'))
})

t.test('refuses a password with a context word unless enough other characters remain', async (t) => {
  const reasonOf = async (
    password: string,
    of: { username: string; email?: string },
    contextWords: string[] = []
  ): Promise<string | undefined> => (await policyOf({ contextWords }).policy.check(password, of))?.reason
  t.equal(await reasonOf('anna1999', { username: 'anna' }), 'context_word', 'four letters are a word')
  t.equal(await reasonOf('lovelace-wxy', { username: 'lovelace' }), 'context_word', 'three more are no addition')
  t.equal(await reasonOf('lovelace-wxyz', { username: 'lovelace' }), undefined, 'four are')
  t.equal(
    await reasonOf('lovelace99xy', { username: 'love-lovelace' }),
    'context_word',
    'the longest word is taken out first'
  )
  t.equal(
    await reasonOf('wxabcdefyz', { username: 'u' }, ['abcdef', 'wxyz']),
    undefined,
    'what stands around a word does not become one'
  )
  t.equal(
    await reasonOf('ab.cd2026', { username: 'u', email: 'ab.cd@example.org' }),
    'context_word',
    'the local part of the email address is one word too'
  )
  t.equal(await reasonOf('ab.cd2026', { username: 'ab.cd@example.org' }), 'context_word', 'and of the username')
})

t.test('does not call the hook without a user, and passes on an invalid answer as an error', async (t) => {
  const asked: string[] = []
  const { policy } = policyOf({ isBreached: async (password) => asked.push(password) > 0 })
  t.equal(await policy.check('kvxqzwjp', null), null)
  t.match(await policy.check('analytica1', null), refused('context_word'))
  t.strictSame(asked, [])
  await t.rejects(requireGoodPassword(policy, 'short', null), {
    code: 'FST_AUTHORITY_OAUTH',
    error: 'invalid_password',
    reason: 'too_short'
  })
  await t.resolves(requireGoodPassword(policy, 'kvxqzwjp', null))
  const misfit = new MisfitError('hook', { source: 'password.isBreached', problem: 'a number' })
  const odd = policyOf({
    isBreached: () => {
      throw misfit
    }
  })
  await t.rejects(odd.policy.check('kvxqzwjp', ada), misfit)
  t.strictSame(odd.failures, [])
})
