/**
 * Posts a form to a client's server. Follows no redirect, sends no credentials, reads at most a kilobyte of the answer. Resolves to
 * its status; rejects where there is none within `timeoutMs`.
 */
export type FormPost = (url: string, params: Record<string, string>, options: { timeoutMs: number }) => Promise<number>
