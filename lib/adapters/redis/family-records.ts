import type {
  NewAuthorizationCode,
  NewRefreshTokenFamily,
  RefreshTokenFamily,
  TokenUse
} from '../../ports/token-store.ts'
import { PASSWORD_ACR, PASSWORD_AMR } from '../../protocol/authentication.ts'
import { ownerOf } from './names.ts'
import { jsonList, jsonTextOrNull, list, text, textOrNull, texts, whole } from './replies.ts'

/** A string as it is compared by scripts; `null` is another value than any string. */
export const encoded = (value: string | null): string => JSON.stringify(value)

/** What no script decides on. */
const factsOf = ({
  userId,
  scope,
  authenticatedAt,
  authorization,
  acr,
  amr
}: NewAuthorizationCode | NewRefreshTokenFamily): string =>
  JSON.stringify([userId, scope, authenticatedAt, authorization, acr, amr])

/** The fields from owner to current token, as the scripts number them. */
export function fieldsOf(created: NewRefreshTokenFamily | NewAuthorizationCode): string[] {
  const { expiresAt, idleExpiresAt, lastUsedAt, userAgent, codeDigest, tokenDigest } =
    'codeDigest' in created
      ? {
          ...created,
          expiresAt: created.codeExpiresAt,
          idleExpiresAt: created.codeExpiresAt,
          lastUsedAt: created.createdAt,
          userAgent: null,
          tokenDigest: ''
        }
      : { ...created, codeDigest: '' }
  return [
    ownerOf(created.userId),
    String(created.createdAt),
    String(expiresAt),
    String(idleExpiresAt),
    String(lastUsedAt),
    factsOf(created),
    encoded(userAgent),
    encoded(created.clientId),
    encoded(created.sessionSid),
    created.offline ? '1' : '0',
    codeDigest,
    tokenDigest
  ]
}

/** What `public` of the scripts answers. */
export function familyIn(reply: unknown): RefreshTokenFamily {
  const [sid, createdAt, expiresAt, idleExpiresAt, lastUsedAt, facts, userAgent, clientId, sessionSid, offline] =
    list(reply)
  // Releases that knew nothing but passwords wrote neither of the last two.
  const [userId, scope, authenticatedAt, authorization, acr = PASSWORD_ACR, amr = PASSWORD_AMR] = jsonList(facts)
  return {
    sid: text(sid),
    userId: text(userId),
    clientId: jsonTextOrNull(clientId),
    scope: text(scope),
    authenticatedAt: whole(authenticatedAt),
    acr: textOrNull(acr),
    amr: texts(amr),
    createdAt: whole(createdAt),
    lastUsedAt: whole(lastUsedAt),
    expiresAt: whole(expiresAt),
    idleExpiresAt: whole(idleExpiresAt),
    userAgent: jsonTextOrNull(userAgent),
    sessionSid: jsonTextOrNull(sessionSid),
    offline: text(offline) === '1',
    authorization: textOrNull(authorization)
  }
}

/** What `USE` and `ROTATE` begin with. */
export function argumentsOf({ sid, now, digest, graceMs, idleExpiresAt, clientId }: TokenUse): string[] {
  return [
    sid,
    String(now),
    digest,
    String(graceMs),
    String(idleExpiresAt),
    clientId === undefined ? '' : encoded(clientId)
  ]
}
