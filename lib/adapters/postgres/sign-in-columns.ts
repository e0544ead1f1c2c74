import { FAMILIES_LOCK, LANGUAGE, SESSIONS_LOCK, alive } from './lifetime.ts'

/**
 * How users were authenticated; NULL: by a password. Releases before this one go on with the functions without it,
 * since a function keeps its arguments for as long as anybody calls it.
 */
export const signInColumns = (prefix: string): string => `
ALTER TABLE ${prefix}authority_families ADD COLUMN acr text, ADD COLUMN amr text;
ALTER TABLE ${prefix}authority_browser_sessions ADD COLUMN methods text;

CREATE FUNCTION ${prefix}authority_add_family_2(new_sid text, owner text, new_client_id text, new_scope text, new_authenticated_at bigint,
  new_created_at bigint, new_last_used_at bigint, new_expires_at bigint, new_idle_expires_at bigint, new_user_agent text,
  new_session_sid text, new_offline boolean, new_authorization text, new_code_digest text, new_token_digest text, new_acr text, new_amr text,
  max_rows integer)
RETURNS void ${LANGUAGE} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${FAMILIES_LOCK}, hashtext(owner));
  INSERT INTO ${prefix}authority_families (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
    idle_expires_at, sweep_after, offline, user_agent, session_sid, "authorization", code_digest, current_digest, acr, amr)
  VALUES (new_sid, owner, new_client_id, new_scope, new_authenticated_at, new_created_at, new_last_used_at, new_expires_at,
    new_idle_expires_at, least(new_expires_at, new_idle_expires_at), new_offline, new_user_agent, new_session_sid, new_authorization,
    new_code_digest, new_token_digest, new_acr, new_amr);
  PERFORM ${prefix}authority_bound_families(owner, new_sid, new_token_digest IS NULL, new_offline, max_rows, new_created_at);
END $body$;

CREATE FUNCTION ${prefix}authority_add_session_2(new_sid text, owner text, new_authenticated_at bigint, new_created_at bigint,
  new_last_used_at bigint, new_expires_at bigint, new_idle_expires_at bigint, new_user_agent text, new_client_ids json, new_digest text,
  new_methods text, max_rows integer)
RETURNS void ${LANGUAGE} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${SESSIONS_LOCK}, hashtext(owner));
  INSERT INTO ${prefix}authority_browser_sessions (sid, user_id, authenticated_at, created_at, last_used_at, expires_at, idle_expires_at,
    sweep_after, user_agent, client_ids, digests, methods)
  VALUES (new_sid, owner, new_authenticated_at, new_created_at, new_last_used_at, new_expires_at, new_idle_expires_at,
    least(new_expires_at, new_idle_expires_at), new_user_agent, ARRAY(SELECT json_array_elements_text(new_client_ids)), ARRAY[new_digest],
    new_methods);
  DELETE FROM ${prefix}authority_browser_sessions WHERE sid = ANY (ARRAY(
    SELECT sid FROM ${prefix}authority_browser_sessions WHERE user_id = owner AND sid <> new_sid
    ORDER BY (${alive('new_created_at')}) DESC, created_at DESC, sid DESC OFFSET max_rows - 1));
END $body$`
