import t from '../../support/tap.ts'
import { readRecoveryCode, recoveryCode, recoveryDigests } from '../../../lib/protocol/second-factors.ts'

// covers RC-01 ASVS-6.5.4
t.test('formats 80 bits as four groups of unambiguous characters', async (t) => {
  const codes = new Set<string>()
  for (let bit = 0; bit < 80; bit++) {
    const bytes = Buffer.alloc(10)
    bytes.writeUInt8(1 << (bit % 8), bit >> 3)
    codes.add(recoveryCode(bytes))
  }
  t.equal(codes.size, 80, 'each bit makes a difference')
  for (const code of codes) t.match(code, /^[0-9a-hjkmnp-tv-z]{4}(?:-[0-9a-hjkmnp-tv-z]{4}){3}$/)
  t.equal(recoveryCode(Buffer.alloc(10, 0xff)), 'zzzz-zzzz-zzzz-zzzz')
  t.equal(recoveryCode(Buffer.concat([Buffer.alloc(10), Buffer.alloc(22, 1)])), '0000-0000-0000-0000')
  t.throws(() => recoveryCode(Buffer.alloc(9)), RangeError)
})

t.test('reads a recovery code regardless of case, separators and lookalike characters', async (t) => {
  const code = '01ab-cdef-ghjk-wxyz'
  for (const typed of [
    code,
    code.toUpperCase(),
    code.padEnd(128),
    code.replaceAll('-', ''),
    ` ${code.replaceAll('-', ' ')}\n`,
    code.replace('01', 'oi'),
    code.replace('01', 'OL'),
    code.replaceAll('-', '\u2011'),
    `\u200e${code}`
  ])
    t.equal(readRecoveryCode(typed), '01abcdefghjkwxyz', typed)
  t.equal(readRecoveryCode(code.replace('z', 'y')), '01abcdefghjkwxyy')
  for (const typed of [
    '',
    code.padEnd(129),
    '123456',
    code.slice(1),
    `${code}0`,
    code.replace('a', 'u'),
    code.replace('a', 'é'),
    code.repeat(10)
  ])
    t.equal(readRecoveryCode(typed), null, typed)
})

// covers RC-01 ASVS-6.5.2
t.test('derives a separate MAC for each key, user and code', async (t) => {
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const kept = recoveryDigests('01abcdefghjkwxyz', 'u1', [key])
  t.match(kept, [/^[\w-]{43}$/])
  t.equal(kept.length, 1)
  const made = [
    recoveryDigests('01abcdefghjkwxyz', 'u1', [key, other]),
    recoveryDigests('01abcdefghjkwxyz', 'u2', [key]),
    recoveryDigests('01abcdefghjkwxyy', 'u1', [key])
  ].flat()
  t.equal(made[0], kept[0])
  t.equal(new Set(made).size, 4)
})
