import t from '../../support/tap.ts'
import {
  type AuthenticationMethod,
  type AuthenticationProof,
  contextOf,
  hostProof,
  proofsFor,
  provedSince,
  readProofs,
  wasProvedJustNow
} from '../../../lib/protocol/authentication.ts'

const NOW = 1_767_225_600_000
const proofs = (methods: readonly AuthenticationMethod[], at = NOW): AuthenticationProof[] =>
  methods.map((method) => ({ method, at }))
const session = (methods: AuthenticationProof[]) => ({ methods, authenticatedAt: NOW })

t.test('derives acr and amr from the methods of each sign-in', async (t) => {
  const rows: Array<[methods: AuthenticationMethod[], acr: string | null, amr: string[]]> = [
    [['password'], 'password', ['pwd']],
    [['password', 'otp'], 'mfa', ['pwd', 'otp', 'mfa']],
    [['recovery_code', 'password'], 'mfa', ['pwd', 'recovery', 'mfa']],
    [['passkey'], 'phr', ['pop', 'user', 'mfa']],
    [['password', 'security_key'], 'phr', ['pwd', 'pop', 'user', 'mfa']],
    [['password', 'otp', 'passkey'], 'phr', ['pop', 'user', 'mfa']],
    [['email'], 'email', ['email']],
    [['email', 'otp'], 'email', ['email', 'otp']],
    [['email', 'recovery_code'], 'email', ['email', 'recovery']],
    [['connection'], 'connection', []],
    [['connection', 'otp'], 'mfa', ['otp', 'mfa']],
    [['connection', 'security_key'], 'mfa', ['pop', 'user', 'mfa']],
    [['connection', 'recovery_code'], 'mfa', ['recovery', 'mfa']],
    [['connection', 'password'], 'password', ['pwd']],
    [['host'], null, []],
    [['host', 'otp'], 'mfa', ['otp', 'mfa']],
    [['host', 'recovery_code'], 'mfa', ['recovery', 'mfa']],
    [['host', 'security_key'], 'mfa', ['pop', 'user', 'mfa']],
    [['host', 'passkey'], 'phr', ['pop', 'user', 'mfa']],
    [['otp'], null, []],
    [['recovery_code'], null, []],
    [['security_key'], null, []],
    [[], null, []]
  ]
  for (const [methods, acr, amr] of rows)
    t.strictSame(contextOf(session(proofs(methods))), { acr, amr, authenticatedAt: NOW }, methods.join(' + '))
})

// covers SU-05
t.test('takes auth_time from the oldest proof that the acr value rests on', async (t) => {
  const both = session([...proofs(['otp'], NOW - 9000), ...proofs(['password'], NOW)])
  t.strictSame(
    contextOf(both),
    { acr: 'mfa', amr: ['pwd', 'otp', 'mfa'], authenticatedAt: NOW - 9000 },
    'a new password makes an old code no younger'
  )
  t.strictSame(contextOf(both, ['password']), { acr: 'password', amr: ['pwd'], authenticatedAt: NOW })
  const renewed = session([...proofs(['password', 'otp'], NOW - 9000), ...proofs(['recovery_code'], NOW - 5)])
  t.equal(contextOf(renewed).authenticatedAt, NOW - 9000)
  t.strictSame(contextOf({ methods: [], authenticatedAt: NOW - 1 }), { acr: null, amr: [], authenticatedAt: NOW - 1 })
})

t.test('returns the strongest requested acr value that the session satisfies', async (t) => {
  const rows: Array<[methods: AuthenticationMethod[], wanted: string[], acr: string | null]> = [
    [['password'], ['password'], 'password'],
    [['password'], ['mfa', 'password'], 'password'],
    [['password'], ['mfa'], null],
    [['password'], ['email'], 'email'],
    [['password', 'otp'], ['password', 'mfa', 'phr'], 'mfa'],
    [['passkey'], ['password'], 'password'],
    [['passkey'], ['mfa', 'password'], 'mfa'],
    [['email'], ['password'], null],
    [['password'], ['connection'], null],
    [['connection'], ['password', 'email'], null],
    [['connection'], ['email', 'connection'], 'connection'],
    [['host'], ['password'], null],
    [['password'], ['PASSWORD', '1', ''], null],
    [[], ['password'], null]
  ]
  for (const [methods, wanted, acr] of rows)
    t.equal(
      contextOf(session(proofs(methods)), wanted)?.acr ?? null,
      acr,
      `${methods.join(' + ')}: ${wanted.join(' ')}`
    )
  t.strictSame(
    contextOf(session(proofs(['passkey'])), ['password'])?.amr,
    ['pop', 'user', 'mfa'],
    'amr says what there was'
  )
})

