/**
 * Caches objects of `Intl` by language, because making an object takes a tenth of a millisecond and a page formats
 * hundreds of values. No other file makes objects of `Intl`.
 */

function once<Made>(make: (lang: string) => Made): (lang: string) => Made {
  const made = new Map<string, Made>()
  return (lang) => {
    const one = made.get(lang) ?? make(lang)
    made.set(lang, one)
    return one
  }
}

export const pluralRules = once((lang) => new Intl.PluralRules(lang))

export const timeFormat = once(
  (lang) => new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
)

const long = (unit: string) => once((lang) => new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }))

export const unitFormats = { day: long('day'), hour: long('hour'), minute: long('minute') }
