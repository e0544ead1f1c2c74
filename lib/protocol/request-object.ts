/** What is read of a request object, none of which is used for anything but the way back of its refusal. */
interface RequestObject {
  state?: string
  responseMode?: string
}

/**
 * Reads `state` and `response_mode` from a request object without a signature. Request objects are not supported, and
 * the client that sent one must hear so: where it named these two in the object alone, it can match no answer that goes
 * without them. They are no less trusted than the query that the object came in. Nothing else of it counts. `{}` for
 * what is malformed or signed.
 * @see OpenID Connect Core 1.0 §6.1, RFC 7519 §6
 */
export function readRequestObject(request: string): RequestObject {
  const [head = '', body = '', signature, ...more] = request.split('.')
  if (signature !== '' || more.length > 0 || parsePart(head)?.['alg'] !== 'none') return {}
  const { state, response_mode: responseMode } = parsePart(body) ?? {}
  return {
    ...(typeof state === 'string' && state !== '' ? { state } : {}),
    ...(typeof responseMode === 'string' ? { responseMode } : {})
  }
}

/** `null`: no JSON object in base64url. */
function parsePart(part: string): Record<string, unknown> | null {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return null
  try {
    const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')))
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
