import { LONGEST_ROW, TOO_LONG } from './columns.ts'

/** Longer than the name of any member that is looked for. */
const LONGEST_NAME = 64

/**
 * The texts of the elements of a JSON array, one by one: of the document itself, or of its `member`. Neither the
 * document nor the array is ever in memory. The texts are not checked.
 */
export async function* jsonElements(
  chunks: AsyncIterable<string>,
  member: string | undefined
): AsyncGenerator<string | { problem: string }> {
  const base = member === undefined ? 1 : 2
  let [depth, isInString, isEscaped, isInList] = [0, false, false, false]
  let [element, name] = ['', '']
  for await (const chunk of chunks) {
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const character = chunk.charAt(at)
      if (isInString) {
        if (isEscaped) isEscaped = false
        else if (character === '\\') isEscaped = true
        else if (character === '"') isInString = false
        if (isInString && depth === 1 && name.length < LONGEST_NAME) name += character
      } else if (character === '"') {
        isInString = true
        if (depth === 1) name = ''
      } else if (character === '[' || character === '{') {
        depth++
        if (!isInList && depth === base && character === '[' && (member === undefined || name === member)) {
          isInList = true
          start = at + 1
        }
      } else if (character === ',' || character === ']' || character === '}') {
        const isEnd = character !== ','
        if (isInList && depth === base) {
          element += chunk.slice(start, at)
          if (element.trim() !== '' || !isEnd) yield element
          ;[element, start] = ['', at + 1]
          if (isEnd) return
        }
        if (isEnd) depth--
      }
    }
    if (isInList) element += chunk.slice(start)
    if (element.length > LONGEST_ROW) {
      yield { problem: `${TOO_LONG}, and the rest was not read` }
      return
    }
  }
  yield { problem: isInList ? 'is cut off at the end of the file' : `is missing: the file has no list ${member ?? ''}` }
}
