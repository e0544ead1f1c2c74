/** Most particular first, for browsers call themselves what others are called too. */
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
 * What a person may know a device by: its browser and its system, or the beginning of what it calls itself; `null` for
 * nothing. Anybody can call themselves anything: it is a help for the memory, and no proof.
 */
export function deviceName(userAgent: string | null): string | null {
  return userAgent === null || userAgent.trim() === ''
    ? null
    : (knownDevice(userAgent) ?? userAgent.slice(0, MAX_LENGTH))
}

/** The same of what many people have; `null` for anything else. */
export function knownDevice(userAgent: string): string | null {
  const find = (known: typeof BROWSERS): string | undefined => known.find(([pattern]) => pattern.test(userAgent))?.[1]
  const browser = find(BROWSERS)
  if (browser === undefined) return null
  const system = find(SYSTEMS)
  return system === undefined ? browser : `${browser}, ${system}`
}
