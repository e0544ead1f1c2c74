/**
 * Reads text that a person typed or pasted as a code: without white space, dashes and invisible characters, and with
 * one form of each character. Returns `''` for a text of more than `max` characters.
 */
export const typedCode = (typed: string, max = 64): string =>
  typed.length > max ? '' : typed.normalize('NFKC').replaceAll(/[\s\p{Cf}\p{Pd}]+/gu, '')

/** Changes the digits of every script to ASCII digits. */
export const asciiDigits = (code: string): string => code.replaceAll(/\p{Nd}/gu, (digit) => String(valueOf(digit)))

/**
 * The value of a digit of any script. In Unicode, the ten decimal digits of a script follow one another, beginning with
 * 0.
 */
function valueOf(digit: string): number {
  let zero = digit.codePointAt(0) ?? 0
  const code = zero
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return code - zero
}
