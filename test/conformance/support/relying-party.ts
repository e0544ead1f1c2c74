import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Teardown } from './op.ts'

export interface Notice {
  method: string | undefined
  contentType: string | undefined
  params: Array<[string, string]>
  reply: ServerResponse
}

export interface RelyingParty {
  uri: string
  notices: Notice[]
  /** Resolves after this many notices in total. */
  heard(count: number): Promise<void>
}

/** A client's server, which receives logout notices. `answer` returns its response, if any. */
export async function relyingParty(
  t: Teardown,
  answer: (reply: ServerResponse, count: number) => void = (reply) => {
    reply.end()
  }
): Promise<RelyingParty> {
  const notices: Notice[] = []
  const waiting: Array<{ count: number; resolve: () => void }> = []
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
    })
    request.on('end', () => {
      notices.push({
        method: request.method,
        contentType: request.headers['content-type'],
        params: [...new URLSearchParams(Buffer.concat(chunks).toString())],
        reply
      })
      answer(reply, notices.length)
      for (const one of waiting) if (notices.length >= one.count) one.resolve()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  })
  return {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/backchannel_logout?tenant=1`,
    notices,
    heard: async (count) => {
      await new Promise<void>((resolve) => {
        if (notices.length >= count) resolve()
        else waiting.push({ count, resolve })
      })
    }
  }
}
