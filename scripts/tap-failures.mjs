// What failed in the output of tests, as few lines as tell what to look at: the names that lead to an assertion, its
// place, the difference.

const MOST_OF_ONE = 30
/** What else a diagnostic block has is the source, which the place leads to, or known from the assertion. */
const LEFT_OUT = /^(at|source|compare|tapCaught|stdio|cwd|command|args|jobId|externalID)$/

/** The failed assertions of a TAP text, each as lines, and no more than `most` lines in all. */
export function failuresIn(tap, most = 100) {
  const failures = leavesOf(tap.split('\n')).map(({ names, block }) =>
    [names.join(' > '), ...told(block).map((line) => `    ${line}`)].slice(0, MOST_OF_ONE)
  )
  const shown = []
  let room = most
  for (const lines of failures) {
    if (lines.length > room) break
    shown.push(lines)
    room -= lines.length
  }
  const left = failures.length - shown.length
  return [...shown.flat(), ...(left > 0 ? [`and ${left} more`] : [])]
}

/** A `not ok` with none below it: those above it fail for its sake, and say nothing new. */
function leavesOf(lines) {
  const names = []
  const leaves = []
  let deepest = -1
  for (const [index, line] of lines.entries()) {
    const depth = line.search(/\S/) / 4
    const subtest = /^ *# Subtest: (.*)$/.exec(line)?.[1]
    if (subtest !== undefined) {
      names.length = depth
      names[depth] = subtest
      continue
    }
    const failed = /^ *not ok \d+(?: - (.*?))?(?: # time=.*)?$/.exec(line)
    if (failed === null || / # (TODO|SKIP)\b/i.test(line)) continue
    if (deepest <= depth)
      leaves.push({ names: [...names.slice(0, depth), failed[1] ?? ''], block: blockAfter(lines, index) })
    deepest = depth
  }
  return leaves
}

/** The YAML that follows a line of TAP, without its indentation. */
function blockAfter(lines, index) {
  const [fence = ''] = /^ *---$/.exec(lines[index + 1] ?? '') ?? []
  if (fence === '') return []
  const indentation = fence.length - 3
  const end = lines.indexOf(`${' '.repeat(indentation)}...`, index)
  return lines.slice(index + 2, end).map((line) => line.slice(indentation))
}

function told(block) {
  const field = (name) => new RegExp(`^ +${name}: (.*)$`, 'm').exec(block.join('\n'))?.[1]
  const place = field('fileName') === undefined ? [] : [`at ${field('fileName')}:${field('lineNumber')}`]
  let isLeftOut = false
  return [
    ...place,
    ...block.filter((line) => {
      const key = /^(\w+):/.exec(line)?.[1]
      if (key !== undefined) isLeftOut = LEFT_OUT.test(key)
      return !isLeftOut
    })
  ]
}
