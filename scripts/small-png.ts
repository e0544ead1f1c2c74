import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10])
const MAX_COLORS = 256

/**
 * A browser's picture (8 bits a channel, not interlaced) with a palette: a fraction of the size, for pages have few
 * colors. @see PNG (Third Edition)
 */
export function smallPng(png: Buffer): Buffer {
  const chunks = [...chunksOf(png)]
  const header = chunks.find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(13)
  const width = header.readUInt32BE(0)
  const height = header.readUInt32BE(4)
  const channels = header[9] === 6 ? 4 : 3
  const pixels = unfiltered(
    inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data))),
    width * channels,
    height,
    channels
  )

  const colorAt = (pixel: number): number =>
    [0, 1, 2].reduce((color, channel) => (color << 8) | (pixels[pixel * channels + channel] ?? 0), 0)
  const counts = new Map<number, number>()
  for (let pixel = 0; pixel < width * height; pixel++) counts.set(colorAt(pixel), (counts.get(colorAt(pixel)) ?? 0) + 1)
  const colors = [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color)
  const palette = colors.slice(0, MAX_COLORS)
  // The rest are single pixels at the edges of letters.
  const indexes = new Map(colors.map((color, index) => [color, index < MAX_COLORS ? index : nearest(color, palette)]))

  const rows = Buffer.alloc((width + 1) * height)
  for (let pixel = 0; pixel < width * height; pixel++) {
    // Each row begins with its filter, which is none.
    rows[Math.floor(pixel / width) * (width + 1) + 1 + (pixel % width)] = indexes.get(colorAt(pixel)) ?? 0
  }
  const indexed = Buffer.from(header)
  indexed[9] = 3
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', indexed),
    chunk('PLTE', Buffer.from(palette.flatMap(channelsOf))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0))
  ])
}

function channelsOf(color: number): [number, number, number] {
  return [(color >> 16) & 255, (color >> 8) & 255, color & 255]
}

/** Index of the most similar color of the palette. */
function nearest(color: number, palette: readonly number[]): number {
  const wanted = channelsOf(color)
  const distances = palette.map((candidate) =>
    channelsOf(candidate).reduce((sum, channel, index) => sum + (channel - (wanted[index] ?? 0)) ** 2, 0)
  )
  return distances.indexOf(Math.min(...distances))
}

function* chunksOf(png: Buffer): Generator<{ type: string; data: Buffer }> {
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at)
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) }
    at += length + 12
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

/** Undoes the filter of each row. @see PNG (Third Edition) §9.2 */
function unfiltered(data: Buffer, stride: number, height: number, size: number): Buffer {
  const pixels = Buffer.alloc(stride * height)
  for (let row = 0; row < height; row++) {
    const filter = data[row * (stride + 1)]
    for (let column = 0; column < stride; column++) {
      const at = row * stride + column
      const left = column < size ? 0 : (pixels[at - size] ?? 0)
      const up = row === 0 ? 0 : (pixels[at - stride] ?? 0)
      const corner = row === 0 || column < size ? 0 : (pixels[at - stride - size] ?? 0)
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter ?? 0] ?? 0
      pixels[at] = (data[row * (stride + 1) + 1 + column] ?? 0) + guess
    }
  }
  return pixels
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(left + up - corner - value)) as [number, number, number]
  return a <= b && a <= c ? left : b <= c ? up : corner
}
