import { OAuthError } from '../errors.ts'

/**
 * Reads the parameters of a request, from its query or its body. An empty one counts as not sent; an unknown one is
 * ignored; one that is longer than its limit in bytes of UTF-8, sent twice, or no string, is refused, never ignored,
 * unless `onTooLong` or `onRepeated` says what becomes of it. No body: none sent.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 6749 §3.1
 */
export function readParams<Name extends string>(
  raw: unknown,
  limits: Readonly<Record<Name, number>>,
  {
    onTooLong,
    onRepeated
  }: { onTooLong?: (name: Name, value: string) => string; onRepeated?: (name: Name) => string | undefined } = {}
): { [Key in Name]?: string } {
  if (raw !== undefined && (typeof raw !== 'object' || Array.isArray(raw)))
    throw new OAuthError('invalid_request', 'The request must hold its parameters by name.')
  const params: { [Key in Name]?: string } = {}
  for (const name of Object.keys(limits) as Name[]) {
    const sent: unknown =
      raw !== undefined && raw !== null && Object.hasOwn(raw, name) ? (raw as Record<string, unknown>)[name] : undefined
    const value = isRepeated(sent) ? (onRepeated?.(name) ?? sent) : sent
    if (value === undefined || value === '') continue
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `${name} must be a string, sent once.`)
    const fits = Buffer.byteLength(value) <= limits[name]
    if (!fits && onTooLong === undefined) throw new OAuthError('invalid_request', `${name} is too long.`)
    params[name] = fits || onTooLong === undefined ? value : onTooLong(name, value)
  }
  return params
}

/** As the parsers of queries and forms say it. */
const isRepeated = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 1 && value.every((one) => typeof one === 'string')

/** The parameters for a query or a form body, as `readParams` reads them again. */
export function serializeParams(params: Readonly<Record<string, string | undefined>>): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value !== undefined) form.append(name, value)
  return form.toString()
}
