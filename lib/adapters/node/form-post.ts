import { type Distance, THIS_MACHINE } from '../../protocol/distance.ts'
import type { FormPost } from '../../ports/form-post.ts'
import type { Outbound } from '../../ports/outbound.ts'

/** The number of bytes of a response that are read. */
const MAX_BODY = 1024
const MAX_ERROR_LENGTH = 64

/** `ownDistance`: the distance of this service's own addresses, as other hosts see them. */
export function formPost(outbound: Outbound, ownDistance: () => Promise<Distance>): FormPost {
  return async (url, params, { timeoutMs, thirdParty }) => {
    const { status, text } = await outbound({
      url,
      method: 'POST',
      headers: {
        accept: 'application/json, */*;q=0.1',
        'content-type': 'application/x-www-form-urlencoded;charset=UTF-8'
      },
      body: new URLSearchParams(params).toString(),
      noNearerThan: thirdParty ? await ownDistance() : THIS_MACHINE,
      reads: 'status',
      maxBytes: MAX_BODY,
      timeoutMs
    })
    const error = errorIn(text)
    return error === undefined ? { status } : { status, error }
  }
}

function errorIn(text: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    const error = typeof parsed === 'object' && parsed !== null ? (parsed as { error?: unknown }).error : undefined
    return typeof error === 'string' && error !== ''
      ? error.slice(0, MAX_ERROR_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?')
      : undefined
  } catch {
    return undefined
  }
}
