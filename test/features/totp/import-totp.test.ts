/** Authenticator apps that were set up with another system. */
import { inspect } from 'node:util'
import t from '../../support/tap.ts'
import { toBase32, totpCode, totpStep } from '../../../lib/protocol/totp.ts'
import { bearer, PASSWORD, signIn, signUp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { factorApp, type FactorApp, logIn, signedInAnywhere } from '../../support/factors.ts'

const RFC_6238 = Buffer.from('12345678901234567890')
const bare = async (t: { teardown(close: () => Promise<void>): void }): Promise<FactorApp> =>
  await factorApp(t, {}, { enrolled: false })

async function signInBy({ app, clock }: FactorApp, key: Uint8Array, username = 'ann'): Promise<string> {
  const browser = testBrowser(app)
  if ((await logIn(browser, username)).headers.location !== '/auth/second-factor') return 'not asked'
  const reply = await browser.submit('/auth/second-factor', { code: totpCode(key, totpStep(clock.now())) })
  return reply.statusCode === 303 && (await signedInAnywhere(browser)).length > 0
    ? 'in'
    : `refused: ${reply.statusCode}`
}

// covers ADV-BA-9944
t.test('accepts codes of an imported app with keys as bytes and in several base32 notations', async (t) => {
  const keys: Record<string, [secret: string | Uint8Array, key: Uint8Array]> = {
    'of RFC 6238, as bytes': [RFC_6238, RFC_6238],
    'as base32': [toBase32(RFC_6238), RFC_6238],
    'in groups, in lower case': ['gezd gnbv-gy3t qojq\tgezd gnbv gy3t qojq ', RFC_6238],
    'of ten bytes': [toBase32(RFC_6238.subarray(0, 10)), RFC_6238.subarray(0, 10)],
    'padding that is written': [`${toBase32(RFC_6238.subarray(0, 16))}======`, RFC_6238.subarray(0, 16)],
    'odd bytes': [
      Uint8Array.of(0, 255, 128, 127, 0, 0, 192, 193, 10, 13, 0, 61, 239, 191, 189, 0),
      Uint8Array.of(0, 255, 128, 127, 0, 0, 192, 193, 10, 13, 0, 61, 239, 191, 189, 0)
    ],
    'longer than a block of the hash': [Buffer.alloc(128, 0xa5), Buffer.alloc(128, 0xa5)],
    'a view of a larger buffer': [
      Uint8Array.of(...Buffer.alloc(7), ...RFC_6238, ...Buffer.alloc(7)).subarray(7, 27),
      RFC_6238
    ]
  }
  for (const [what, [secret, key]] of Object.entries(keys)) {
    const subject = await bare(t)
    t.equal(await subject.app.authority.importTotp(subject.sub, { secret, name: ' Phone\n1 ' }), 'added', what)
    t.match(await subject.app.authority.factors(subject.sub), {
      factors: [{ kind: 'totp', name: 'Phone 1', disabled: false, lastUsedAt: null }],
      recoveryCodesLeft: 0
    })
    t.equal(await signInBy(subject, key), 'in', what)
    t.match(await signInBy(subject, key), /refused: 400/, 'and a code of it works once')
  }
})

t.test('adds no app when an import is repeated, and allows the same key for another user', async (t) => {
  const subject = await bare(t)
  const { app, sub, store } = subject
  const bob = await signUp(app, 'bob')
  t.equal(await app.authority.importTotp(sub, { secret: RFC_6238 }), 'added')
  t.equal(await app.authority.importTotp(sub, { secret: toBase32(RFC_6238).toLowerCase() }), 'already_added')
  t.equal(await app.authority.importTotp(bob.sub, { secret: RFC_6238 }), 'added')
  t.match(await app.authority.factors(sub), { factors: { length: 1 } })
  const kept = JSON.stringify([await store.findFactors(sub), await store.findFactors(bob.sub)])
  for (const text of [
    toBase32(RFC_6238),
    RFC_6238.toString(),
    RFC_6238.toString('base64url'),
    RFC_6238.toString('base64'),
    RFC_6238.toString('hex')
  ])
    t.notMatch(kept + JSON.stringify(subject.events), text, 'the key is sealed')
  t.same(
    subject.events
      .filter(({ name }) => name === 'factor_added')
      .map(({ payload }) => [payload.userId, payload.kind, payload.sid, payload.requestId]),
    [
      [sub, 'totp', null, null],
      [bob.sub, 'totp', null, null]
    ]
  )
  t.notOk(
    subject.messages.messages.some(({ kind }) => kind === 'factor_added'),
    'the person has set it up long ago'
  )
  for (let n = 1; n < 3; n++) await app.authority.importTotp(sub, { secret: Buffer.alloc(20, n) })
  await t.rejects(app.authority.importTotp(sub, { secret: Buffer.alloc(20, 99) }), {
    error: 'factor_limit',
    message: /3/
  })
})

t.test('ends sessions begun by the password alone when the first app is imported', async (t) => {
  const subject = await bare(t)
  const { app, sub } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  const { access_token: token } = await signIn(app)
  await app.authority.importTotp(sub, { secret: RFC_6238 })
  t.same(await signedInAnywhere(browser), [])
  t.equal((await app.inject({ url: '/auth/sessions', headers: bearer(token) })).statusCode, 401)
  t.match(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
      })
    ).json(),
    { error: 'mfa_required' }
  )
})

