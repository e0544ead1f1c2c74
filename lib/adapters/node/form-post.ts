import type { FormPost } from '../../ports/form-post.ts'

/** By the platform's own `fetch`. The status is all that counts: the answer's body is given up unread. */
export function formPost (): FormPost {
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
    // What the socket had brought with the head is all that is ever held; a failure here changes nothing.
    await response.body?.cancel().catch(() => {})
    return response.status
  }
}
