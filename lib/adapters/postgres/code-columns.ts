import { MAX_CODE_FAILURES } from '../../ports/one-time-token-store.ts'
import { LANGUAGE } from './lifetime.ts'

/**
 * What short codes have beside other one-time tokens. The function locks the row first, so one guess is judged at a
 * time; whoever waited sees the row as the one before left it, or that it is gone.
 */
export const codeColumns = (prefix: string): string => `
ALTER TABLE ${prefix}authority_one_time_tokens ADD COLUMN failures integer NOT NULL DEFAULT 0, ADD COLUMN failures_until bigint NOT NULL DEFAULT 0;

CREATE FUNCTION ${prefix}authority_redeem_sign_in_code(asked_purpose text, owner text, asked_digest text, now_ms bigint) RETURNS text ${LANGUAGE} AS $body$
DECLARE
  code ${prefix}authority_one_time_tokens;
BEGIN
  SELECT * INTO code FROM ${prefix}authority_one_time_tokens WHERE purpose = asked_purpose AND user_id = owner AND expires_at > now_ms FOR UPDATE;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  IF code.failures_until > now_ms AND code.failures >= ${MAX_CODE_FAILURES} THEN RETURN 'spent'; END IF;
  IF code.digest = asked_digest THEN
    DELETE FROM ${prefix}authority_one_time_tokens WHERE purpose = asked_purpose AND user_id = owner;
    RETURN 'redeemed';
  END IF;
  UPDATE ${prefix}authority_one_time_tokens SET
    failures = CASE WHEN code.failures_until > now_ms THEN code.failures + 1 ELSE 1 END,
    failures_until = CASE WHEN code.failures_until > now_ms THEN code.failures_until ELSE code.expires_at END
    WHERE purpose = asked_purpose AND user_id = owner;
  RETURN 'wrong';
END $body$;`
