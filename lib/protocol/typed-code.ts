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
 * 0. The digits of another script may come right before them.
 */
function valueOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--
  return (code - first) % 10
}
