import { digest, partitionIn } from './digest.ts'

/** Consonants alone, so that no code is a word. @see RFC 8628 §6.1 */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8
const FORM = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`)

/** A new user code, of 256 random bits: eight letters, each as likely as any other. */
export function userCodeFrom(secret: string): string {
  let rest = BigInt(`0x${Buffer.from(secret, 'base64url').toString('hex')}`)
  const letters = Array.from({ length: LENGTH }, () => {
    const letter = ALPHABET.charAt(Number(rest % BigInt(ALPHABET.length)))
    rest /= BigInt(ALPHABET.length)
    return letter
  })
  return letters.join('')
}

/** As people read it: `WDJB-MJHT`. */
export const shownUserCode = (code: string): string => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`

/** The typed code, without white space and dashes, in capital letters. `null` for a text that can't be a code. */
export function readUserCode(typed: string): string | null {
  const code = typed
    .slice(0, 64)
    .normalize('NFKC')
    .replaceAll(/[\s\p{Pd}]+/gu, '')
    .toUpperCase()
  return FORM.test(code) ? code : null
}

/** The public name of the request with this user code. */
export const deviceIdOf = (userCode: string): string => partitionIn(digest(`user code ${userCode}`))

/** `<id><secret>`: a device code finds its request as the user code does, and proves it by 256 random bits. */
const DEVICE_CODE = /^([A-Za-z0-9_-]{16})([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$/

export const formatDeviceCode = (id: string, secret: string): string => id + secret

/** `null`: it can't be a device code. */
export function parseDeviceCode(value: string): { id: string; secret: string } | null {
  const [, id, secret] = DEVICE_CODE.exec(value) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}
