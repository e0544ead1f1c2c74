/**
 * The languages in which a browser looks at every page and mail: English, one that runs from the right and one without
 * spaces. `TEST_LANGUAGES=all` takes every language of the library, as the nightly run does.
 */
import { LOCALES } from '../../lib/pages/texts.ts'

const asked = process.env['TEST_LANGUAGES'] ?? 'en,ar,ja'

export const LANGUAGES = asked === 'all' ? LOCALES : LOCALES.filter((locale) => asked.split(',').includes(locale))
