/** A text without NUL, where some drivers cut it off, and without lone surrogates, which UTF-8 can't hold. */
export const STORABLE = /^[^\0\p{Cs}]*$/u

/** True if every database can store the text, so that two names can't become one there. */
export const isStorable = (text: string): boolean => STORABLE.test(text)
