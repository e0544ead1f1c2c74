import { createCipheriv, hash, hkdfSync } from 'node:crypto'
import t from '../../support/tap.ts'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'

const SECRET = 's'.repeat(32)
const sealer = aesSealer([SECRET])

t.test('opens a sealed text only with the context of its purpose and user', async (t) => {
  const sealed = sealer.seal('plain', 'totp ann')
  t.equal(sealer.open(sealed, 'totp ann'), 'plain')
  for (const context of ['totp bob', 'ticket ann', 'totp ann ', '', undefined])
    t.equal(sealer.open(sealed, context), null, String(context))
  t.equal(
    sealer.open(sealer.seal('plain'), 'totp ann'),
    null,
    'what was sealed for nothing in particular is nothing in a place of its own'
  )
})

t.test('opens a text in the stored format v1 that was sealed without a context', async (t) => {
  const key = Buffer.from(hkdfSync('sha256', SECRET, '', 'fastify-authority sealing', 32))
  const nonce = Buffer.alloc(12, 7)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = Buffer.concat([cipher.update('a key', 'utf8'), cipher.final(), cipher.getAuthTag()])
  t.equal(
    sealer.open(
      [
        'v1',
        hash('sha256', key, 'base64url').slice(0, 8),
        nonce.toString('base64url'),
        body.toString('base64url')
      ].join('.')
    ),
    'a key'
  )
})

t.test('opens no sealed text that was changed or cut', async (t) => {
  const sealed = sealer.seal('plain', 'x')
  for (let at = 0; at < sealed.length; at++) {
    const other = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`
    const opened = sealer.open(other, 'x')
    // The last character of base64url may contain unused bits.
    t.ok(
      opened === null ||
        Buffer.from(other.split('.')[3] ?? '', 'base64url').equals(Buffer.from(sealed.split('.')[3] ?? '', 'base64url'))
    )
    t.equal(sealer.open(sealed.slice(0, at), 'x'), null)
  }
})

t.test('accepts only one spelling of a sealed text', async (t) => {
  for (const deflates of [false, true]) {
    const { seal, open } = aesSealer(['one secret'], { deflates })
    for (let length = 0; length < 6; length++) {
      const sealed = seal('a'.repeat(length))
      t.equal(open(sealed), 'a'.repeat(length))
      for (const other of [
        `${sealed}x`,
        `${sealed}=`,
        `${sealed} `,
        `${sealed}.x`,
        ` ${sealed}`,
        sealed.replace('.', '..')
      ])
        t.equal(open(other), null, other.slice(-20))
    }
  }
})
