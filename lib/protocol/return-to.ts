const MAX_LENGTH = 2048

/**
 * The target of a sign-in: a path (with query and fragment) on the issuer's own origin, as a browser will read it.
 * `null` for all else. The result is ASCII and safe as a `Location`.
 */
export function localPath(target: string | undefined, issuer: string): string | null {
  if (target === undefined || target.length > MAX_LENGTH || !/^\/(?!\/)/.test(target)) return null
  // Browsers drop tabs and line breaks, and take a backslash for a slash: `/<tab>/evil` and `/\evil` leave the origin.
  if (/[^\x21-\x7e\x80-\uffff]|\\/.test(target)) return null
  const { origin } = new URL(issuer)
  const url = new URL(target, origin)
  const path = `${url.pathname}${url.search}${url.hash}`
  // Judged as it comes out: `/..//evil` is `//evil` only then. No browser decodes what a proxy may.
  return url.origin === origin && !/^\/(?:\/|%(?:2f|5c|09|0a|0d))/i.test(path) ? path : null
}
