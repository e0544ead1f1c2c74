/** The answer of a client's server. */
export interface FormAnswer {
  status: number
  /** The `error` of a JSON answer that is no success: printable ASCII, 64 characters at most. */
  error?: string
}

/**
 * Posts a form to a client's server. `thirdParty`: a URL that another party named is called only at addresses that are
 * no nearer than this service's own. Follows no redirect, sends no credentials, reads at most a kilobyte of the answer,
 * and of a success nothing. Rejects where there is no answer within `timeoutMs`.
 */
export type FormPost = (
  url: string,
  params: Record<string, string>,
  options: { timeoutMs: number; thirdParty: boolean }
) => Promise<FormAnswer>
