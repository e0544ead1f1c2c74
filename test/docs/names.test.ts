/** The options, endpoints, codes and methods that pages name in their prose exist. */
import { readdirSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const reference = (name: string): string => read(`docs/reference/${name}.md`)
/** Pages that scripts write, or that describe other systems. */
const LEFT_OUT = /^(?:reference|migrating|adr)\/|^(?:security-rows|architecture|mutation)\.md$/

/** A column of Laravel. */
const FOREIGN = 'users.password'

const options = new Set(
  [...reference('options').matchAll(/^\| `([\w.[\]]+)`/gm)].map(([, path = '']) => path.replaceAll('[]', ''))
)
const tops = new Set([...options].map((path) => path.split('.')[0] ?? ''))
const [endpoints, host] = [reference('endpoints'), reference('host')]
/** The source of lib, because some codes are in no reference page, only in docs/troubleshooting.md. */
const sources = readdirSync(new URL('lib/', ROOT), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => read(`lib/${name.replaceAll('\\', '/')}`))
  .join('\n')

/** The faults of a page: names in code spans of its prose that no reference page has. */
function unknownNames(page: string): string[] {
  const prose = page.replace(/^[ \t]*```[\s\S]*?^[ \t]*```$/gm, '')
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return spans.flatMap((span) => {
    const faults: string[] = []
    const option = /^([a-z]\w*)(?:\[\w*\])?(?:\.\w+)+/.exec(span)
    const path = option?.[0].replace(/\[\w*\]/g, '') ?? ''
    const isOption = option !== null && tops.has(option[1] ?? '') && path !== FOREIGN && !/\.(?:m?ts|json)$/.test(path)
    if (isOption && !options.has(path) && !host.includes(path)) faults.push(`option ${span}`)
    for (const [, method = ''] of span.matchAll(/app\.authority\.(\w+)/g))
      if (!host.includes(method)) faults.push(`app.authority.${method}`)
    for (const [, address = ''] of span.matchAll(/^(?:GET|POST|PATCH|DELETE) (\/auth[\w/:-]*)/g))
      if (!endpoints.includes(address)) faults.push(`endpoint ${address}`)
    for (const [code] of span.matchAll(/FST_AUTHORITY_[A-Z_]+(?![A-Z_…])/g))
      if (!sources.includes(code)) faults.push(`code ${code}`)
    return faults
  })
}

t.test('names only existing options, methods, endpoints and codes in the docs', async (t) => {
  const pages = readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md') && !LEFT_OUT.test(name))
    .map((name) => `docs/${name}`)
  t.ok(pages.length > 50, `${pages.length} pages`)
  for (const page of ['README.md', 'SECURITY.md', ...pages]) t.strictSame(unknownNames(read(page)), [], page)
})

t.test('reports an option, a method, an endpoint and a code that do not exist', async (t) => {
  t.strictSame(unknownNames('Set `rateLimit.login.most`, and call `app.authority.endAll()`.'), [
    'option rateLimit.login.most',
    'app.authority.endAll'
  ])
  t.strictSame(unknownNames('`POST /auth/no-such` answers `FST_AUTHORITY_NO_SUCH`.'), [
    'endpoint /auth/no-such',
    'code FST_AUTHORITY_NO_SUCH'
  ])
  t.strictSame(unknownNames('`rateLimit.login.max`, `GET /auth/sessions`, `FST_AUTHORITY_UNSAFE`'), [])
})
