/** The topology of examples/compose with real processes instead of containers, and with the example's own files. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseEnv, promisify } from 'node:util'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { freePort } from '../../support/free-port.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { startRedis } from '../../support/redis-server.ts'
import { SMTP_USER, startSmtpServer, type TestSmtpServer } from '../../support/smtp-server.ts'
import { example, type Server } from './example-server.ts'
import { type Nginx, startNginx } from './nginx.ts'

export interface Service {
  image: string
  build?: { context: string; dockerfile: string }
  environment: Record<string, string>
  ports?: string[]
  volumes?: string[]
  command?: string[]
  extra_hosts?: string[]
  networks?: { default: { ipv4_address: string } }
  depends_on?: Record<string, { condition: string }>
  healthcheck?: unknown
  read_only?: boolean
  cap_drop?: string[]
  stop_grace_period?: string
}

export interface ComposeFile {
  services: Record<string, Service>
  networks: { default: { ipam: { config: Array<{ subnet: string }> } } }
  volumes: Record<string, unknown>
}

const source = fileURLToPath(new URL('../../../examples/compose/', import.meta.url))
export const composeText = (file: string): string => readFileSync(join(source, file), 'utf8')
export const composeFile = (): ComposeFile => parse(composeText('compose.yaml'), { merge: true }) as ComposeFile

const execute = promisify(execFile)
const INSTANCES = ['app-1', 'app-2']

export interface Topology {
  origin: string
  plainOrigin: string
  /** The self-signed certificate. */
  ca: string
  nginx: Nginx
  smtp: TestSmtpServer
  /** Each instance that ever ran, by its name, the oldest first. */
  servers: Record<string, Server[]>
  /** The arguments given to `docker`. */
  commands: string[]
  /** The list of instances as it is now. */
  upstream(): string
  /** Starts an instance that has ended. */
  start(name: string): Promise<void>
  /** Runs `update.sh`. */
  update(): Promise<void>
}

