const SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans'"

/**
 * Fonts for the characters that a language's first fonts lack. Chinese and Japanese draw many shared characters
 * differently, so no font appears in another language's list.
 */
export const SCRIPT_FONTS: Readonly<Record<string, string>> = {
  ja: "'Hiragino Sans','Yu Gothic UI',Meiryo,'Noto Sans JP','Noto Sans CJK JP'",
  'zh-CN': "'PingFang SC','Microsoft YaHei','Noto Sans SC','Noto Sans CJK SC'",
  'zh-TW': "'PingFang TC','Microsoft JhengHei','Noto Sans TC','Noto Sans CJK TC'",
  ko: "'Apple SD Gothic Neo','Malgun Gothic','Noto Sans KR','Noto Sans CJK KR'",
  ar: "'Geeza Pro','Noto Sans Arabic'"
}

/** For mails, because mail programs ignore CSS variables. */
export function fontsOf(lang: string): string {
  return [SANS, ...(SCRIPT_FONTS[lang] === undefined ? [] : [SCRIPT_FONTS[lang]]), 'Helvetica,Arial,sans-serif'].join(
    ','
  )
}
