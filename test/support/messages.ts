import type { LinkMessage, Message } from '../../lib/index.ts'
import { languageOf } from '../../lib/texts/language.ts'

/** A message as the plugin posts it, with a link that is valid for 30 minutes. */
export function linkMessage(fields: Partial<LinkMessage<'password_reset'>> = {}): LinkMessage<'password_reset'> {
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

/** Further fields for kinds that have several texts. */
const PARTICULAR: Record<string, object> = {
  identity_linked_takeover: { kind: 'identity_linked', tookOver: true },
  account_removed_user: { kind: 'account_removed', by: 'user' },
  account_removed_host: { kind: 'account_removed', by: 'host' },
  factor_added_totp: { kind: 'factor_added', factor: 'totp' },
  factor_added_passkey: { kind: 'factor_added', factor: 'passkey' },
  factor_added_recovery_codes: { kind: 'factor_added', factor: 'recovery_codes' },
  factor_removed_totp: { kind: 'factor_removed', factor: 'totp', by: 'user' },
  factor_removed_passkey: { kind: 'factor_removed', factor: 'passkey', by: 'user' },
  factor_removed_all: { kind: 'factor_removed', factor: null, by: 'host' }
}

/** One message of each subject, to a user whose username is not their address. */
export function everyMessage(locale: string): Message[] {
  const { kind: _, url, token, expiresAt, ...rest } = linkMessage({ locale })
  const common = { ...rest, user: { ...rest.user, username: 'ann' } }
  return Object.entries(languageOf('en').mails).flatMap(([kind, texts]) => {
    if (typeof texts === 'string') return []
    return [
      {
        ...common,
        kind,
        ...(kind === 'new_sign_in'
          ? {
              url: 'https://auth.example.com/auth/security',
              at: new Date(Date.UTC(2026, 0, 1, 12)),
              ip: '203.0.113.7',
              userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
            }
          : 'button' in texts
            ? { url, token, expiresAt }
            : {}),
        ...(kind === 'sign_in_code'
          ? {
              code: '1234 5678',
              askedAt: new Date(Date.UTC(2026, 0, 1, 12)),
              userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
            }
          : {}),
        ...PARTICULAR[kind]
      } as Message
    ]
  })
}
