import t from '../support/tap.ts'
import * as targets from '../fuzz/targets.ts'

/** Valid inputs, because mutations of valid input reach more code. */
const SEEDS = [
  '',
  'eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImEifQ.e30.x',
  '{"type":"webauthn.get","challenge":"AA","origin":"https://a.example"}',
  'a2016161026162',
  'grant_type=password&username=ann&password=x',
  '__Host-authority_session=a.b; other=1',
  '/account?x=1#y',
  '/..//evil',
  '//evil.example'
]

t.test('throws no error in a fuzz target for 500 inputs that are valid or mutated', async (t) => {
  let seed = 0x5eed
  const next = (below: number): number => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % below
  for (const [name, target] of Object.entries(targets)) {
    for (let round = 0; round < 500; round++) {
      const bytes = Buffer.from(SEEDS[round % SEEDS.length] ?? '')
      for (let edit = 0; edit < round % 4 && bytes.length > 0; edit++) bytes.writeUInt8(next(256), next(bytes.length))
      try {
        target(bytes)
      } catch (error) {
        t.fail(`${name}: ${bytes.toString('hex')}: ${String(error)}`)
        break
      }
    }
  }
  t.equal(Object.keys(targets).length, 5)
})
