/**
 * Lets the library make RSA keys of 2,048 bits instead of 3,072, which takes a third of the time. Keys come from a
 * store of ready ones, because a test run needs hundreds: each is made once, and every process takes the same in order.
 * Must be imported before the library; scripts/run-together.mjs does.
 */
import crypto, { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'

const DRAWER = join(dirname(createRequire(import.meta.url).resolve('pg/package.json')), '../.cache/rsa-keys')

/** The sizes that were asked for, for the test that they are enough. */
export const asked: number[] = []

const next = { library: 0, test: 0 }

/** The index of the next stored key. Processes that need their own keys start far apart. */
export function drawFrom(index: number): void {
  next.library = index
}

interface Pair {
  publicKey: KeyObject
  privateKey: KeyObject
}

/** A test that makes a key has one that the library never gets. */
function draw(whose: keyof typeof next): Pair {
  const file = join(DRAWER, `${whose}-${next[whose]++}.pem`)
  const privateKey = createPrivateKey(kept(file) ?? made(file))
  return { publicKey: createPublicKey(privateKey), privateKey }
}

function kept(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Renamed into place, so that no process reads half of it. */
function made(file: string): string {
  const text = generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
  mkdirSync(DRAWER, { recursive: true })
  writeFileSync(`${file}.${process.pid}`, text)
  renameSync(`${file}.${process.pid}`, file)
  return text
}

type Options = { modulusLength?: number } | undefined
type Generate = (type: string, options: Options, done: (error: Error | null, ...pair: unknown[]) => void) => void

const generateKeyPair = crypto.generateKeyPair as unknown as Generate
const { generateKeyPairSync } = crypto
const small: Generate = (type, options, done) => {
  if (type !== 'rsa') {
    generateKeyPair(type, options, done)
    return
  }
  asked.push(options?.modulusLength ?? 0)
  setImmediate(() => {
    const { publicKey, privateKey } = draw('library')
    done(null, publicKey, privateKey)
  })
}
// Among its properties is what promisify() reads.
Object.defineProperties(small, Object.getOwnPropertyDescriptors(crypto.generateKeyPair))
const smallSync = (type: string, options: Options): unknown =>
  type === 'rsa' && options?.modulusLength === 2048
    ? draw('test')
    : generateKeyPairSync(type as 'rsa', options as { modulusLength: number })
Object.assign(crypto, { generateKeyPair: small, generateKeyPairSync: smallSync })
syncBuiltinESMExports()
