import type { Axis, Chart } from './report.ts'

const WIDTH = 720
const HEIGHT = 340
const LEFT = 64
const RIGHT = 170
const TOP = 40
const BOTTOM = 52
/** Told apart by everybody, on a bright page and on a dark one. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9']
const FONT = 'font-family="system-ui, sans-serif" font-size="12"'

interface Scale {
  at: (value: number) => number
  ticks: number[]
}

/** A chart as SVG. */
export function drawing({ title, x, y, lines }: Chart): string {
  const all = lines.flatMap(({ points }) => points)
  const across = scale(
    x,
    all.map(([value]) => value),
    [LEFT, WIDTH - RIGHT]
  )
  const up = scale(y, y.logarithmic === true ? all.map(([, value]) => value) : [0, ...all.map(([, value]) => value)], [
    HEIGHT - BOTTOM,
    TOP
  ])
  const text = (at: [number, number], content: string, anchor = 'middle'): string =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" text-anchor="${anchor}" fill="#777" ` +
    `${FONT}>${escape(content)}</text>`
  const parts = [
    ...up.ticks.map(
      (tick) =>
        `<path d="M${LEFT} ${up.at(tick).toFixed(1)}H${WIDTH - RIGHT}" ` +
        `stroke="#8884"/>${text([LEFT - 8, up.at(tick) + 4], number(tick), 'end')}`
    ),
    ...across.ticks.map((tick) => text([across.at(tick), HEIGHT - BOTTOM + 18], number(tick))),
    text([(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10], x.label),
    text([LEFT - 48, TOP - 14], y.label, 'start'),
    ...lines.map(({ name, points }, index) => {
      const colour = COLOURS[index % COLOURS.length] as string
      const path = points
        .map(
          ([left, top], number) => `${number === 0 ? 'M' : 'L'}${across.at(left).toFixed(1)} ${up.at(top).toFixed(1)}`
        )
        .join('')
      const dots =
        points.length > 12
          ? ''
          : points
              .map(
                ([left, top]) =>
                  `<circle cx="${across.at(left).toFixed(1)}" cy="${up.at(top).toFixed(1)}" r="3" fill="${colour}"/>`
              )
              .join('')
      const legend = TOP + 8 + index * 20
      return (
        `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots}<path ` +
        `d="M${WIDTH - RIGHT + 14} ${legend}h18" stroke="${colour}" ` +
        `stroke-width="2"/>${text([WIDTH - RIGHT + 38, legend + 4], name, 'start')}`
      )
    })
  ]
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" ` +
    `role="img"><title>${escape(title)}</title>\n${parts.join('\n')}\n</svg>\n`
  )
}

function scale({ logarithmic = false }: Axis, values: readonly number[], [from, to]: [number, number]): Scale {
  const least = Math.min(...values)
  const most = Math.max(...values)
  if (logarithmic) {
    const [low, high] = [
      Math.floor(Math.log10(least)),
      Math.max(Math.floor(Math.log10(least)) + 1, Math.ceil(Math.log10(most)))
    ]
    return {
      at: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from),
      ticks: Array.from({ length: high - low + 1 }, (_none, index) => 10 ** (low + index))
    }
  }
  const step = niceStep((most - least) / 5)
  const [low, high] = [Math.floor(least / step) * step, Math.max(Math.ceil(most / step) * step, least + step)]
  return {
    at: (value) => from + ((value - low) / (high - low)) * (to - from),
    ticks: Array.from({ length: Math.round((high - low) / step) + 1 }, (_none, index) => low + index * step)
  }
}

/** 1, 2 or 5 times a power of ten. */
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough > 0 ? rough : 1))
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
}

function number(value: number): string {
  return value >= 1000 ? value.toLocaleString('en-GB') : String(Number(value.toPrecision(3)))
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
