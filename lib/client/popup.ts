/** `fastify-authority/client/popup`: signs in through a popup window, so that the page stays as it is. */
import { AuthClientError } from './errors.ts'
import type { AnyAuthClient, LoginOptions } from './options.ts'

export interface PopupOptions<AppState = unknown> extends Omit<LoginOptions<AppState>, 'openUrl'> {
  /** The time limit in milliseconds. Default: five minutes. */
  timeoutMs?: number
  /** The window features for `window.open`. Default: a popup of 480 by 640 pixels. */
  features?: string
}

/**
 * The error `popup_closed` needs more than this number of checks that saw a page of another origin in the popup. The
 * checks are 100 ms apart. A page with Cross-Origin-Opener-Policy looks like another origin for a moment, and then like
 * a closed window.
 */
const MIN_FOREIGN_CHECKS = 9

const nameOf = (state: string | null | undefined): string => `authority.popup.${state ?? ''}`

/**
 * Signs in in a popup. Call it directly in a click handler, because browsers block popups that open later. The page at
 * `redirectUri` calls `answerPopup()`. If the sign-in page has a `Cross-Origin-Opener-Policy`, the client cannot see
 * that the user closes the popup. The call then rejects with `timeout`.
 * @throws AuthClientError `popup_blocked`, `popup_closed`, `timeout`, and the errors of `loginWithRedirect` and
 * `handleRedirectCallback`
 */
export async function loginWithPopup<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  { timeoutMs = 300_000, features = 'popup,width=480,height=640', ...options }: PopupOptions<AppState> = {}
): Promise<{ appState: AppState | undefined }> {
  const popup = open('', '', features)
  if (!popup) throw new AuthClientError('popup_blocked')
  let channel: BroadcastChannel | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  try {
    const url = await new Promise<string>((resolve, reject) => {
      const end = Date.now() + timeoutMs
      let foreignChecks = 0
      timer = setInterval(() => {
        if (popup.closed && (foreignChecks > MIN_FOREIGN_CHECKS || !channel))
          reject(new AuthClientError('popup_closed'))
        if (Date.now() > end) reject(new AuthClientError('timeout', undefined, true))
        if (!popup.closed && !reaches(popup)) foreignChecks++
      }, 100)
      client
        .loginWithRedirect({
          ...options,
          openUrl(target) {
            // In `cookie` mode the state is inside the parameter `return_to`.
            channel = new BroadcastChannel(nameOf(/\bstate=([\w-]+)/.exec(decodeURIComponent(target))?.[1]))
            channel.addEventListener('message', ({ data }: MessageEvent<string>) => {
              channel?.postMessage('')
              resolve(data)
            })
            popup.location.href = target
          }
        })
        .catch(reject)
    })
    return await client.handleRedirectCallback(url)
  } finally {
    clearInterval(timer)
    channel?.close()
    popup.close()
  }
}

/** True if the window shows a page of this page's origin. */
function reaches(popup: Window): boolean {
  try {
    return Boolean(popup.location.href)
  } catch {
    return false
  }
}

/**
 * Call this function on the page that the popup returns to. Passes the response to the waiting page and closes the
 * window. Resolves to `false` if no page waits for the response. Then call `handleRedirectCallback`, because the
 * response came by a redirect.
 */
export async function answerPopup(url = location.href): Promise<boolean> {
  const channel = new BroadcastChannel(nameOf(new URL(url).searchParams.get('state')))
  const answered = await new Promise<boolean>((resolve) => {
    channel.addEventListener('message', () => {
      resolve(true)
    })
    channel.postMessage(url)
    setTimeout(resolve, 1000, false)
  })
  channel.close()
  if (answered) close()
  return answered
}
