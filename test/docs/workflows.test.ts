/**
 * Checks .github without running it: valid YAML, no job with undeclared rights, and no action that a moved tag could
 * replace.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'
import { parse } from 'yaml'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const yamlFiles = readdirSync(new URL('.github', root), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.ya?ml$/.test(file))
  .map((file) => `.github/${file}`)
const workflows = yamlFiles.filter((file) => file.startsWith('.github/workflows/'))

interface Step {
  uses?: string
  run?: string
  with?: Record<string, unknown>
}
interface Job {
  permissions?: Record<string, string>
  'timeout-minutes'?: number
  environment?: string
  steps: Step[]
}
interface Workflow {
  on: Record<string, unknown>
  permissions?: unknown
  jobs: Record<string, Job>
}

const parsed = new Map(workflows.map((file) => [file, parse(read(file)) as Workflow]))
const jobs = [...parsed].flatMap(([file, { jobs }]) =>
  Object.entries(jobs).map(([name, job]) => ({ where: `${file} ${name}`, job }))
)
const steps = jobs.flatMap(({ where, job }) => job.steps.map((step) => ({ where, step })))

t.test('parses every YAML file of .github', async (t) => {
  t.ok(yamlFiles.length >= 9, `${yamlFiles.length} files`)
  for (const file of yamlFiles) t.type(parse(read(file)), 'object', file)
})

t.test('asks a question in every issue form, and labels each field', async (t) => {
  const forms = yamlFiles.filter((file) => file.startsWith('.github/ISSUE_TEMPLATE/') && !file.endsWith('/config.yml'))
  t.ok(forms.length >= 3)
  for (const file of forms) {
    const form = parse(read(file)) as {
      name?: string
      description?: string
      body: Array<{ type: string; id?: string; attributes: { label?: string } }>
    }
    t.ok(form.name !== undefined && form.description !== undefined, file)
    const asked = form.body.filter(({ type }) => type !== 'markdown')
    t.ok(asked.length > 0 && asked.every(({ attributes }) => attributes.label !== undefined), file)
    t.ok(
      form.body.every(({ type }) => ['markdown', 'textarea', 'input', 'dropdown', 'checkboxes'].includes(type)),
      file
    )
    t.equal(new Set(asked.map(({ id }) => id)).size, asked.length, file)
  }
})

t.test('grants no permissions to a workflow, and names permissions and a timeout for each job', async (t) => {
  for (const [file, workflow] of parsed) t.strictSame(workflow.permissions, {}, file)
  for (const { where, job } of jobs) {
    t.ok(job.permissions, where)
    t.type(job['timeout-minutes'], 'number', where)
  }
})

t.test('uses no trigger and no event text that would run code of outsiders with repository permissions', async (t) => {
  for (const [file, { on }] of parsed)
    t.strictSame(
      Object.keys(on).filter((event) => ['pull_request_target', 'workflow_run', 'issue_comment'].includes(event)),
      [],
      file
    )
  for (const { where, step } of steps) t.notMatch(step.run ?? '', /\$\{\{\s*github\.(?:event|head_ref)/, where)
})

t.test('pins every action to a commit, with its version in a comment', async (t) => {
  for (const file of workflows) {
    for (const [, line = ''] of read(file).matchAll(/uses: (.*)/g))
      t.match(line, /^[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+(?:\.\d+\.\d+)?$/, `${file}: ${line}`)
  }
  const pins = new Map<string, string>()
  for (const {
    step: { uses }
  } of steps) {
    const [name = '', commit = ''] = uses?.split('@') ?? []
    const action = name.split('/').slice(0, 2).join('/')
    if (action !== '') t.equal(pins.get(action) ?? commit, commit, `one version of ${action}`)
    pins.set(action, commit)
  }
})

t.test('leaves no token behind after a checkout', async (t) => {
  for (const { where, step } of steps)
    if (step.uses?.startsWith('actions/checkout@') === true) t.equal(step.with?.['persist-credentials'], false, where)
})

t.test('publishes in the environment npm with only an ID token, and installs only in read-only jobs', async (t) => {
  const release = parsed.get('.github/workflows/release.yml')
  const publish = release?.jobs['publish']
  t.equal(publish?.environment, 'npm')
  t.strictSame(publish?.permissions, { 'id-token': 'write' })
  for (const [name, job] of Object.entries(release?.jobs ?? {})) {
    const installs = job.steps.some(({ run = '' }) => /npm (?:ci|i|install)\b|\.ci\/run/.test(run))
    if (installs) t.strictSame(job.permissions, { contents: 'read' }, name)
  }
})

t.test('runs only scripts that exist', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  let runs = 0
  for (const {
    where,
    step: { run = '' }
  } of steps) {
    for (const [, script = ''] of run.matchAll(/npm run (?:--silent )?([\w:]+)/g))
      t.ok(script in scripts, `${where}: ${script}`)
    for (const [file] of run.matchAll(/(?:scripts\/[\w-]+\.mjs|\.ci\/[\w-]+)/g))
      t.ok(existsSync(new URL(file, root)), `${where}: ${file}`)
    if (run !== '') runs++
  }
  t.ok(runs > 10)
})
