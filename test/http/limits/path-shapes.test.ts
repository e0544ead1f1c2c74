import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from '../../support/tap.ts'
import { limitedApp } from './support/limited-app.ts'

/** Sends a raw request line, which clients and proxies would normalise. */
async function raw(port: number, line: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket
      .setEncoding('latin1')
      .on('data', (chunk: string) => {
        answer += chunk
      })
      .on('end', () => {
        resolve(Number(answer.split(' ')[1]))
      })
      .on('error', reject)
    socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  })
}

// covers RL-15
t.test('counts alternative spellings of a path under one counter', async (t) => {
  const shapes = [
    'GET /login',
    'HEAD /login',
    'GET /login/',
    'GET /%6Cogin',
    'GET /logi%6e',
    'GET http://evil.example/login',
    'GET //login',
    'GET /login?x=1',
    'GET /login;x',
    'POST /login',
    'GET /LOGIN'
  ]
  const router = {
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    caseSensitive: false,
    useSemicolonDelimiter: true
  }
  for (const shape of shapes) {
    const { app, statuses, work } = await limitedApp(t, { login: { max: 2 } }, { routerOptions: router })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    t.equal(await raw(port, shape), 400, `${shape} reaches the route`)
    t.same(await statuses(2), [400, 429], `${shape} was counted`)
    t.equal(await raw(port, shape), 429, `${shape} is limited`)
    t.equal(work.done, 2)
  }
})