/** `env`: replaces values of compose.yaml. It is started by the commands that the README prints. */
export async function startTopology(t: Test, env: Record<string, string>): Promise<Topology> {
  const { services } = composeFile()
  const { cwd, start } = example(t)
  const [postgres, redis, smtp] = await Promise.all([startPostgres(), startRedis(), startSmtpServer(t)])
  t.teardown(postgres.stop)
  t.teardown(redis.stop)
  const { url } = await postgres.database()
  const ports = Object.fromEntries(
    await Promise.all([...INSTANCES, 'https', 'http'].map(async (name) => [name, await freePort()] as const))
  )
  const origin = `https://auth.localhost:${ports['https']}`
  const folder = join(cwd, 'compose')
  for (const directory of ['nginx', 'conf.d']) mkdirSync(join(folder, directory), { recursive: true })
  for (const file of ['update.sh', 'nginx/upstream.conf', 'nginx/site.conf'])
    writeFileSync(join(folder, file), composeText(file))

  const places: Array<[of: RegExp, here: string]> = [
    [/https:\/\/auth\.localhost:8443/g, origin],
    [/listen 8443/g, `listen 127.0.0.1:${ports['https']}`],
    [/listen 8080/g, `listen 127.0.0.1:${ports['http']}`],
    ...INSTANCES.map((name): [RegExp, string] => [
      new RegExp(`${services[name]?.networks?.default.ipv4_address}:3000`.replaceAll('.', '\\.'), 'g'),
      `127.0.0.1:${ports[name]}`
    ]),
    [/\/certs\//g, `${folder}/certs/`],
    [/\/var\/log\/nginx/g, folder]
  ]
  const here = (file: string): string =>
    places.reduce((text, [of, place]) => text.replace(of, place), readFileSync(join(folder, 'nginx', file), 'utf8'))
  const confd = (): Record<string, string> =>
    Object.fromEntries(['upstream.conf', 'site.conf'].map((file) => [file, here(file)]))

  // Replaces /etc/hosts of a container.
  const names = Object.fromEntries(
    (services['app-1']?.extra_hosts ?? []).map((entry) => [entry.split(':')[0] ?? '', '127.0.0.1'])
  )
  const hosts = join(cwd, 'hosts.mjs')
  writeFileSync(
    hosts,
    `import dns from 'node:dns'\nconst { lookup } = dns\nconst names = ` +
      `${JSON.stringify(names)}\ndns.lookup = (name, ...others) => lookup(names[name] ?? name, ` +
      `...others)\n`
  )
  const servers: Record<string, Server[]> = {}
  async function run(name: string): Promise<void> {
    const secrets = parseEnv(readFileSync(join(folder, '.env'), 'utf8'))
    const given = Object.fromEntries(
      Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [
        key,
        value.replace(/\$\{([A-Z_]+):\?[^}]*\}/g, (_, secret: string) => secrets[secret] ?? '')
      ])
    )
    // Values that differ here. Each must be set in compose.yaml.
    const elsewhere = {
      ISSUER: origin,
      DATABASE_URL: url,
      REDIS_URL: redis.url,
      SMTP_URL: `smtp://${SMTP_USER.user}:${SMTP_USER.pass}@127.0.0.1:${smtp.port}`,
      TRUST_PROXY: '127.0.0.1',
      NODE_EXTRA_CA_CERTS: `${folder}/certs/auth.localhost.pem`
    }
    const unknown = Object.keys(elsewhere).filter((key) => !(key in given))
    if (unknown.length > 0) throw new Error(`compose.yaml does not set ${unknown.join(', ')}`)
    const server = await start(ports[name] ?? 0, {
      NODE_ENV: 'production',
      NODE_OPTIONS: `--import ${hosts}`,
      ...given,
      ...elsewhere,
      ...env
    })
    while ((await fetch(`${server.origin}/ready`)).status !== 200) await delay(20)
    servers[name] = [...(servers[name] ?? []), server]
  }

  let nginx: Nginx | null = null
  const commands: string[] = []
  const docker = await startDocker(t, join(cwd, 'bin'), async (words) => {
    commands.push(words.join(' '))
    const name = words.at(-1) ?? ''
    if (words.includes('reload')) nginx?.reload()
    else if (words.includes('up') && INSTANCES.includes(name)) {
      const status = await servers[name]?.at(-1)?.kill('SIGTERM')
      if (status !== 0) throw new Error(`${name} ended with ${status}`)
      await run(name)
    } else if (words.includes('up')) {
      for (const instance of INSTANCES) await run(instance)
      nginx = await startNginx(t, { confd, directory: join(folder, 'conf.d'), log: folder, port: ports['https'] ?? 0 })
    }
  })
  const [, printed = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(composeText('README.md')) ?? []
  await execute('sh', ['-euc', printed], { cwd: folder, env: docker })
  if (nginx === null) throw new Error('the README starts nothing')
  return {
    origin,
    plainOrigin: `http://127.0.0.1:${ports['http']}`,
    ca: readFileSync(join(folder, 'certs/auth.localhost.pem'), 'utf8'),
    nginx,
    smtp,
    servers,
    commands,
    start: run,
    upstream: () => readFileSync(join(folder, 'nginx/upstream.conf'), 'utf8'),
    async update() {
      await execute('sh', ['update.sh'], { cwd: folder, env: docker })
    }
  }
}

/** A fake program `docker` that calls `answer`. Resolves to the environment in which it is found. */
async function startDocker(
  t: Test,
  bin: string,
  answer: (words: string[]) => Promise<void>
): Promise<Record<string, string>> {
  const control = createServer((request, response) => {
    json(request)
      .then(async (words) => {
        await answer(words as string[])
        response.end('0')
      })
      .catch((error: unknown) => {
        response.end(String(error))
      })
  }).listen(0, '127.0.0.1')
  await once(control, 'listening')
  t.teardown(() => {
    control.close()
    control.closeAllConnections()
  })
  mkdirSync(bin)
  writeFileSync(
    join(bin, 'docker'),
    `#!${process.execPath}
fetch(process.env.CONTROL, { method: 'POST', body: JSON.stringify(process.argv.slice(2)) }).then((reply) => reply.text()).then((text) => { if (text !== '0') { console.error(text); process.exitCode = 1 } })
`,
    { mode: 0o755 }
  )
  const address = control.address()
  return {
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    CONTROL: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  }
}
