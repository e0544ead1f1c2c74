import { type Html, html } from '../../../pages/html.ts'

/** Characters of a text that a page shows. */
const MOST_SHOWN = 200
/** Controls, marks of direction and other characters without a shape. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/**
 * A text of a person as a page shows it: at most 200 characters, and a code such as `[U+202E]` for each character that
 * is not visible or turns the writing direction.
 */
export function visible(text: string): string {
  const start = text.slice(0, 2 * MOST_SHOWN + 2)
  const characters = [...start]
  const shown = characters
    .slice(0, MOST_SHOWN)
    .map((one) => (UNSEEN.test(one) ? `[U+${codeOf(one)}]` : one))
    .join('')
  return characters.length > MOST_SHOWN ? `${shown}…` : shown
}

const codeOf = (character: string): string =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')

/** The same, isolated from the writing direction of its surroundings. */
export const shown = (text: string): Html => html`<bdi>${visible(text)}</bdi>`

export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** A time in UTC. Support staff of several zones read the same. */
export function at(time: Date | number): Html {
  const iso = new Date(time).toISOString()
  return html`<time datetime="${iso}" data-utc>${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}
