import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { titleOf } from '../scripts/markdown.ts'

interface Group {
  text: string
  pages: string[]
  collapsed?: boolean
}
interface Item {
  text: string
  link: string
}

/**
 * The pages in the order in which people need them. A page that is named nowhere goes to the group of its folder, so a new page needs
 * no entry here; one that is named and is not there yet is left out.
 */
const GROUPS: readonly Group[] = [
  { text: 'Start', pages: ['README.md', 'getting-started.md', 'concepts.md'] },
  {
    text: 'Guides',
    pages: [
      'guides/react.md',
      'guides/vue.md',
      'guides/svelte.md',
      'guides/plain-page.md',
      'guides/two-origins.md',
      'guides/nestjs.md',
      'guides/fastify-cli.md',
      'guides/redirect-login.md',
      'guides/browser-client.md',
      'guides/hosted-pages.md',
      'guides/host-pages.md',
      'guides/roles.md',
      'guides/step-up.md',
      'guides/apis.md',
      'guides/api-in-another-process.md',
      'guides/dpop.md',
      'guides/machine-clients.md',
      'guides/agents.md',
      'guides/api-keys.md',
      'guides/administration.md',
      'guides/audit-log.md',
      'guides/pushed-requests.md',
      'guides/device-grant.md',
      'guides/messages.md',
      'guides/logout.md',
      'guides/own-user-store.md',
      'guides/profile-fields.md',
      'guides/importing-users.md',
      'guides/invitations.md',
      'guides/password-grant.md',
      'guides/password-hashing.md',
      'guides/rate-limits.md',
      'guides/second-factors.md',
      'guides/passkeys.md',
      'guides/state.md',
      'guides/state-sizing.md',
      'guides/own-state-store.md',
      'guides/factor-stores.md',
      'guides/testing.md'
    ]
  },
  {
    text: 'Sign in with others',
    pages: [
      'guides/connections/README.md',
      'guides/connections/openid-provider.md',
      'guides/connections/another-provider.md',
      'guides/connections/apps.md'
    ],
    collapsed: true
  },
  { text: 'User stores', pages: [], collapsed: true },
  {
    text: 'Other languages and programs',
    pages: ['guides/go.md', 'guides/python.md', 'guides/spring-boot.md', 'guides/oauth2-proxy.md'],
    collapsed: true
  },
  {
    text: 'In production',
    pages: [
      'deployment.md',
      'guides/nginx.md',
      'guides/docker.md',
      'guides/platforms.md',
      'guides/rolling-updates.md',
      'troubleshooting.md',
      'observability.md',
      'security.md'
    ]
  },
  { text: 'Is it for you?', pages: ['comparison.md', 'performance.md', 'client-bench.md'] },
  {
    text: 'Migrating',
    pages: [
      'migrating/README.md',
      'migrating/fastify-jwt.md',
      'migrating/better-auth.md',
      'migrating/auth0.md',
      'migrating/passport-and-authjs.md',
      'guides/from-auth0-spa-js.md',
      'guides/from-auth0-react.md',
      'migrating/keycloak.md',
      'migrating/firebase.md',
      'migrating/supabase.md',
      'migrating/cognito.md'
    ]
  },
  { text: 'Questions', pages: ['faq.md'] },
  {
    text: 'Reference',
    pages: [
      'reference/options.md',
      'reference/endpoints.md',
      'reference/host.md',
      'reference/errors.md',
      'reference/events.md',
      'reference/client.md',
      'reference/command-line.md',
      'semver.md',
      'screenshots/README.md'
    ]
  },
  { text: 'What it is held to', pages: ['conformance.md', 'assurance.md', 'security-rows.md'] },
  { text: 'For contributors', pages: ['architecture.md', 'mutation.md', 'adr/README.md'], collapsed: true }
]

const FOLDERS: Readonly<Record<string, string>> = {
  'guides/user-stores': 'User stores',
  'guides/connections': 'Sign in with others',
  guides: 'Guides',
  migrating: 'Migrating',
  reference: 'Reference',
  adr: 'For contributors',
  '': 'What it is held to'
}

/** Every page below `docs`, with its title, group by group. */
export function groups(docs: string): Array<Group & { items: Item[] }> {
  const all = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .sort()
  const named = new Set(GROUPS.flatMap(({ pages }) => pages))
  const homeless = all.filter((file) => !named.has(file))
  return GROUPS.map((group) => {
    const pages = [
      ...group.pages.filter((file) => existsSync(join(docs, file))),
      ...homeless.filter((file) => FOLDERS[folderOf(file)] === group.text)
    ]
    return { ...group, pages, items: pages.map((file) => ({ text: textOf(docs, file), link: urlOf(file) })) }
  }).filter(({ items }) => items.length > 0)
}

/** The address of a page on the site. */
export function urlOf(file: string): string {
  return `/${file.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '')}`
}

function folderOf(file: string): string {
  return Object.keys(FOLDERS).find((folder) => folder !== '' && file.startsWith(`${folder}/`)) ?? ''
}

function textOf(docs: string, file: string): string {
  const title =
    file === 'README.md' ? 'Overview' : (titleOf(readFileSync(join(docs, file), 'utf8')) ?? basename(file, '.md'))
  // VitePress takes it for HTML.
  return title.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
