/**
 * The example of Docker Compose, without Docker: its files as they are, and the same topology of real servers and
 * processes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from '../support/tap.ts'
import { readConfig } from '../../examples/server/config.ts'
import { composeFile, composeText, startTopology } from './support/compose.ts'
import { formBrowser } from './support/form-browser.ts'
import { httpsClient } from './support/https-client.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const ANN = { username: 'ann@example.com', password: 'nine tall ferns by noon' }
/** Addresses of this machine. Those of the load have no limits of their own. */
const [PERSON, GUESSER, NEIGHBOUR, LOAD] = ['127.0.0.5', '127.0.0.6', '127.0.0.7', '127.0.1.1']
const LOADERS = 2
const PAUSE_MS = 200
/** Of one loader: a user has a bounded number of sign-ins. */
const MOST_SIGN_INS = 15

const VARIABLES = [
  ...readFileSync(join(root, 'examples/server/config.ts'), 'utf8').matchAll(/env(?:\['|,\s+'|\.)([A-Z_]+)\b/g)
].map(([, name = '']) => name)

t.test('compose.yaml and the Dockerfile: what is named is there, pinned, and known', async (t) => {
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

t.test('the guides print the files that the test runs', async (t) => {
  const printed = (page: string, language: string): string[] =>
    [
      ...readFileSync(join(root, 'docs/guides', page), 'utf8').matchAll(
        new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm')
      )
    ].map(([, text = '']) => text)
  t.strictSame(printed('nginx.md', 'nginx'), [composeText('nginx/site.conf'), composeText('nginx/upstream.conf')])
  t.strictSame(printed('rolling-updates.md', 'sh'), [composeText('update.sh')])
})

t.test('two instances behind nginx with TLS', async (t) => {
  const { origin, plainOrigin, ca, nginx, smtp, servers, commands, upstream, start, update } = await startTopology(t, {
    DRAIN_SECONDS: '2',
    RATE_LIMIT_BYPASS: '127.0.1.0/24'
  })
  const from = (address: string): typeof fetch => httpsClient({ ca, from: address })
  const person = from(PERSON)
  const token = async (
    send: typeof fetch,
    fields: Record<string, string>,
    headers = {}
  ): Promise<{ status: number; body: Record<string, string> }> => {
    const reply = await send(`${origin}/auth/token`, { method: 'POST', headers, body: new URLSearchParams(fields) })
    return { status: reply.status, body: (await reply.json()) as Record<string, string> }
  }
  const logged = (name: string): string => servers[name]?.map(({ output }) => output()).join('') ?? ''

  const cookies: string[] = []
  const browser = formBrowser(origin, async (input, init) => {
    const reply = await person(input, init)
    cookies.push(...reply.headers.getSetCookie())
    return reply
  })
  t.equal(
    (await fetch(`${plainOrigin}/auth/login`, { redirect: 'manual' })).headers.get('location'),
    `${origin}/auth/login`,
    'http: leads to https:'
  )
  const signedUp = await browser.submit(await browser.get('/auth/signup?return_to=/'), ANN)
  t.match(signedUp.text, `Signed in as <strong>${ANN.username}`)
  t.match(
    cookies.find((cookie) => cookie.startsWith('__Host-')),
    /; Path=\/; HttpOnly; SameSite=Lax; Secure$/
  )
  t.ok(cookies.every((cookie) => cookie.includes('Secure')))
  const [link = ''] = /^https:\S+$/m.exec((await smtp.next()).parts['text/plain'] ?? '') ?? []
  t.ok(link.startsWith(`${origin}/auth/verify-email?token=`), link)
  t.match((await browser.submit(await browser.get(link))).text, /address is confirmed/)
  const asked = await browser.get('/third-party/sign-in')
  t.equal(asked.url.pathname, '/auth/consent', 'the third-party demo asks the issuer through nginx')
  t.match(
    (await browser.submit(asked, { decision: 'allow' })).text,
    '<dt>preferred_username</dt><dd>ann@example.com</dd>',
    'whichever instance the answer comes to'
  )

  const signedIn = await token(person, { grant_type: 'password', ...ANN })
  t.equal(signedIn.status, 200)
  let refreshToken = signedIn.body['refresh_token'] ?? ''
  for (let turn = 0; turn < 4; turn++) {
    const { status, body } = await token(person, { grant_type: 'refresh_token', refresh_token: refreshToken })
    t.equal(status, 200)
    refreshToken = body['refresh_token'] ?? ''
    const me = await person(`${origin}/me`, { headers: { authorization: `Bearer ${body['access_token']}` } })
    t.match(await me.json(), { username: ANN.username })
  }
  for (const name of ['app-1', 'app-2']) {
    t.match(logged(name), /"url":"\/auth\/token"/, `${name} had a part in it`)
    t.match(logged(name), `"remoteAddress":"${PERSON}"`, 'and saw whose')
    t.notMatch(logged(name), /FST_AUTHORITY_UNSAFE/)
  }

  const guesses: number[] = []
  for (let guess = 0; guess < 6; guess++)
    guesses.push(
      (
        await token(
          from(GUESSER),
          { grant_type: 'password', username: `nobody-${guess}@example.com`, password: 'wrong wrong wrong' },
          { 'x-forwarded-for': `203.0.113.${guess}` }
        )
      ).status
    )
  t.strictSame(guesses, [400, 400, 400, 400, 400, 429], 'both count together, whatever address the client claims')
  t.equal(
    (await token(from(NEIGHBOUR), { grant_type: 'password', ...ANN })).status,
    200,
    'the next address has an allowance of its own'
  )
  const cross = await person(`${origin}/auth/login`, {
    method: 'POST',
    headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    body: new URLSearchParams(ANN)
  })
  t.equal(cross.status, 403, 'nginx passes on what browsers say of themselves')

  const secrets = [new URL(link).searchParams.get('token') ?? '-', refreshToken, ANN.password]
  for (const text of [nginx.accessLog(), nginx.errorLog(), logged('app-1'), logged('app-2')])
    t.notOk(secrets.some((secret) => text.includes(secret)))
  t.match(nginx.accessLog(), `${PERSON} `)

  await t.test('a rolling update by update.sh: under load, and not one request fails', async (t) => {
    const send = from(LOAD)
    const failed: string[] = []
    const done = { sign_in: 0, refresh: 0 }
    let over = false
    async function load(): Promise<void> {
      let refresh = ''
      for (let turn = 0; !over; turn++) {
        const kind = turn % 4 === 0 && turn < 4 * MOST_SIGN_INS ? 'sign_in' : 'refresh'
        const answer = await token(
          send,
          kind === 'sign_in'
            ? { grant_type: 'password', ...ANN }
            : { grant_type: 'refresh_token', refresh_token: refresh }
        ).catch((error: unknown) => ({ status: String(error), body: {} as Record<string, string> }))
        if (answer.status === 200) done[kind]++
        else failed.push(`${kind} ${answer.status} ${JSON.stringify(answer.body)}`)
        refresh = answer.body['refresh_token'] ?? refresh
        await delay(PAUSE_MS)
      }
    }
    const loads = Array.from({ length: LOADERS }, load)
    try {
      await update()
    } finally {
      over = true
      await Promise.all(loads)
    }
    t.strictSame(failed, [])
    t.ok(done.sign_in >= LOADERS && done.refresh >= LOADERS, JSON.stringify(done))
    t.strictSame(commands, [
      'compose up --build --wait',
      'compose build app-1',
      ...['app-1', 'app-2'].flatMap((name) => [
        'compose exec -T nginx nginx -s reload',
        `compose up --detach --no-deps --wait ${name}`,
        'compose exec -T nginx nginx -s reload'
      ])
    ])
    t.strictSame(
      Object.values(servers).map((ever) => ever.map(({ child }) => child.exitCode)),
      [
        [0, null],
        [0, null]
      ],
      'the old ones ended by themselves, the new ones run'
    )
    t.equal(
      (await token(person, { grant_type: 'refresh_token', refresh_token: refreshToken })).status,
      200,
      'people are signed in as before'
    )
    t.match((await browser.get('/')).text, 'Signed in as')
    t.equal(upstream(), composeText('nginx/upstream.conf'))
  })

  const statusOf = async (path: string): Promise<number> => (await person(`${origin}${path}`)).status
  const end = async (name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<unknown> =>
    await servers[name]?.at(-1)?.kill(signal)
  await t.test('one crashes and is back, and then the other ends: people notice nothing', async (t) => {
    await end('app-1', 'SIGKILL')
    for (let turn = 0; turn < 4; turn++) t.equal(await statusOf('/auth/login'), 200, 'the other answers')
    await start('app-1')
    await end('app-2', 'SIGTERM')
    for (let turn = 0; turn < 20; turn++) t.equal(await statusOf('/auth/login'), 200, 'it is asked again')
  })

  await t.test('where no instance answers, the error log has no token', async (t) => {
    await end('app-1', 'SIGKILL')
    const links = ['reset-password', 'verify-email', 'email-link', 'second-factor/link', 'undo']
    for (const path of links) t.equal(await statusOf(`/auth/${path}?token=token-of-a-mail`), 502)
    t.equal(await statusOf('/auth/login?return_to=/another-address'), 502)
    t.match(nginx.errorLog(), '/another-address', 'it has the addresses of other requests')
    t.notMatch(nginx.errorLog(), 'token-of-a-mail')
  })
})
