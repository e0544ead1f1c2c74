/** The most specific names come first, because browsers also send the names of other browsers. */
const BROWSERS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/\S{1,32} (?:Mobile\/\S{1,32} )?Safari\//, 'Safari']
]
const SYSTEMS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux']
]
const MAX_LENGTH = 60

/**
 * A name by which a user may recognize a device: browser and system, or else the start of the `User-Agent`. `null`
 * without a `User-Agent`. The name proves nothing, because a browser can send any name.
 */
export function deviceName(userAgent: string | null): string | null {
  return userAgent === null || userAgent.trim() === ''
    ? null
    : (knownDevice(userAgent) ?? userAgent.slice(0, MAX_LENGTH))
}

/** Returns the name of a widespread browser, and of its system if that is known too. `null` for any other browser. */
export function knownDevice(userAgent: string): string | null {
  const find = (known: typeof BROWSERS): string | undefined => known.find(([pattern]) => pattern.test(userAgent))?.[1]
  const browser = find(BROWSERS)
  if (browser === undefined) return null
  const system = find(SYSTEMS)
  return system === undefined ? browser : `${browser}, ${system}`
}
