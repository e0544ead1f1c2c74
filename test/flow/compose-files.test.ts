/** The files of the Docker Compose example, without Docker: named files exist, and guides print them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from '../support/tap.ts'
import { readConfig } from '../../examples/server/config.ts'
import { composeFile, composeText } from './support/compose.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const VARIABLES = [
  ...readFileSync(join(root, 'examples/server/config.ts'), 'utf8').matchAll(/env(?:\['|,\s+'|\.)([A-Z_]+)\b/g)
].map(([, name = '']) => name)

t.test('pins images and uses only known services and variables in compose.yaml and Dockerfile', async (t) => {
  const { services, volumes, networks } = composeFile()
  const dockerfile = composeText('Dockerfile')
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image)
  t.equal(new Set(bases).size, 1, 'built and run on one image')
  for (const image of [
    ...bases,
    ...Object.values(services)
      .filter(({ build }) => build === undefined)
      .map(({ image }) => image)
  ])
    t.match(image, /^[a-z/]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)*$/, `${image} is of one version`)
  t.match(readFileSync(join(root, 'package.json'), 'utf8'), '"node": ">=20.19"')

  t.ok(VARIABLES.length > 10)
  const [one, two] = [services['app-1'], services['app-2']]
  t.strictSame(one?.environment, two?.environment)
  for (const name of Object.keys(one?.environment ?? {}))
    t.ok(VARIABLES.includes(name) || name === 'NODE_EXTRA_CA_CERTS', `${name} is a variable of the example server`)
  const filled = Object.fromEntries(
    Object.entries(one?.environment ?? {}).map(([name, value]) => [
      name,
      value.replace(/\$\{([A-Z_]+):\?[^}]*\}/g, 'a-value-of-32-bytes-from-the-file-env')
    ])
  )
  const image = Object.fromEntries(
    [...dockerfile.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  )
  const config = readConfig({ ...image, ...filled })
  t.match(config, {
    host: '0.0.0.0',
    port: 3000,
    issuer: 'https://auth.localhost:8443',
    bypass: [],
    drainSeconds: 5,
    trustProxy: [services['nginx']?.networks?.default.ipv4_address],
    redisUrl: 'redis://redis:6379',
    smtpUrl: 'smtp://mail:1025'
  })
  t.equal(new URL(config.databaseUrl ?? '').pathname, `/${services['postgres']?.environment['POSTGRES_DB']}`)
  t.throws(
    () => readConfig({ ...image, ...filled, AUTH_SECRET: '' }),
    /AUTH_SECRET is not set/,
    'it does not start without a secret'
  )

  for (const name of ['REDIS_URL', 'DATABASE_URL', 'SMTP_URL'])
    t.ok(new URL(filled[name] ?? '').hostname in services, `${name} names a service`)
  t.strictSame(one?.extra_hosts, [`auth.localhost:${services['nginx']?.networks?.default.ipv4_address}`])
  const addresses = Object.values(services)
    .map(({ networks }) => networks?.default.ipv4_address)
    .filter((address) => address !== undefined)
  t.equal(new Set(addresses).size, 3)
  const subnet = networks.default.ipam.config[0]?.subnet.replace(/\d+\/24$/, '') ?? '-'
  t.ok(addresses.every((address) => address.startsWith(subnet)))
  for (const [name, { depends_on: needs = {}, healthcheck, build, ports = [], volumes: mounts = [] }] of Object.entries(
    services
  )) {
    for (const [other, { condition }] of Object.entries(needs))
      t.ok(
        condition === 'service_healthy' &&
          (services[other]?.healthcheck !== undefined || services[other]?.build !== undefined),
        `${name} waits for ${other}, which has a health check`
      )
    t.ok(healthcheck !== undefined || build !== undefined || name === 'mail', `${name} has a health check`)
    for (const port of ports) t.match(port, /^127\.0\.0\.1:(\d+):\1$/, `${name}: only this machine reaches ${port}`)
    for (const mount of mounts)
      t.ok(mount.startsWith('./') || (mount.split(':')[0] as string) in volumes, `${name}: ${mount}`)
  }
  t.match(one, { read_only: true, cap_drop: ['ALL'], stop_grace_period: '20s' })
  t.ok(config.drainSeconds + 10 < 20, 'Docker waits for longer than the server takes to stop')

  t.match(dockerfile, /^USER node$/m)
  t.match(dockerfile, /^HEALTHCHECK .*\/ready/m)
  t.match(dockerfile, /^CMD \["node", "dist\/examples\/server\/main\.js"\]$/m)
  const sources = readdirSync(join(root, 'examples/server'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(root, 'examples/server', file), 'utf8'))
    .join('\n')
  const imports = [...sources.matchAll(/(?:from|import\() ?'([^.'][^']*)'/g)]
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('node:') && !/^fastify-authority(?:\/|$)/.test(name))
  const kept = [...composeText('production.mjs').matchAll(/'([^']+)'/g)].map(([, name = '']) => name)
  for (const name of new Set(imports)) t.ok(kept.includes(name), `${name} stays in the image`)
})

t.test('prints the tested configuration files in the guides', async (t) => {
  const printed = (page: string, language: string): string[] =>
    [
      ...readFileSync(join(root, 'docs/guides', page), 'utf8').matchAll(
        new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm')
      )
    ].map(([, text = '']) => text)
  t.strictSame(printed('nginx.md', 'nginx'), [composeText('nginx/site.conf'), composeText('nginx/upstream.conf')])
  t.strictSame(printed('rolling-updates.md', 'sh'), [composeText('update.sh')])
})
