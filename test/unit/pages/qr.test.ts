import t from '../../support/tap.ts'
import jsqr from 'jsqr'
import { qrPath, qrSvg } from '../../../lib/pages/qr.ts'

// At run time the default import is the function itself, unlike in the types of the module.
const decode = jsqr as unknown as typeof jsqr.default
const SCALE = 4

/** Draws the path as a browser would: runs of dark modules on a white ground. */
function pixelsOf({ size, path }: { size: number; path: string }): Uint8ClampedArray {
  const side = size * SCALE
  const pixels = new Uint8ClampedArray(side * side * 4).fill(255)
  for (const [, x = '', y = '', width = ''] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let row = Number(y) * SCALE; row < (Number(y) + 1) * SCALE; row++) {
      for (let column = Number(x) * SCALE; column < (Number(x) + Number(width)) * SCALE; column++)
        pixels.fill(0, (row * side + column) * 4, (row * side + column) * 4 + 3)
    }
  }
  return pixels
}

// covers TOTP-12
t.test('draws a QR code that a scanner reads as the given text', async (t) => {
  for (const text of [
    'a',
    `otpauth://totp/M%C3%BCller:ann%40example.com?secret=${'A'.repeat(32)}&issuer=M%C3%BCller`,
    'x'.repeat(700)
  ]) {
    const { size, path } = qrPath(text)
    t.match(path, /^(?:M\d+ \d+h\d+v1h-\d+z)+$/)
    t.equal(decode(pixelsOf({ size, path }), size * SCALE, size * SCALE)?.data, text)
  }
})

t.test('surrounds the QR code with four light modules on white ground', async (t) => {
  const { size, path } = qrPath('a')
  const corners = [...path.matchAll(/M(\d+) (\d+)h(\d+)/g)].map(([, x, y, width]) => [
    Number(x),
    Number(y),
    Number(x) + Number(width)
  ])
  t.equal(Math.min(...corners.map(([x = 0]) => x)), 4)
  t.equal(Math.min(...corners.map(([, y = 0]) => y)), 4)
  t.equal(Math.max(...corners.map(([, , end = 0]) => end)), size - 4)
  t.equal(
    qrSvg('a'),
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}"><path fill="#fff" ` +
      `d="M0 0h${size}v${size}H0z"/><path d="${path}"/></svg>`
  )
})
