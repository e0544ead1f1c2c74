/** `fastify-authority/client/silent`: signs in without a page if the browser is already signed in at the provider. */
import { AuthClientError } from './errors.ts'
import type { AnyAuthClient, LoginOptions } from './options.ts'

export interface SilentOptions<AppState = unknown> extends Omit<LoginOptions<AppState>, 'openUrl'> {
  /** The time limit in milliseconds. Default: five seconds. */
  timeoutMs?: number
}

/**
 * Asks the provider in a hidden frame with `prompt=none`. No script runs in the frame, not even of the page at
 * `redirectUri`. Most browsers send no cookie to a provider of another site, which then answers `login_required`. If
 * the provider shows a page instead of redirecting back, the result is `login_required` too.
 * @throws AuthClientError `login_required`, `timeout`, and the errors of `loginWithRedirect` and
 * `handleRedirectCallback`
 */
export async function loginSilently<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  { timeoutMs = 5000, authorizationParams, ...options }: SilentOptions<AppState> = {}
): Promise<{ appState: AppState | undefined }> {
  const frame = document.createElement('iframe')
  frame.hidden = true
  frame.setAttribute('sandbox', 'allow-same-origin')
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const url = await new Promise<string>((resolve, reject) => {
      timer = setTimeout(reject, timeoutMs, new AuthClientError('timeout', undefined, true))
      client
        .loginWithRedirect({
          ...options,
          authorizationParams: { ...authorizationParams, prompt: 'none' },
          openUrl(target) {
            frame.addEventListener('load', () => {
              try {
                resolve((frame.contentWindow as Window).location.href)
              } catch {
                // The frame shows a page of the provider: it did not redirect back.
                reject(new AuthClientError('login_required'))
              }
            })
            frame.src = target
            document.body.append(frame)
          }
        })
        .catch(reject)
    })
    return await client.handleRedirectCallback(url)
  } finally {
    clearTimeout(timer)
    frame.remove()
  }
}