t.test('accepts the amr values of a host as proof of a password and of two factors only', async (t) => {
  const of = (amr: readonly string[]) => contextOf(session([hostProof(amr, NOW)]))
  t.strictSame(of([]), { acr: null, amr: [], authenticatedAt: NOW })
  t.strictSame(of(['pwd']), { acr: 'password', amr: ['pwd'], authenticatedAt: NOW })
  t.strictSame(of(['otp', 'pwd', 'mfa']), { acr: 'mfa', amr: ['pwd', 'otp', 'mfa'], authenticatedAt: NOW })
  t.strictSame(of(['mfa']), { acr: 'mfa', amr: ['mfa'], authenticatedAt: NOW })
  for (const amr of [
    ['pwd', 'otp'],
    ['pwd', 'MFA'],
    ['pwd', 'mfa2'],
    ['pwd', 'phr'],
    ['pwd', 'hwk', 'user']
  ])
    t.equal(of(amr).acr, 'password', amr.join(' '))
  t.strictSame(
    contextOf(session([hostProof(['pwd', 'mfa'], NOW), ...proofs(['security_key'])])).acr,
    'phr',
    'what is shown here is not less for it'
  )
  t.strictSame(of(['face']), { acr: null, amr: ['face'], authenticatedAt: NOW })
  for (const bad of [
    null,
    'pwd',
    ['a b'],
    [''],
    [1],
    ['x'.repeat(65)],
    Array.from({ length: 11 }, () => 'a'),
    { length: 0 }
  ])
    t.throws(() => hostProof(bad as never, NOW), TypeError, JSON.stringify(bad))
})

t.test('reads back the proofs of a ticket, and drops malformed ones', async (t) => {
  const methods: AuthenticationProof[] = [
    { method: 'password', at: NOW },
    { method: 'host', at: NOW - 5, amr: ['face'] },
    hostProof(['pwd', 'mfa'], NOW),
    hostProof(['mfa'], NOW)
  ]
  t.strictSame(readProofs(JSON.parse(JSON.stringify(methods))), methods)
  const malformed = [
    null,
    1,
    {},
    { method: 'face', at: 1 },
    { method: 'password' },
    { method: 'password', at: '1' },
    { method: 'password', at: 1, amr: 'pwd' },
    { method: 'otp', at: 1, amr: [1] }
  ]
  for (const odd of [undefined, null, '', 'x', '[]', 5, false, {}, [], malformed])
    t.strictSame(readProofs(odd), [], JSON.stringify(odd))
  const otp = { method: 'otp', at: 2 }
  t.strictSame(readProofs([{ method: 'retina', at: 1 }, otp]), [otp], 'a method of a newer release')
})

t.test('reports at least mfa for a sign-in by a connection and a second factor of this server', async (t) => {
  const by = (acr: string): AuthenticationProof[] => [{ method: 'connection', at: NOW, acr }, ...proofs(['otp'])]
  for (const [acr, worth] of [
    ['password', 'mfa'],
    ['email', 'mfa'],
    ['urn:acme:bronze', 'mfa'],
    ['mfa', 'mfa'],
    ['phr', 'phr']
  ] as const) {
    t.equal(contextOf(session(by(acr))).acr, worth, acr)
    t.equal(contextOf(session(by(acr)), ['mfa'])?.acr, 'mfa', `${acr}, where mfa is wanted`)
    t.equal(contextOf(session(by(acr).slice(0, 1))).acr, acr, `${acr} alone`)
  }
})

t.test('dates a session by its oldest proof from this server', async (t) => {
  t.equal(provedSince(session([])), NOW)
  t.equal(provedSince(session([...proofs(['password'], NOW - 9000), ...proofs(['otp'], NOW - 5)])), NOW - 9000)
  t.equal(
    provedSince(session(proofs(['connection'], NOW - 9000))),
    NOW,
    'when the provider last asked is its own matter'
  )
  t.equal(provedSince(session([...proofs(['connection'], NOW - 9000), ...proofs(['otp'], NOW - 5)])), NOW - 5)
})

t.test('counts a proof as recent for a minute', async (t) => {
  for (const [ages, expected] of [
    [[], false],
    [[59_999], true],
    [[60_000], false],
    [[90_000, 10], true],
    [[90_000, 60_000], false]
  ] as const)
    t.equal(
      wasProvedJustNow({ methods: ages.map((age) => ({ method: 'password', at: NOW - age })) }, NOW),
      expected,
      String(ages)
    )
})

t.test('lists proofs that satisfy each acr value, and rejects an unknown value', async (t) => {
  t.strictSame(proofsFor('mfa', NOW), proofs(['password', 'otp']))
  t.strictSame(proofsFor('phr', NOW), proofs(['passkey']))
  t.strictSame(proofsFor('email', NOW), proofs(['email', 'otp']))
  for (const { acr, methods } of ['mfa', 'phr', 'email', 'password', 'connection'].map((acr) => ({
    acr,
    methods: proofsFor(acr, NOW)
  })))
    t.equal(contextOf(session(methods))?.acr, acr)
  t.throws(() => proofsFor('unknown', NOW), { name: 'RangeError', message: /phr, mfa/ })
})

t.test('drops a stored proof with an acr unless the acr is text and the method is connection', async (t) => {
  const kept = (proof: object): boolean => readProofs([proof]).length === 1
  for (const acr of ['mfa', 'connection', 'own']) t.ok(kept({ method: 'connection', at: NOW, acr }), acr)
  for (const acr of [7, null, ['mfa'], {}]) t.notOk(kept({ method: 'connection', at: NOW, acr }), JSON.stringify(acr))
  for (const method of ['otp', 'passkey', 'email']) t.notOk(kept({ method, at: NOW, acr: 'mfa' }), method)
  for (const method of ['password', 'host']) t.notOk(kept({ method, at: NOW, acr: 'phr' }), method)
})

t.test('accepts up to ten amr values from a host', async (t) => {
  const ten = Array.from({ length: 10 }, (_, index) => `v${index}`)
  t.strictSame(hostProof(ten, NOW).amr, ten)
  t.throws(() => hostProof([...ten, 'v10'], NOW), TypeError)
  t.strictSame(hostProof([], NOW), { method: 'host', at: NOW })
})
