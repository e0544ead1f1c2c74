import type { Consent } from '../../ports/consent-store.ts'
import { integer, text, texts } from './rows.ts'
import type { Row } from './rows.ts'

export function consentOf(row: Row): Consent {
  return {
    userId: text(row, 'user_id'),
    clientId: text(row, 'client_id'),
    scopes: texts(row, 'scopes'),
    grantedAt: integer(row, 'granted_at'),
    expiresAt: integer(row, 'expires_at')
  }
}
