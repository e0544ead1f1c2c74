import { LANGUAGE } from './lifetime.ts'
import { LOCK } from './migrations.ts'

/**
 * Functions that PostgreSQL runs, each the whole of an operation. What decides on what a user has takes the lock of
 * that user first, one for the transaction, and takes no other: so one such operation is done at a time, and none waits
 * in a circle. Each statement inside sees what was committed before that statement began.
 */
export const factorFunctions = (prefix: string): string => {
  const [users, apps, passkeys, codes, claims] = [
    'factor_users',
    'totp_factors',
    'passkeys',
    'recovery_codes',
    'passkey_claims'
  ].map((name) => `${prefix}authority_${name}`)
  const lock = `PERFORM pg_advisory_xact_lock(${LOCK + 3}, hashtext(owner));`
  return `
CREATE FUNCTION ${prefix}authority_move_device_epoch(owner text) RETURNS bigint LANGUAGE sql AS $body$
  INSERT INTO ${users} AS users (user_id, device_epoch) VALUES (owner, 1)
    ON CONFLICT (user_id) DO UPDATE SET device_epoch = users.device_epoch + 1 RETURNING device_epoch;
$body$;

CREATE FUNCTION ${prefix}authority_store_recovery_codes(owner text, digests json) RETURNS void LANGUAGE sql AS $body$
  DELETE FROM ${codes} WHERE user_id = owner;
  INSERT INTO ${codes} (user_id, digest) SELECT owner, digest FROM json_array_elements_text(digests) AS digest;
$body$;

-- How many there are of both kinds, but the one of that id (NULL: all).
CREATE FUNCTION ${prefix}authority_count_factors(owner text, but_id text, with_disabled boolean) RETURNS bigint LANGUAGE sql AS $body$
  SELECT (SELECT count(*) FROM ${apps} WHERE user_id = owner AND id IS DISTINCT FROM but_id AND (with_disabled OR NOT disabled))
    + (SELECT count(*) FROM ${passkeys} WHERE user_id = owner AND id IS DISTINCT FROM but_id);
$body$;

CREATE FUNCTION ${prefix}authority_add_factor(owner text, is_passkey boolean, added json, max_rows integer, digests json) RETURNS text ${LANGUAGE} AS $body$
BEGIN
  ${lock}
  IF EXISTS (SELECT FROM ${apps} WHERE user_id = owner AND id = added ->> 'id')
    OR EXISTS (SELECT FROM ${passkeys} WHERE user_id = owner AND (id = added ->> 'id' OR credential_id = added ->> 'credential_id'))
  THEN RETURN 'duplicate'; END IF;
  IF is_passkey THEN
    IF (SELECT count(*) FROM ${passkeys} WHERE user_id = owner) >= max_rows THEN RETURN 'full'; END IF;
    INSERT INTO ${passkeys} (user_id, id, credential_id, public_key, alg, sign_count, transports, backup_eligible, backed_up, uv_initialized,
      aaguid, rp_id, name, created_at, last_used_at)
    SELECT owner, id, credential_id, public_key, alg, sign_count, ARRAY(SELECT json_array_elements_text(added -> 'transports')), backup_eligible, backed_up,
      uv_initialized, aaguid, rp_id, name, created_at, last_used_at
    FROM json_to_record(added) AS passkey (id text, credential_id text, public_key text, alg integer, sign_count bigint, backup_eligible boolean,
      backed_up boolean, uv_initialized boolean, aaguid text, rp_id text, name text, created_at bigint, last_used_at bigint);
  ELSE
    IF (SELECT count(*) FROM ${apps} WHERE user_id = owner) >= max_rows THEN RETURN 'full'; END IF;
    INSERT INTO ${apps} (user_id, id, sealed_secret, last_step, failures, disabled, name, created_at, last_used_at)
    SELECT owner, id, sealed_secret, last_step, failures, disabled, name, created_at, last_used_at
    FROM json_to_record(added) AS app (id text, sealed_secret text, last_step bigint, failures integer, disabled boolean, name text,
      created_at bigint, last_used_at bigint);
  END IF;
  PERFORM ${prefix}authority_move_device_epoch(owner);
  IF json_array_length(digests) = 0 OR EXISTS (SELECT FROM ${codes} WHERE user_id = owner) THEN RETURN 'added'; END IF;
  PERFORM ${prefix}authority_store_recovery_codes(owner, digests);
  RETURN 'added with codes';
END $body$;

CREATE FUNCTION ${prefix}authority_use_totp(owner text, asked_id text, new_step bigint, now_ms bigint, new_sealed_secret text) RETURNS text ${LANGUAGE} AS $body$
DECLARE
  app ${apps};
BEGIN
  ${lock}
  SELECT * INTO app FROM ${apps} WHERE user_id = owner AND id = asked_id;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  IF app.disabled THEN RETURN 'disabled'; END IF;
  IF new_step <= app.last_step THEN RETURN 'replayed'; END IF;
  UPDATE ${apps} SET failures = 0 WHERE user_id = owner AND id <> asked_id AND failures > 0 AND NOT disabled;
  UPDATE ${apps} SET failures = 0, last_step = new_step, last_used_at = now_ms, sealed_secret = coalesce(new_sealed_secret, sealed_secret)
    WHERE user_id = owner AND id = asked_id;
  RETURN 'used';
END $body$;

CREATE FUNCTION ${prefix}authority_count_totp_failure(owner text, most integer) RETURNS text ${LANGUAGE} AS $body$
DECLARE
  has_disabled boolean;
BEGIN
  ${lock}
  WITH counted AS (UPDATE ${apps} SET failures = failures + 1, disabled = failures + 1 >= most WHERE user_id = owner AND NOT disabled RETURNING disabled)
    SELECT bool_or(disabled) INTO has_disabled FROM counted;
  RETURN CASE WHEN has_disabled IS NULL THEN 'unknown' WHEN has_disabled THEN 'disabled' ELSE 'counted' END;
END $body$;

CREATE FUNCTION ${prefix}authority_use_passkey(owner text, asked_credential_id text, new_claim text, claim_expires_at bigint, new_sign_count bigint,
  new_backed_up boolean, now_ms bigint)
RETURNS text ${LANGUAGE} AS $body$
DECLARE
  passkey ${passkeys};
  has_regressed boolean;
BEGIN
  ${lock}
  SELECT * INTO passkey FROM ${passkeys} WHERE user_id = owner AND credential_id = asked_credential_id;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  IF EXISTS (SELECT FROM ${claims} WHERE user_id = owner AND claim = new_claim) THEN RETURN 'replayed'; END IF;
  has_regressed := new_sign_count <= passkey.sign_count AND (new_sign_count <> 0 OR passkey.sign_count <> 0);
  IF has_regressed AND NOT passkey.backup_eligible THEN RETURN 'regressed'; END IF;
  INSERT INTO ${claims} (user_id, claim, expires_at) VALUES (owner, new_claim, claim_expires_at);
  UPDATE ${passkeys} SET sign_count = new_sign_count, backed_up = new_backed_up, last_used_at = now_ms WHERE user_id = owner AND id = passkey.id;
  RETURN CASE WHEN has_regressed THEN 'used though regressed' ELSE 'used' END;
END $body$;

-- How many are left; NULL: there is no such code.
CREATE FUNCTION ${prefix}authority_use_recovery_code(owner text, asked_digest text) RETURNS bigint ${LANGUAGE} AS $body$
BEGIN
  ${lock}
  DELETE FROM ${codes} WHERE user_id = owner AND digest = asked_digest;
  RETURN CASE WHEN FOUND THEN (SELECT count(*) FROM ${codes} WHERE user_id = owner) END;
END $body$;

CREATE FUNCTION ${prefix}authority_replace_recovery_codes(owner text, digests json) RETURNS boolean ${LANGUAGE} AS $body$
BEGIN
  ${lock}
  IF ${prefix}authority_count_factors(owner, NULL, true) = 0 THEN RETURN false; END IF;
  PERFORM ${prefix}authority_store_recovery_codes(owner, digests);
  RETURN true;
END $body$;

CREATE FUNCTION ${prefix}authority_remove_factor(owner text, asked_id text, keep_one boolean) RETURNS text ${LANGUAGE} AS $body$
BEGIN
  ${lock}
  IF NOT EXISTS (SELECT FROM ${apps} WHERE user_id = owner AND id = asked_id) AND NOT EXISTS (SELECT FROM ${passkeys} WHERE user_id = owner AND id = asked_id)
  THEN RETURN 'unknown'; END IF;
  IF keep_one AND ${prefix}authority_count_factors(owner, asked_id, false) = 0 THEN RETURN 'last'; END IF;
  DELETE FROM ${apps} WHERE user_id = owner AND id = asked_id;
  DELETE FROM ${passkeys} WHERE user_id = owner AND id = asked_id;
  IF ${prefix}authority_count_factors(owner, asked_id, true) = 0 THEN DELETE FROM ${codes} WHERE user_id = owner; END IF;
  PERFORM ${prefix}authority_move_device_epoch(owner);
  RETURN 'removed';
END $body$;

CREATE FUNCTION ${prefix}authority_remove_factors(owner text) RETURNS bigint ${LANGUAGE} AS $body$
DECLARE
  removed bigint;
BEGIN
  ${lock}
  removed := ${prefix}authority_count_factors(owner, NULL, true);
  DELETE FROM ${apps} WHERE user_id = owner;
  DELETE FROM ${passkeys} WHERE user_id = owner;
  DELETE FROM ${codes} WHERE user_id = owner;
  UPDATE ${users} SET device_epoch = device_epoch + 1 WHERE user_id = owner;
  RETURN removed;
END $body$;`
}
