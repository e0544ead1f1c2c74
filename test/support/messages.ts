import type { LinkMessage, Message } from '../../lib/index.ts'
import { MAIL_TEXTS } from '../../lib/mail/texts.ts'

/** As the plugin posts it: a link that is good for 30 minutes. */
export function linkMessage (fields: Partial<LinkMessage<'password_reset'>> = {}): LinkMessage<'password_reset'> {
  return {
    kind: 'password_reset',
    user: { id: 'u1', username: 'ann@example.com', email: 'ann@example.com', emailVerified: true },
    locale: 'en',
    url: 'https://auth.example.com/auth/reset-password?token=ZLN1Yp0nq9QmSxkT8a2hXw6cVd3BfJrEoGtIuKyMvPs',
    token: 'ZLN1Yp0nq9QmSxkT8a2hXw6cVd3BfJrEoGtIuKyMvPs',
    expiresAt: new Date(Date.now() + 30 * 60_000),
    ...fields
  }
}

/** One of every kind, to somebody whose username is not their address. */
export function everyMessage (locale: string): Message[] {
  const { kind: _, url, token, expiresAt, ...rest } = linkMessage({ locale })
  const common = { ...rest, user: { ...rest.user, username: 'ann' } }
  return Object.entries(MAIL_TEXTS.en).flatMap(([kind, texts]) => {
    if (typeof texts === 'string') return []
    return [{ ...common, kind, ...(kind === 'new_sign_in' ? { url: 'https://auth.example.com/auth/security', at: new Date(Date.UTC(2026, 0, 1, 12)), ip: '203.0.113.7', userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' } : 'button' in texts ? { url, token, expiresAt } : {}), ...(kind === 'sign_in_code' ? { code: '1234 5678', askedAt: new Date(Date.UTC(2026, 0, 1, 12)), userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' } : {}) } as Message]
  })
}
