import { flag, integer, jsonObject, rowsIn, text, textOrNull } from '../../../lib/adapters/sql/rows.ts'
import { isStorable } from '../../../lib/protocol/bounds.ts'
import t from '../../support/tap.ts'

const REFUSED = 'The database holds a column of the wrong type.'
const BIG = 2 ** 53

/** For each reader: values of drivers with the expected result, and values that the reader rejects. */
const READERS = {
  text: {
    read: text,
    takes: [
      ['a', 'a'],
      ['', '']
    ],
    refuses: [null, undefined, 1, true, {}]
  },
  textOrNull: {
    read: textOrNull,
    takes: [
      ['a', 'a'],
      [null, null]
    ],
    refuses: [undefined, 1]
  },
  integer: {
    read: integer,
    takes: [
      [0, 0],
      [-7, -7],
      [7n, 7],
      ['7', 7],
      ['-7', -7],
      [BIG - 1, BIG - 1],
      [String(BIG - 1), BIG - 1]
    ],
    refuses: [
      null,
      undefined,
      '',
      ' 7',
      '7.5',
      '1e3',
      '0x7',
      '12345678901234567',
      7.5,
      NaN,
      BIG,
      BigInt(BIG),
      true,
      [7]
    ]
  },
  flag: {
    read: flag,
    takes: [
      [true, true],
      [false, false],
      [1, true],
      [0, false],
      [1n, true]
    ],
    refuses: [2, -1, 'true', null]
  },
  jsonObject: {
    read: jsonObject,
    takes: [
      [{ a: 1 }, { a: 1 }],
      ['{"a":1,"__proto__":{"b":2}}', { a: 1 }]
    ],
    refuses: ['', '{', 'null', '[]', '7', null, [], 7]
  },
  rowsIn: {
    read: rowsIn,
    takes: [
      [[{ a: 1 }], [{ a: 1 }]],
      ['[]', []]
    ],
    refuses: ['', '{}', '[1]', [null], {}, null, 7]
  }
} as const

t.test('converts each column to its type, or rejects it without quoting the value', async (t) => {
  for (const [name, { read, takes, refuses }] of Object.entries(READERS)) {
    t.strictSame(
      takes.map(([value]) => read({ column: value }, 'column')),
      takes.map(([, read]) => read),
      name
    )
    for (const value of refuses)
      t.throws(() => read({ column: value }, 'column'), new TypeError(REFUSED), `${name} of a ${typeof value}`)
  }
})

t.test('refuses NUL and lone surrogates, which some databases cannot hold', async (t) => {
  t.strictSame(['', 'a', 'é😀', '\u0001'].filter(isStorable).length, 4)
  t.strictSame(['\0', 'a\0', '\ud83d', '\ude00a'].filter(isStorable), [])
})
