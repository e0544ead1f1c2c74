import { LANGUAGES, type Locale } from '../texts/languages.ts'

const SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans'"

/** The font list of a mail. Mails can't use variables of CSS, as pages do. */
export function fontsOf(lang: Locale): string {
  return [SANS, LANGUAGES[lang].fonts, 'Helvetica,Arial,sans-serif'].filter((fonts) => fonts !== '').join(',')
}
