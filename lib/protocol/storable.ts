/** A text without NUL, where some drivers cut it off, and without lone surrogates, which UTF-8 can't hold. */
export const STORABLE = /^[^\0\p{Cs}]*$/u

/** Whether every database can hold the text. Two names must not become one in it. */
export const isStorable = (text: string): boolean => STORABLE.test(text)