t.test('keeps the sessions of a user with a factor when an app is imported, and reports a known key', async (t) => {
  const subject = await factorApp(t)
  const { app, sub, browser, secret } = subject
  t.equal(await app.authority.importTotp(sub, { secret }), 'already_added')
  t.equal(await app.authority.importTotp(sub, { secret: RFC_6238 }), 'added')
  t.match(await app.authority.factors(sub), { factors: { length: 2 } })
  t.not((await signedInAnywhere(browser)).length, 0)
})

t.test('rejects an import with an invalid key, user or parameter, and keeps the key out of the error', async (t) => {
  const subject = await bare(t)
  const { app, sub, broken } = subject
  for (const secret of [
    undefined,
    null,
    '',
    ' ',
    7,
    {},
    [],
    true,
    'A',
    'not base32!',
    '0189',
    'AAAA=AAAA',
    '====',
    'AAAAAAAA',
    toBase32(Buffer.alloc(9, 1)),
    Buffer.alloc(9, 1),
    Buffer.alloc(0),
    Buffer.alloc(129, 1),
    toBase32(Buffer.alloc(129, 1)),
    'A'.repeat(100_000),
    'AAAABBBBCCCCDDDDE',
    new ArrayBuffer(20),
    RFC_6238.toJSON().data
  ]) {
    const error = await app.authority.importTotp(sub, { secret: secret as string }).then(
      () => null,
      (refused: unknown) => refused as { error?: string; message?: string }
    )
    t.match(error, { error: 'invalid_request', message: /^secret: it takes/ }, inspect(secret).slice(0, 40))
    if (typeof secret === 'string' && secret.length > 7) t.notOk(error?.message?.includes(secret))
  }
  for (const id of ['nobody', '', '\0'])
    await t.rejects(app.authority.importTotp(id, { secret: RFC_6238 }), { error: 'invalid_grant' } as unknown as Error)
  for (const id of [undefined, null])
    await t.rejects(app.authority.importTotp(id as unknown as string, { secret: RFC_6238 }), { name: 'TypeError' })
  for (const wrong of [undefined, null, 7, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', [], () => {}])
    await t.rejects(
      app.authority.importTotp(sub, wrong as never),
      { error: 'invalid_request', message: /^secret: it takes/ } as unknown as Error,
      inspect(wrong)
    )
  for (const name of [7, {}, [], true])
    await t.rejects(
      app.authority.importTotp(sub, { secret: RFC_6238, name: name as unknown as string }),
      { error: 'invalid_request', message: 'name: it takes a string.' } as unknown as Error,
      inspect(name)
    )
  t.match(await app.authority.factors(sub), { factors: [] })
  for (const [parameter, values] of Object.entries({
    digits: [8, 7, '6', 0],
    period: [60, 0, '30'],
    algorithm: ['SHA256', 'sha512', 'MD5', '']
  })) {
    for (const value of values)
      await t.rejects(
        app.authority.importTotp(sub, { secret: RFC_6238, [parameter]: value }),
        { error: 'invalid_request', message: new RegExp(`^${parameter}: only apps with`) } as unknown as Error,
        `${parameter} ${inspect(value)}`
      )
  }
  for (const other of ['Digits', 'label', 'counter', '__proto__x', 'toString', 'constructor'])
    await t.rejects(
      app.authority.importTotp(sub, { secret: RFC_6238, [other]: 6 } as never),
      { error: 'invalid_request', message: /secret and name/ } as unknown as Error,
      other
    )
  t.match(await app.authority.factors(sub), { factors: [] }, 'of another kind')
  t.equal(await app.authority.importTotp(sub, { secret: RFC_6238, algorithm: 'SHA1', digits: 6, period: 30 }), 'added')
  await app.authority.resetFactors(sub)
  for (const name of [null, undefined, '', 'x'.repeat(500)]) {
    await app.authority.importTotp(sub, { secret: RFC_6238, name: name as string })
    await app.authority.resetFactors(sub)
  }
  for (const method of ['findFactors', 'addTotp'] as const) {
    broken.add(method)
    await t.rejects(app.authority.importTotp(sub, { secret: RFC_6238 }))
    broken.clear()
  }
  t.match(await app.authority.factors(sub), { factors: [] })
  const without = await factorApp(t, { factors: undefined }, { enrolled: false })
  await t.rejects(without.app.authority.importTotp(without.sub, { secret: RFC_6238 }), {
    message: /without the option factors/
  })
})
