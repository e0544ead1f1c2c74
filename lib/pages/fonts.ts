const SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans'"

/**
 * What has the characters of a language where the fonts before it lack them. Chinese and Japanese write many of the
 * same characters in other shapes, so none of these stands in another language's list.
 */
export const SCRIPT_FONTS: Readonly<Record<string, string>> = {
  ja: "'Hiragino Sans','Yu Gothic UI',Meiryo,'Noto Sans JP','Noto Sans CJK JP'",
  'zh-CN': "'PingFang SC','Microsoft YaHei','Noto Sans SC','Noto Sans CJK SC'",
  'zh-TW': "'PingFang TC','Microsoft JhengHei','Noto Sans TC','Noto Sans CJK TC'",
  ko: "'Apple SD Gothic Neo','Malgun Gothic','Noto Sans KR','Noto Sans CJK KR'",
  ar: "'Geeza Pro','Noto Sans Arabic'"
}

/** For mails: no program that shows them has to know variables. */
export function fontsOf(lang: string): string {
  return [SANS, ...(SCRIPT_FONTS[lang] === undefined ? [] : [SCRIPT_FONTS[lang]]), 'Helvetica,Arial,sans-serif'].join(
    ','
  )
}
