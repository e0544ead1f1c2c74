import { createHash } from 'node:crypto'
import t from '../../support/tap.ts'
import { carriedIn, digestOfOneTimeToken, isBoundTo, oneTimeToken } from '../../../lib/protocol/credential.ts'
import { partitionIn, partitionOf } from '../../../lib/protocol/digest.ts'

const SECRET = 's'.repeat(43)
const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')

t.test('derives the partition of a user from a digest of the id', async (t) => {
  t.equal(partitionOf('u1'), sha256('partition:"u1"').slice(0, 16))
  t.not(partitionOf('u1'), partitionOf('u2'))
  t.not(partitionOf('\ud800'), partitionOf('\ud801'), 'ill-formed names, which UTF-8 makes one')
  t.equal(partitionIn('abcdefghijklmnopqrstuv'), 'abcdefghijklmnop')
})

t.test('makes a token of partition, secret and bindings, and returns its digest', async (t) => {
  const plain = oneTimeToken('u1', SECRET)
  t.equal(plain.token, partitionOf('u1') + SECRET)
  t.equal(plain.digest, partitionOf('u1') + sha256(plain.token))
  const bound = oneTimeToken('u1', SECRET, ['a@example.com', 'hash'])
  t.equal(
    bound.token,
    plain.token + sha256(`${plain.token}\0a@example.com`).slice(0, 16) + sha256(`${plain.token}\0hash`).slice(0, 16)
  )
  for (const { token, digest } of [plain, bound, oneTimeToken('u1', SECRET, ['a'])])
    t.equal(digestOfOneTimeToken(token), digest)
})

t.test('returns no digest for text that is not a token', async (t) => {
  const { token } = oneTimeToken('u1', SECRET, ['a', 'b'])
  for (const other of [
    '',
    'x',
    token.slice(1),
    `${token}x`,
    `${token}${'x'.repeat(513)}`,
    `!${token}`,
    `${token}\n`,
    ` ${token}`,
    `x${oneTimeToken('u1', SECRET).token}`,
    `${oneTimeToken('u1', SECRET).token}x`,
    token.replace('s', '+')
  ])
    t.equal(digestOfOneTimeToken(other), null, other)
})

t.test('includes a carried value in the token and in its digest', async (t) => {
  for (const carried of ['a@b.example', `${'x'.repeat(64)}@${'y'.repeat(185)}.de`, 'é']) {
    const { token, digest } = oneTimeToken('u1', SECRET, ['a', 'b'], carried)
    t.equal(carriedIn(token), carried)
    t.equal(digestOfOneTimeToken(token), digest)
    t.ok(token.length <= 512)
    t.ok(isBoundTo(token, 0, 'a') && isBoundTo(token, 1, 'b'))
    const other = oneTimeToken('u1', SECRET, ['a', 'b'], `${carried}x`)
    t.not(other.digest, digest)
  }
  for (const boundTo of [[], ['a'], ['a', 'b']]) t.equal(carriedIn(oneTimeToken('u1', SECRET, boundTo).token), null)
  t.equal(carriedIn(''), null)
})

t.test('checks each bound value at its own position only', async (t) => {
  const { token } = oneTimeToken('u1', SECRET, ['a', 'b'])
  t.ok(isBoundTo(token, 0, 'a'))
  t.ok(isBoundTo(token, 1, 'b'))
  for (const [index, value] of [
    [0, 'b'],
    [1, 'a'],
    [0, ''],
    [2, 'a'],
    [0, 'A']
  ] as const)
    t.notOk(isBoundTo(token, index, value), `${index} ${value}`)
  t.notOk(isBoundTo(oneTimeToken('u1', SECRET).token, 0, 'a'), 'bound to nothing')
  t.notOk(isBoundTo(`${'t'.repeat(59)}${token.slice(59)}`, 0, 'a'), 'nor does a binding fit another secret')
})
