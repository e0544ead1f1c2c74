import type { CommonModel } from './common-model.ts'
import { attributes, type Html, html } from './html.ts'

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
