import t from '../../support/tap.ts'
import { issuedTokens, type VerifiedToken, verifiedTokenCache } from '../../../lib/tokens/verified-token-cache.ts'

const key = { kid: 'k', alg: 'none', publicJwk: null, sign: () => '', verify: () => ({}) }
const claims = (sub: string): VerifiedToken => ({
  key,
  resource: null,
  exp: 2,
  sid: undefined,
  claims: { iss: 'i', aud: 'a', sub, exp: 2, iat: 1, jti: sub }
})
const token = (name: string | number): string => `h.p${name}.sig${name}`

t.test('finds a token by its exact string', async (t) => {
  const cache = verifiedTokenCache(10)
  const kept = claims('1')
  t.equal(cache.get(token(1)), undefined)
  cache.set(token(1), kept)
  t.match(cache.get(token(1)), kept)
})

t.test('does not find another token with the same signature, even after half the cache was replaced', async (t) => {
  const cache = verifiedTokenCache(4)
  cache.set('h.p.sig', claims('1'))
  const lookAlikes = ['h.q.sig', 'H.p.sig', 'h.p.x.sig', '.sig', 'sig', 'h.p.sig ', 'h.p.si', '']
  for (const other of lookAlikes) t.equal(cache.get(other), undefined, other)
  cache.set(token('a'), claims('a'))
  cache.set(token('b'), claims('b'))
  for (const other of lookAlikes) t.equal(cache.get(other), undefined, `${other} in the old generation`)
  t.ok(cache.get('h.p.sig'), 'and none of them drove the real one out')
})

t.test('distinguishes two tokens with the same ending, even after half the cache was replaced', async (t) => {
  const ending = 'the-same-end'
  const [one, other] = [`h.p1.a${ending}`, `h.p2.b${ending}`]
  const cache = verifiedTokenCache(4)
  cache.set(one, claims('one'))
  t.equal(cache.get(other), undefined)
  cache.set(other, claims('other'))
  t.not(cache.get(one)?.claims?.sub, 'other')
  t.equal(cache.get(other)?.claims?.sub, 'other')
  for (const name of ['a', 'b']) cache.set(token(name), claims(name))
  t.not(cache.get(one)?.claims?.sub, 'other', 'in the old generation')
  cache.set(one, claims('one'))
  t.equal(cache.get(one)?.claims?.sub, 'one')
  t.not(cache.get(other)?.claims?.sub, 'one')
})

t.test('DOS-token-cache keeps at least half the capacity of tokens, and at most the capacity', async (t) => {
  const capacity = 100
  const cache = verifiedTokenCache(capacity)
  for (let n = 0; n < 1000; n++) cache.set(token(n), claims(String(n)))
  const kept = Array.from({ length: 1000 }, (_, n) => n).filter((n) => n >= 950)
  for (const n of kept) t.ok(cache.get(token(n)), `${n} is recent`)
  const probe = verifiedTokenCache(capacity)
  for (let n = 0; n < 1000; n++) probe.set(token(n), claims(String(n)))
  // From the newest to the oldest, so that a hit in the old generation moves nothing out that is still to be counted.
  let alive = 0
  for (let n = 999; n >= 0; n--) if (probe.get(token(n)) !== undefined) alive += 1
  t.ok(alive <= capacity, `${alive} alive`)
  t.ok(alive >= capacity / 2)
  t.equal(probe.get(token(0)), undefined, 'the oldest is gone')
})

t.test('keeps used tokens in a flood of others', async (t) => {
  const cache = verifiedTokenCache(20)
  cache.set(token('mine'), claims('mine'))
  for (let n = 0; n < 500; n++) {
    cache.set(token(n), claims(String(n)))
    if (n % 5 === 0) t.ok(cache.get(token('mine')), `after ${n}`)
  }
})

t.test('finds no token after the cache was cleared', async (t) => {
  const cache = verifiedTokenCache(4)
  for (let n = 0; n < 4; n++) cache.set(token(n), claims(String(n)))
  t.ok(cache.get(token(3)))
  cache.clear()
  for (let n = 0; n < 4; n++) t.equal(cache.get(token(n)), undefined)
})

t.test('DOS-token-cache remembers the latest tokens issued under each key, and no others', async (t) => {
  const issued = issuedTokens()
  const other = { ...key }
  t.notOk(issued.has(key, token('none')))
  issued.add(key, token('mine'))
  t.ok(issued.has(key, token('mine')))
  // A key that took the place of another one under the same `kid`.
  t.notOk(issued.has(other, token('mine')))
  for (const lookAlike of [`${token('mine')} `, token('mine').slice(0, -1), token('Mine'), ''])
    t.notOk(issued.has(key, lookAlike), lookAlike)
  issued.add(other, token('other'))
  t.notOk(issued.has(key, token('other')))
  for (let n = 0; n < 50_000; n++) {
    issued.add(key, token(n))
    if (!issued.has(key, token(n))) t.fail(`${n} is the latest`)
  }
  const alive = Array.from({ length: 50_000 }, (_, n) => n).filter((n) => issued.has(key, token(n)))
  t.ok(alive.length > 12_000 && alive.length <= 16_384, `${alive.length} alive`)
  t.ok(alive.filter((n) => n >= 49_000).length > 900, 'most of the last thousand')
})
