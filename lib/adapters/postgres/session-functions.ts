import { LANGUAGE, SESSIONS_LOCK, alive } from './lifetime.ts'

/** Functions for what touches several sessions of a user (see token-functions). */
export const sessionFunctions = (prefix: string): string => `
CREATE FUNCTION ${prefix}authority_add_session(new_sid text, owner text, new_authenticated_at bigint, new_created_at bigint,
  new_last_used_at bigint, new_expires_at bigint, new_idle_expires_at bigint, new_user_agent text, new_client_ids json, new_digest text,
  max_rows integer)
RETURNS void ${LANGUAGE} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${SESSIONS_LOCK}, hashtext(owner));
  INSERT INTO ${prefix}authority_browser_sessions (sid, user_id, authenticated_at, created_at, last_used_at, expires_at, idle_expires_at,
    sweep_after, user_agent, client_ids, digests)
  VALUES (new_sid, owner, new_authenticated_at, new_created_at, new_last_used_at, new_expires_at, new_idle_expires_at,
    least(new_expires_at, new_idle_expires_at), new_user_agent, ARRAY(SELECT json_array_elements_text(new_client_ids)), ARRAY[new_digest]);
  DELETE FROM ${prefix}authority_browser_sessions WHERE sid = ANY (ARRAY(
    SELECT sid FROM ${prefix}authority_browser_sessions WHERE user_id = owner AND sid <> new_sid
    ORDER BY (${alive('new_created_at')}) DESC, created_at DESC, sid DESC OFFSET max_rows - 1));
END $body$;

CREATE FUNCTION ${prefix}authority_revoke_sessions(owner text, except_sid text)
RETURNS SETOF ${prefix}authority_browser_sessions ${LANGUAGE} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${SESSIONS_LOCK}, hashtext(owner));
  RETURN QUERY DELETE FROM ${prefix}authority_browser_sessions
    WHERE user_id = owner AND (except_sid IS NULL OR sid <> except_sid) RETURNING *;
END $body$;`
