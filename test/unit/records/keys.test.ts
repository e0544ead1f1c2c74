import t from '../../support/tap.ts'
import * as view from '../../../lib/records/view.ts'

const { SERVICE, TRIALS, ...others } = view

t.test('gives each kind of record a key letter of its own', async (t) => {
  const letters = Object.entries(others).flatMap(([name, value]: [string, unknown]): Array<[string, string]> => {
    if (typeof value === 'string') return [[name, value]]
    return name.endsWith('Key') ? [[name, (value as (text: string) => string)('x').replace(/:x$/, '')]] : []
  })
  t.ok(letters.length >= 14, `${letters.length} keys`)
  for (const [name, letter] of letters) {
    t.match(letter, /^[a-z]$/, name)
    const same = letters.filter(([, other]) => other === letter).map(([other]) => other)
    t.strictSame(same, [name])
  }
})

t.test('uses another partition for trial writes than for the records of the service', async (t) => {
  t.not(SERVICE, TRIALS)
})
