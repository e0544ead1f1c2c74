import t from '../../support/tap.ts'
import { verifyCodeChallenge } from '../../../lib/protocol/authorization-request.ts'
import { digest, isDigest } from '../../../lib/protocol/digest.ts'

// RFC 7636 appendix B.
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

// covers ASVS-10.4.6 R7636-4.6
t.test('accepts only the verifier that matches the challenge', async (t) => {
  t.ok(verifyCodeChallenge(VERIFIER, CHALLENGE))
  t.notOk(verifyCodeChallenge(CHALLENGE, CHALLENGE), 'R7636-7.2 not plain')
  t.notOk(verifyCodeChallenge(VERIFIER, VERIFIER), 'R7636-7.2 not plain')
  for (const challenge of [
    '',
    CHALLENGE.slice(1),
    `${CHALLENGE}=`,
    CHALLENGE.toLowerCase(),
    `${CHALLENGE} `,
    CHALLENGE.replace('w', 'x')
  ])
    t.notOk(verifyCodeChallenge(VERIFIER, challenge), challenge)
  for (const verifier of ['', `${VERIFIER}x`, VERIFIER.replace('d', 'D')])
    t.notOk(verifyCodeChallenge(verifier, CHALLENGE), verifier)
})

// covers R9700-4.8.2
t.test('refuses a verifier without a challenge, and a challenge without a verifier', async (t) => {
  t.notOk(verifyCodeChallenge(VERIFIER, undefined), 'a downgrade: the challenge was taken out')
  t.notOk(verifyCodeChallenge(undefined, CHALLENGE))
  t.notOk(verifyCodeChallenge('', undefined))
  t.notOk(verifyCodeChallenge(undefined, ''))
  t.ok(verifyCodeChallenge(undefined, undefined), 'neither: whether there must be one was decided before')
})

// covers R7636-4.1 ADV-CVE-2026-41213
t.test('requires a verifier of 43 to 128 unreserved characters', async (t) => {
  const given = (verifier: string): boolean => verifyCodeChallenge(verifier, digest(verifier))
  for (const verifier of ['a'.repeat(43), 'a'.repeat(128), `${'-._~'.repeat(11)}Zz09`]) t.ok(given(verifier), verifier)
  for (const verifier of [
    '',
    'a',
    'a'.repeat(42),
    'a'.repeat(129),
    'a'.repeat(5000),
    `${'a'.repeat(43)}+`,
    `${'a'.repeat(43)}/`,
    `${'a'.repeat(43)}=`,
    `${'a'.repeat(43)} `,
    `${'a'.repeat(43)}\n`,
    `${'a'.repeat(43)}%`,
    `${'a'.repeat(43)}é`,
    `\0${'a'.repeat(43)}`
  ])
    t.notOk(given(verifier), JSON.stringify(verifier))
})

// covers R7636-4.2
t.test('requires a challenge of 43 base64url characters', async (t) => {
  t.ok(isDigest(CHALLENGE))
  for (const challenge of [
    '',
    CHALLENGE.slice(1),
    `${CHALLENGE}x`,
    `${CHALLENGE}=`,
    CHALLENGE.replace('-', '+'),
    CHALLENGE.replace('-', '.'),
    `${CHALLENGE}\n`,
    `${CHALLENGE.slice(1)}\n`,
    `${CHALLENGE.slice(1)}é`
  ])
    t.notOk(isDigest(challenge), JSON.stringify(challenge))
})
