/**
 * Colours as `#rrggbb`, and their contrast.
 * @see WCAG 2.2 §1.4.3, §1.4.11 and its definition of relative luminance
 */

export type Color = `#${string}`

type Channels = readonly [red: number, green: number, blue: number]

/** Minimum contrast of normal text. */
export const TEXT_CONTRAST = 4.5
/** Minimum contrast of a control's edge. */
export const EDGE_CONTRAST = 3

function channelsOf(color: Color): Channels {
  const value = Number.parseInt(color.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}

function luminance(color: Color): number {
  const [red, green, blue] = channelsOf(color).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as unknown as Channels
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** From 1 (the same) to 21 (black and white). */
export function contrast(one: Color, other: Color): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Mixes `share` (0 to 1) of `other` into `color`. */
export function mix(color: Color, other: Color, share: number): Color {
  const target = channelsOf(other)
  const mixed = channelsOf(color).map((channel, index) =>
    Math.round(channel + ((target[index] ?? 0) - channel) * share)
  )
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

/** Black or white, whichever has more contrast: at least 4.58 on any colour. */
export function textOn(color: Color): Color {
  return contrast(color, '#ffffff') >= contrast(color, '#000000') ? '#ffffff' : '#000000'
}

/**
 * The colour itself, or the nearest one towards `end` that has this contrast to all backgrounds. `end` must have it.
 */
export function readable(color: Color, { on, least, end }: { on: readonly Color[]; least: number; end: Color }): Color {
  for (let step = 0; step < 50; step++) {
    const candidate = mix(color, end, step / 50)
    if (on.every((background) => contrast(candidate, background) >= least)) return candidate
  }
  return end
}
