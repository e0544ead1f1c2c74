/**
 * What the last commit before sessions and families knew how their user was authenticated (1c547b9) sends to each
 * store: as it was, so that an older release can be tried on the tables and records of this one, and this one on those
 * of an older. Times are of `NOW`.
 */
export const NOW = Date.UTC(2026, 5, 1)
export const END = NOW + 3_600_000
export const LATER = NOW + 1000

/** Its steps. */
export const SQLITE_STEPS = 4
export const POSTGRES_STEPS = 2

export const SQLITE = {
  session: `INSERT INTO authority_browser_sessions (sid, user_id, authenticated_at, created_at, last_used_at, expires_at,
    idle_expires_at, user_agent, client_ids, digests) VALUES (?, 'user-19367', ${NOW}, ${NOW}, ${NOW}, ${END}, ${END}, 'ua', '["app"]', '["d"]')`,
  renewal: `UPDATE authority_browser_sessions SET authenticated_at = ${LATER}, last_used_at = ${LATER}, expires_at = ${END}, idle_expires_at = ${END}, digests = '["e"]'
    WHERE sid = ?`,
  family: `INSERT INTO authority_families (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
    idle_expires_at, user_agent, session_sid, offline, authorization, code_digest, current_digest)
    VALUES (?, 'user-19367', 'app', 'openid', ${NOW}, ${NOW}, ${NOW}, ${END}, ${END}, 'ua', NULL, 1, NULL, NULL, 'd')`,
  code: `INSERT INTO authority_families (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
    idle_expires_at, user_agent, session_sid, offline, authorization, code_digest, current_digest)
    VALUES (?, 'user-19367', 'app', 'openid', ${NOW}, ${NOW}, ${NOW}, ${END}, ${END}, NULL, 'sid-1', 1, '{}', 'd', NULL)`,
  redemption:
    `UPDATE authority_families SET current_digest = 'e', last_used_at = ${LATER}, expires_at = ` +
    `${END}, idle_expires_at = ${END}, user_agent = 'ua' WHERE sid = ?`
}

export const POSTGRES = {
  session:
    `SELECT authority_add_session($1, 'user-19367', ${NOW}, ${NOW}, ${NOW}, ${END}, ${END}, ` +
    `'ua', '["app"]'::text::json, 'd', 100)`,
  renewal: `UPDATE authority_browser_sessions SET authenticated_at = ${LATER}, last_used_at = ${LATER}, expires_at = ${END}, idle_expires_at = ${END},
    sweep_after = authority_sweep_after(least(${END}::bigint, ${END}::bigint), ${LATER}::bigint, sweep_after), digests = ARRAY['e'] WHERE sid = $1 RETURNING sid`,
  family:
    `SELECT authority_add_family($1, 'user-19367', 'app', 'openid', ${NOW}, ${NOW}, ${NOW}, ` +
    `${END}, ${END}, 'ua', NULL, true, NULL, NULL, 'd', 100)`,
  code:
    `SELECT authority_add_family($1, 'user-19367', 'app', 'openid', ${NOW}, ${NOW}, ${NOW}, ` +
    `${END}, ${END}, NULL, 'sid-1', true, '{}', 'd', NULL, 100)`,
  redemption: `SELECT authority_redeem_code($1, 'd', 'app', ${LATER}, 'e', ${END}, ${END}, ${END}, 'ua', 100)`
}

/** KEYS: the record, and the index of its owner. ARGV: owner, sid. */
export const REDIS = {
  session: `redis.call('SET', KEYS[1], cmsgpack.pack({ ARGV[1], ${NOW}, ${END}, ${END}, ${NOW}, '["user-19367","ua"]', ${NOW}, { '"app"' }, { 'd' }, 1 }), 'PX', 3600000)
    redis.call('ZADD', KEYS[2], 4, ARGV[2])`,
  renewal: `local record = cmsgpack.unpack(redis.call('GET', KEYS[1]))
    record[9], record[7], record[5], record[10] = { 'e' }, ${LATER}, ${LATER}, 1
    redis.call('SET', KEYS[1], cmsgpack.pack(record), 'PX', 3600000)`,
  family: `redis.call('SET', KEYS[1], cmsgpack.pack({ ARGV[1], ${NOW}, ${END}, ${END}, ${NOW}, '["user-19367","openid",${NOW},null]', '"ua"', '"app"', 'null', '1', false, 'd', false, false, false, false, 1 }), 'PX', 3600000)
    redis.call('ZADD', KEYS[2], 6, ARGV[2])`,
  code: `redis.call('SET', KEYS[1], cmsgpack.pack({ ARGV[1], ${NOW}, ${END}, ${END}, ${NOW}, '["user-19367","openid",${NOW},"{}"]', 'null', '"app"', '"sid-1"', '1', 'd', false, false, false, false, false, 1 }), 'PX', 3600000)
    redis.call('ZADD', KEYS[2], 4, ARGV[2])`,
  redemption: `local record = cmsgpack.unpack(redis.call('GET', KEYS[1]))
    record[12], record[5], record[7] = 'e', ${LATER}, '"ua"'
    redis.call('SET', KEYS[1], cmsgpack.pack(record), 'PX', 3600000)
    redis.call('ZADD', KEYS[2], 6, ARGV[2])`
}
