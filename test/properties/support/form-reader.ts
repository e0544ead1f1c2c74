/**
 * An `application/x-www-form-urlencoded` reader that is independent of the platform's: it decodes bytes by hand.
 * @see https://url.spec.whatwg.org/#urlencoded-parsing
 */
export function readForm(body: string): Array<[name: string, value: string]> {
  return body
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const end = part.indexOf('=')
      return end === -1 ? [decoded(part), ''] : [decoded(part.slice(0, end)), decoded(part.slice(end + 1))]
    })
}

function decoded(text: string): string {
  const given = Buffer.from(text)
  const bytes: number[] = []
  for (let at = 0; at < given.length; at++) {
    const digits = given.toString('latin1', at + 1, at + 3)
    if (given[at] === 0x25 && /^[0-9A-Fa-f]{2}$/.test(digits)) {
      bytes.push(Number.parseInt(digits, 16))
      at += 2
    } else bytes.push(given[at] === 0x2b ? 0x20 : (given[at] as number))
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes))
}
