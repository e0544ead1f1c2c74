/**
 * The languages of pages and mails, in the order in which they are offered. Made from the head of each language's file
 * by `UPDATE=1 npm test -- unit/texts/languages`, so that the start reads no file. `Language` describes the fields.
 */
export const LANGUAGES = {
  en: {
    name: 'English',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  de: {
    name: 'Deutsch',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  fr: {
    name: 'Français',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  es: {
    name: 'Español',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  ja: {
    name: '日本語',
    direction: 'ltr',
    space: '',
    fonts: "'Hiragino Sans','Yu Gothic UI',Meiryo,'Noto Sans JP','Noto Sans CJK JP'",
    wordBreak: 'auto-phrase',
    tall: false,
    aliases: []
  },
  'pt-BR': {
    name: 'Português (Brasil)',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: ['pt']
  },
  it: {
    name: 'Italiano',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  nl: {
    name: 'Nederlands',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  pl: {
    name: 'Polski',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  tr: {
    name: 'Türkçe',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  uk: {
    name: 'Українська',
    direction: 'ltr',
    space: ' ',
    fonts: '',
    wordBreak: 'normal',
    tall: false,
    aliases: []
  },
  'zh-CN': {
    name: '简体中文',
    direction: 'ltr',
    space: '',
    fonts: "'PingFang SC','Microsoft YaHei','Noto Sans SC','Noto Sans CJK SC'",
    wordBreak: 'normal',
    tall: false,
    aliases: ['zh']
  },
  'zh-TW': {
    name: '繁體中文',
    direction: 'ltr',
    space: '',
    fonts: "'PingFang TC','Microsoft JhengHei','Noto Sans TC','Noto Sans CJK TC'",
    wordBreak: 'normal',
    tall: false,
    aliases: ['zh-hant', 'zh-hk', 'zh-mo']
  },
  ko: {
    name: '한국어',
    direction: 'ltr',
    space: ' ',
    fonts: "'Apple SD Gothic Neo','Malgun Gothic','Noto Sans KR','Noto Sans CJK KR'",
    wordBreak: 'keep-all',
    tall: false,
    aliases: []
  },
  ar: {
    name: 'العربية',
    direction: 'rtl',
    space: ' ',
    fonts: "'Geeza Pro','Noto Sans Arabic'",
    wordBreak: 'normal',
    tall: true,
    aliases: []
  }
} as const

export type Locale =
  | 'en'
  | 'de'
  | 'fr'
  | 'es'
  | 'ja'
  | 'pt-BR'
  | 'it'
  | 'nl'
  | 'pl'
  | 'tr'
  | 'uk'
  | 'zh-CN'
  | 'zh-TW'
  | 'ko'
  | 'ar'
