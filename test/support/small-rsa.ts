/**
 * RSA keys that the library makes have 2,048 bits in tests, where it asks for 3,072, which takes three times as long: a test run makes
 * more than a hundred. Imported before the library; scripts/run-together.mjs does.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** The sizes that were asked for, for the test that they are enough. */
export const asked: number[] = []

type Generate = (type: string, options: { modulusLength?: number }, done: (...results: unknown[]) => void) => void

const generateKeyPair = crypto.generateKeyPair as unknown as Generate
const small: Generate = (type, options, done) => {
  if (type === 'rsa') asked.push(options.modulusLength ?? 0)
  generateKeyPair(type, type === 'rsa' ? { ...options, modulusLength: 2048 } : options, done)
}
// Among its properties is what promisify() reads.
Object.defineProperties(small, Object.getOwnPropertyDescriptors(crypto.generateKeyPair))
Object.assign(crypto, { generateKeyPair: small })
syncBuiltinESMExports()
