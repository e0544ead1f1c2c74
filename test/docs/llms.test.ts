/** docs/llms.txt lists the pages that the package contains, and the extract has the pages that most questions need. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { llmsFullTxt, llmsTxt } from '../../site/llms.ts'
import { groups } from '../../site/sidebar.ts'
import t from '../support/tap.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const docs = join(root, 'docs')
const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { description: string }

t.test('keeps docs/llms.txt equal to the generated list of pages', async (t) => {
  const listed = llmsTxt(groups(docs), description, '')
  if (process.env['UPDATE'] === '1') writeFileSync(join(docs, 'llms.txt'), listed)
  t.equal(readFileSync(join(docs, 'llms.txt'), 'utf8'), listed, 'run npm run docs:reference')
})

t.test('puts getting started and the options into an extract of fewer than 600,000 characters', async (t) => {
  const extract = llmsFullTxt(docs)
  t.match(extract, /<!-- docs\/getting-started\.md -->\n\n# /)
  t.match(extract, /<!-- docs\/reference\/options\.md -->\n\n# /)
  t.ok(extract.length < 600_000, `${extract.length} characters`)
})
