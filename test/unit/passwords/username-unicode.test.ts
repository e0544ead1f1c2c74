import t from '../../support/tap.ts'
import { normalizeUsername } from '../../../lib/accounts/username.ts'

// covers POL-email-identifier
t.test('keeps the normal form stable for every Unicode character', async (t) => {
  let accepted = 0
  const unstable: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    for (const name of [`x${character}y`, `a@x${character}.example`]) {
      const normalised = normalizeUsername(name)
      if (normalised === null) continue
      accepted++
      if (normalizeUsername(normalised) !== normalised) unstable.push(code.toString(16))
    }
  }
  t.ok(accepted > 100_000)
  t.same(unstable, [])
})

// covers POL-email-identifier POL-username
t.test('folds no non-ASCII character to an ASCII name', async (t) => {
  const folding: string[] = []
  for (let code = 0x80; code <= 0x10ffff; code++) {
    const normalised = normalizeUsername(`x${String.fromCodePoint(code)}y`)
    if (normalised !== null && /^[\0-\x7f]*$/.test(normalised)) folding.push(code.toString(16))
  }
  t.same(folding, [])
})
