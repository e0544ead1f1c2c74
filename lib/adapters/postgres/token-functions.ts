import { FAMILIES_LOCK, LANGUAGE, alive, sweepAfter } from './lifetime.ts'

/**
 * Functions that PostgreSQL runs: an operation with branches is one statement and one round trip. Each statement inside
 * one sees what was committed before that statement began, and `FOR UPDATE` waits for whoever has the row and then gets
 * its newest version: from there to the end of the call nobody else changes it.
 */
export const tokenFunctions = (prefix: string): string => `
CREATE FUNCTION ${prefix}authority_bound_families(owner text, kept_sid text, is_code boolean, is_offline boolean, max_rows integer, now_ms bigint)
RETURNS void ${LANGUAGE} AS $body$
BEGIN
  DELETE FROM ${prefix}authority_families WHERE sid = ANY (ARRAY(
    SELECT sid FROM ${prefix}authority_families
    WHERE user_id = owner AND sid <> kept_sid AND (current_digest IS NULL) = is_code AND (is_code OR offline = is_offline)
    ORDER BY (${alive('now_ms')}) DESC, created_at DESC, sid DESC OFFSET max_rows - 1));
END $body$;

CREATE FUNCTION ${prefix}authority_add_family(new_sid text, owner text, new_client_id text, new_scope text, new_authenticated_at bigint,
  new_created_at bigint, new_last_used_at bigint, new_expires_at bigint, new_idle_expires_at bigint, new_user_agent text,
  new_session_sid text, new_offline boolean, new_authorization text, new_code_digest text, new_token_digest text, max_rows integer)
RETURNS void ${LANGUAGE} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${FAMILIES_LOCK}, hashtext(owner));
  INSERT INTO ${prefix}authority_families (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
    idle_expires_at, sweep_after, offline, user_agent, session_sid, "authorization", code_digest, current_digest)
  VALUES (new_sid, owner, new_client_id, new_scope, new_authenticated_at, new_created_at, new_last_used_at, new_expires_at,
    new_idle_expires_at, least(new_expires_at, new_idle_expires_at), new_offline, new_user_agent, new_session_sid, new_authorization,
    new_code_digest, new_token_digest);
  PERFORM ${prefix}authority_bound_families(owner, new_sid, new_token_digest IS NULL, new_offline, max_rows, new_created_at);
END $body$;

-- The row is answered as it was before.
CREATE FUNCTION ${prefix}authority_redeem_code(asked_sid text, asked_digest text, asked_client_id text, now_ms bigint, token_digest text,
  offline_expires_at bigint, offline_idle_expires_at bigint, online_expires_at bigint, new_user_agent text, max_rows integer)
RETURNS json ${LANGUAGE} AS $body$
DECLARE
  owner text;
  family ${prefix}authority_families;
  new_expires_at bigint;
  new_idle_expires_at bigint;
BEGIN
  -- The client is looked at before anything that revokes, or one client could end what another was given.
  SELECT user_id INTO owner FROM ${prefix}authority_families WHERE sid = asked_sid AND client_id = asked_client_id AND code_digest IS NOT NULL;
  IF NOT FOUND THEN RETURN json_build_object('outcome', 'unknown'); END IF;
  PERFORM pg_advisory_xact_lock(${FAMILIES_LOCK}, hashtext(owner));
  SELECT * INTO family FROM ${prefix}authority_families
    WHERE sid = asked_sid AND client_id = asked_client_id AND code_digest IS NOT NULL AND ${alive('now_ms')} FOR UPDATE;
  IF NOT FOUND THEN RETURN json_build_object('outcome', 'unknown'); END IF;
  IF family.current_digest IS NOT NULL OR family.code_digest <> asked_digest THEN
    DELETE FROM ${prefix}authority_families WHERE sid = asked_sid;
    RETURN json_build_object('outcome', 'replayed', 'family', row_to_json(family));
  END IF;
  IF family.offline THEN
    new_expires_at := offline_expires_at;
    new_idle_expires_at := offline_idle_expires_at;
  ELSE
    new_expires_at := online_expires_at;
    new_idle_expires_at := online_expires_at;
  END IF;
  UPDATE ${prefix}authority_families SET current_digest = token_digest, last_used_at = now_ms, expires_at = new_expires_at,
    idle_expires_at = new_idle_expires_at, user_agent = new_user_agent,
    sweep_after = ${sweepAfter(prefix, 'least(new_expires_at, new_idle_expires_at)', 'now_ms')} WHERE sid = asked_sid;
  PERFORM ${prefix}authority_bound_families(family.user_id, asked_sid, false, family.offline, max_rows, now_ms);
  RETURN json_build_object('outcome', 'redeemed', 'family', row_to_json(family));
END $body$;

-- With a next token it is rotated, without one it is used. The row is answered as it was before.
CREATE FUNCTION ${prefix}authority_present_token(asked_sid text, asked_digest text, now_ms bigint, grace_ms bigint, new_idle_expires_at bigint,
  of_any_client boolean, asked_client_id text, next_digest text, next_sealed text)
RETURNS json ${LANGUAGE} AS $body$
DECLARE
  family ${prefix}authority_families;
  is_current boolean;
BEGIN
  SELECT * INTO family FROM ${prefix}authority_families
    WHERE sid = asked_sid AND current_digest IS NOT NULL AND ${alive('now_ms')}
      AND (of_any_client OR client_id IS NOT DISTINCT FROM asked_client_id) FOR UPDATE;
  IF NOT FOUND THEN RETURN json_build_object('outcome', 'unknown'); END IF;
  is_current := family.current_digest = asked_digest;
  IF NOT is_current AND (family.previous_digest IS DISTINCT FROM asked_digest OR grace_ms <= 0 OR now_ms - family.rotated_at > grace_ms) THEN
    DELETE FROM ${prefix}authority_families WHERE sid = asked_sid;
    RETURN json_build_object('outcome', 'replayed', 'family', row_to_json(family));
  END IF;
  IF NOT is_current AND next_digest IS NOT NULL THEN
    IF family.holders > 0 THEN UPDATE ${prefix}authority_families SET holders = holders + 1 WHERE sid = asked_sid; END IF;
    RETURN json_build_object('outcome', 'repeated', 'family', row_to_json(family));
  END IF;
  new_idle_expires_at := least(new_idle_expires_at, family.expires_at);
  IF next_digest IS NULL THEN
    UPDATE ${prefix}authority_families SET last_used_at = now_ms, idle_expires_at = new_idle_expires_at,
      sweep_after = ${sweepAfter(prefix, 'new_idle_expires_at', 'now_ms')} WHERE sid = asked_sid;
    RETURN json_build_object('outcome', 'used', 'family', row_to_json(family));
  END IF;
  UPDATE ${prefix}authority_families SET current_digest = next_digest, previous_digest = asked_digest, sealed = next_sealed,
    rotated_at = now_ms, holders = 1, last_used_at = now_ms, idle_expires_at = new_idle_expires_at,
    sweep_after = ${sweepAfter(prefix, 'new_idle_expires_at', 'now_ms')} WHERE sid = asked_sid;
  RETURN json_build_object('outcome', 'rotated', 'family', row_to_json(family));
END $body$;

-- Of the user, less than all where more is given.
CREATE FUNCTION ${prefix}authority_revoke_families(owner text, except_sid text, of_session_sid text, and_client_id text, of_client_id text)
RETURNS TABLE (revoked_sid text) ${LANGUAGE} AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${FAMILIES_LOCK}, hashtext(owner));
  RETURN QUERY DELETE FROM ${prefix}authority_families WHERE user_id = owner
    AND (except_sid IS NULL OR sid <> except_sid)
    AND (of_session_sid IS NULL OR (session_sid = of_session_sid AND (current_digest IS NULL OR NOT offline OR client_id = and_client_id)))
    AND (of_client_id IS NULL OR client_id = of_client_id)
    RETURNING sid;
END $body$;`
