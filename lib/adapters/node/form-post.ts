import type { FormPost } from '../../ports/form-post.ts'

/** Bytes of an answer that are looked at. */
const MAX_BODY = 1024
const MAX_ERROR_LENGTH = 64

/**
 * By the platform's own `fetch`. The status is what counts: of a refusal the `error` is read too, of a success nothing.
 */
export function formPost(): FormPost {
  return async (url, params, { timeoutMs }) => {
    const response = await fetch(url, {
      method: 'POST',
      body: new URLSearchParams(params),
      headers: { accept: 'application/json, */*;q=0.1' },
      credentials: 'omit',
      // A redirect comes back as the answer it is.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs)
    })
    const { status } = response
    // A body that can't be read changes nothing.
    const error = response.ok ? undefined : await readError(response).catch(() => undefined)
    // What the socket had brought with the head is all that is held of a success; a failure here changes nothing.
    await response.body?.cancel().catch(() => {})
    return error === undefined ? { status } : { status, error }
  }
}

async function readError(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  // What is left unread is given up as soon as the loop ends.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= MAX_BODY) break
  }
  const parsed: unknown = JSON.parse(Buffer.concat(chunks).subarray(0, MAX_BODY).toString('utf8'))
  const error = typeof parsed === 'object' && parsed !== null ? (parsed as { error?: unknown }).error : undefined
  return typeof error === 'string' && error !== ''
    ? error.slice(0, MAX_ERROR_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?')
    : undefined
}
