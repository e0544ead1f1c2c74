import t from '../../support/tap.ts'
import { recoveryCode, recoveryDigest } from '../../../lib/protocol/recovery-code.ts'

// covers RC-01 ASVS-6.5.4
t.test('a code is 120 bits in six groups, in letters and digits that look like no others', async (t) => {
  const codes = new Set<string>()
  for (let bit = 0; bit < 120; bit++) {
    const bytes = Buffer.alloc(15)
    bytes.writeUInt8(1 << (bit % 8), bit >> 3)
    codes.add(recoveryCode(bytes))
  }
  t.equal(codes.size, 120, 'each bit makes a difference')
  for (const code of codes) t.match(code, /^[0-9a-hjkmnp-tv-z]{4}(?:-[0-9a-hjkmnp-tv-z]{4}){5}$/)
  t.equal(recoveryCode(Buffer.alloc(15, 0xff)), 'zzzz-zzzz-zzzz-zzzz-zzzz-zzzz')
  t.equal(recoveryCode(Buffer.concat([Buffer.alloc(15), Buffer.alloc(17, 1)])), '0000-0000-0000-0000-0000-0000')
  t.throws(() => recoveryCode(Buffer.alloc(14)), RangeError)
})

// covers RC-01 ASVS-6.5.2
t.test('what is kept of a code is the same however it was typed, and no other code has it', async (t) => {
  const code = '01ab-cdef-ghjk-mnpq-rstv-wxyz'
  const kept = recoveryDigest(code)
  t.match(kept, /^[\w-]{43}$/)
  t.notOk(kept?.includes('01ab'))
  for (const typed of [
    code.toUpperCase(),
    code.padEnd(128),
    code.replaceAll('-', ''),
    ` ${code.replaceAll('-', ' ')}\n`,
    code.replace('01', 'oi'),
    code.replace('01', 'OL'),
    code.replaceAll('-', '\u2011'),
    `\u200e${code}`
  ])
    t.equal(recoveryDigest(typed), kept, typed)
  t.not(recoveryDigest(code.replace('z', 'y')), kept)
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
    t.equal(recoveryDigest(typed), null, typed)
})
