// The official MCP SDKs, unchanged, against examples/mcp: both generations in TypeScript, and the one in Python. They
// register or bring a document, sign in, call a tool and refresh. All but the first also get more scope.
//
//   npm run built && npm run build:examples && node scripts/mcp-sdks.mjs
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'

const FIRST_SDK = '@modelcontextprotocol/sdk@1.32.2'
const PYTHON_SDK = 'mcp==2.3.0'
const PORT = 4711
const DOCUMENT_PORT = 4712
const issuer = `http://localhost:${PORT}`
const documentUrl = `https://localhost:${DOCUMENT_PORT}/client.json`
const redirect = 'https://agent.example/cb'
const metadata = {
  client_name: 'Test agent',
  redirect_uris: [redirect],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none'
}
const person = { username: 'ann@example.com', password: 'seven green boats at dawn' }

const folder = mkdtempSync(join(tmpdir(), 'mcp-sdks-'))
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
try {
  const python = join(folder, 'python/bin/python')
  run('python3', ['-m', 'venv', join(folder, 'python')])
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PYTHON_SDK])
  run('npm', ['install', '--silent', '--no-save', '--ignore-scripts', '--prefix', folder, FIRST_SDK])
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name))
  const subject = ['-nodes', '-days', '2', '-subj', '/CN=localhost']
  run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', key, '-out', cert, ...subject])
  const documents = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, reply) => {
    reply.setHeader('content-type', 'application/json').end(JSON.stringify({ client_id: documentUrl, ...metadata }))
  }).listen(DOCUMENT_PORT)
  const modules = join(folder, 'node_modules/@modelcontextprotocol')
  const load = async (file) => await import(pathToFileURL(join(modules, file)).href)
  const v1 = {
    ...(await load('sdk/dist/esm/client/index.js')),
    ...(await load('sdk/dist/esm/client/streamableHttp.js')),
    generation: 1
  }
  const v2 = { ...(await import('@modelcontextprotocol/client')), generation: 2 }
  const sdks = {
    'TypeScript v1': async (by) => await journey(v1, by),
    'TypeScript v2': async (by) => await journey(v2, by),
    Python: async (by) => await pythonJourney(python, by)
  }
  for (const [name, travel] of Object.entries(sdks))
    for (const by of ['registration', 'document', 'client of the host']) {
      const clients = [{ clientId: 'agent', firstParty: false, redirectUris: [redirect] }]
      const app = await started({ clients })
      await travel(by)
      await app.close()
      console.log(`${name} by a ${by}: signed in, called, refreshed`)
    }
  const { agent } = await import(new URL('../dist/examples/mcp/agent.js', import.meta.url))
  const app = await started({ clients: [] })
  const browse = browser()
  const notes = await agent(new URL(`${issuer}/mcp`), async ({ href }) => await fetch(await allowedAt(browse, href)))
  assert.equal(notes, 'Buy milk.')
  await app.close()
  console.log('the agent of examples/mcp: signed in, called, got more scope')
  documents.close()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)

async function started({ clients }) {
  const { mcpApp } = await import(new URL('../dist/examples/mcp/app.js', import.meta.url))
  const app = await mcpApp({ issuer, clients, secret: 'a secret of this test, long enough for it' })
  await app.listen({ port: PORT })
  const made = await fetch(`${issuer}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(person)
  })
  assert.equal(made.status, 201)
  return app
}

async function journey(sdk, by) {
  const browse = browser()
  const kept = { client: by === 'client of the host' ? { client_id: 'agent', issuer } : undefined }
  let answer = new URLSearchParams()
  const authProvider = {
    redirectUrl: redirect,
    clientMetadata: metadata,
    ...(by === 'document' ? { clientMetadataUrl: documentUrl } : {}),
    clientInformation: () => kept.client,
    saveClientInformation(client) {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens
    },
    codeVerifier: () => kept.verifier,
    saveCodeVerifier(verifier) {
      kept.verifier = verifier
    },
    discoveryState: () => kept.discovery,
    saveDiscoveryState(discovery) {
      kept.discovery = discovery
    },
    async redirectToAuthorization(url) {
      answer = new URL(await allowedAt(browse, url.href)).searchParams
    }
  }
  const finish = async (transport) => {
    await transport.finishAuth(sdk.generation === 1 ? answer.get('code') : answer)
  }
  const connect = async () => {
    const transport = new sdk.StreamableHTTPClientTransport(new URL(`${issuer}/mcp`), { authProvider })
    const client = new sdk.Client({ name: 'agent', version: '1.0.0' })
    return { transport, client, connected: client.connect(transport) }
  }
  const first = await connect()
  await assert.rejects(first.connected, /Unauthorized/)
  await finish(first.transport)
  const { transport, client, connected } = await connect()
  await connected
  assert.equal((await client.listTools()).tools.length, 2)
  await client.callTool({ name: 'list_notes', arguments: {} })
  if (by !== 'client of the host') {
    kept.tokens = { ...kept.tokens, access_token: 'none.of.ours' }
    await client.callTool({ name: 'list_notes', arguments: {} })
    assert.notEqual(kept.tokens.access_token, 'none.of.ours', 'it refreshed')
  }
  const add = async () => await client.callTool({ name: 'add_note', arguments: { text: 'milk' } })
  // The first generation never asks for more scope while it has a refresh token.
  await assert.rejects(add())
  if (sdk.generation === 1) return
  await finish(transport)
  assert.equal((await add()).content[0].text, 'added')
  assert.match(kept.tokens.scope, /notes:write/)
}

/** The SDK prints the address that a browser opens, and reads the one to which it was sent back. */
async function pythonJourney(python, by) {
  const browse = browser()
  const asked = {
    server: `${issuer}/mcp`,
    metadata,
    documentUrl: by === 'document' ? documentUrl : null,
    client: by === 'client of the host' ? { client_id: 'agent', redirect_uris: [redirect], issuer } : null
  }
  const script = fileURLToPath(new URL('mcp-sdk.py', import.meta.url))
  const sdk = spawn(python, [script, JSON.stringify(asked)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => {
    sdk.on('exit', resolve)
  })
  for await (const url of createInterface({ input: sdk.stdout })) sdk.stdin.write(`${await allowedAt(browse, url)}\n`)
  assert.equal(await ended, 0)
}

/** Signs in where a page asks for it, allows the access, and returns the address of the client. */
async function allowedAt(browse, url) {
  let page = await browse(url)
  if (page.url.includes('/auth/login')) page = await browse(page.url, person)
  assert.match(page.url, /\/auth\/consent/, 'a page asks')
  return (await browse(actionOf(page.html), { decision: 'allow' })).url
}

/** Follows redirects below the issuer, with cookies. */
function browser() {
  const cookies = new Map()
  return async (start, form) => {
    let [url, body] = [start, form]
    for (;;) {
      const reply = await fetch(url, {
        redirect: 'manual',
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          ...(body === undefined ? {} : { origin: issuer })
        },
        ...(body === undefined ? {} : { body: new URLSearchParams(body) })
      })
      for (const cookie of reply.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
        cookies.set(name, value)
      }
      const location = reply.headers.get('location')
      if (location === null) return { url, html: await reply.text() }
      url = new URL(location, issuer).href
      body = undefined
      if (!url.startsWith(issuer)) return { url, html: '' }
    }
  }
}

function actionOf(html) {
  const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(html) ?? []
  return new URL(action.replaceAll('&amp;', '&'), issuer).href
}

function run(command, args) {
  const { status, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('..', import.meta.url))
  })
  if (status !== 0) throw new Error(`${command} ${args[0]}: ${stderr}`)
}
