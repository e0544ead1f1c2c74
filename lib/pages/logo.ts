import type { CommonModel } from './common-model.ts'
import { attributes, type Html, html } from './html.ts'

const LOGO_HEIGHT = 40

/** A logo as a host gives it. */
export interface Logo {
  url: string
  dark?: string | undefined
  height?: number | undefined
  alt?: string | undefined
}

/** The logo as pages and mails show it. `title`: its words, if the host gives none. */
export function logoOf(
  { url, dark, height = LOGO_HEIGHT, alt }: Logo,
  title: string
): NonNullable<CommonModel['logo']> {
  return { url, dark: dark ?? null, height, alt: alt ?? title }
}

/**
 * The logo of the service, for pages and mails. The browser chooses the image of its scheme; mail programs that don't
 * know `picture` show the one for light mode.
 */
export function logoImage(
  { url, dark, height, alt }: NonNullable<CommonModel['logo']>,
  colorScheme: CommonModel['colorScheme'],
  own: Readonly<Record<string, string>> = {}
): Html {
  const image = (src: string): Html => html`<img${attributes({ ...own, src, alt, height: String(height) })}>`
  if (dark === null || colorScheme !== 'auto') return image(colorScheme === 'dark' && dark !== null ? dark : url)
  // A comma would start another candidate.
  const source = attributes({ srcset: dark.replaceAll(',', '%2C'), media: '(prefers-color-scheme:dark)' })
  return html`<picture><source${source}>${image(url)}</picture>`
}
