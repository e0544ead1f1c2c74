/**
 * Speaks as much of MongoDB's wire protocol as a user store needs, so that the real driver can be run where there is no server.
 * Filters are equalities, a missing field equals `null`, unique indexes are kept, and each command is one step. It shows what the
 * driver sends and how a store takes the answers; what MongoDB itself does is not shown by it.
 */
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { BSON } from 'mongodb'
import type { Document } from 'mongodb'

const REPLY = 1
const QUERY = 2004
const MESSAGE = 2013
const HELLO = { helloOk: true, isWritablePrimary: true, ismaster: true, maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000, minWireVersion: 0, maxWireVersion: 25, readOnly: false, ok: 1 }

export interface MongoStandIn {
  url: string
  /** Every command but those of the connection itself. */
  commands: Document[]
  /** Reads what comes and answers nothing, until `false`. */
  silence(silent: boolean): void
  stop(): Promise<void>
}

interface UniqueIndex { name: string, field: string }

/** A command's name and documents, whichever way they were sent. */
function commandOf (message: Buffer): Document {
  if (message.readInt32LE(12) === QUERY) return BSON.deserialize(message.subarray(message.indexOf(0, 20) + 9))
  let command: Document = {}
  for (let at = 20; at < message.length;) {
    const kind = message[at++]
    const size = message.readInt32LE(at)
    if (kind === 0) {
      command = { ...command, ...BSON.deserialize(message.subarray(at, at + size)) }
    } else {
      const nameEnd = message.indexOf(0, at + 4)
      const documents: Document[] = []
      for (let from = nameEnd + 1; from < at + size; from += message.readInt32LE(from)) documents.push(BSON.deserialize(message.subarray(from, from + message.readInt32LE(from))))
      command[message.toString('utf8', at + 4, nameEnd)] = documents
    }
    at += size
  }
  return command
}

function replyTo (message: Buffer, answer: Document): Buffer {
  const isQuery = message.readInt32LE(12) === QUERY
  const head = Buffer.alloc(isQuery ? 36 : 21)
  const body = BSON.serialize(answer)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(message.readInt32LE(4), 8)
  head.writeInt32LE(isQuery ? REPLY : MESSAGE, 12)
  if (isQuery) head.writeInt32LE(1, 32)
  return Buffer.concat([head, body])
}

const matches = (document: Document, filter: Document): boolean => Object.entries(filter).every(([field, value]) => {
  if (field === '$or') return (value as Document[]).some((one) => matches(document, one))
  if (typeof value === 'object' && value !== null && '$exists' in value) return (document[field] !== undefined) === value.$exists
  return (document[field] ?? null) === value
})

function database (): (command: Document) => Document {
  let rows: Document[] = []
  const indexes: UniqueIndex[] = [{ name: '_id_', field: '_id' }]

  const insert = (document: Document): Document => {
    const broken = indexes.find(({ field }) => rows.some((row) => row[field] !== undefined && row[field] === document[field]))
    if (broken === undefined) {
      rows.push(document)
      return { n: 1, ok: 1 }
    }
    const error = { index: 0, code: 11000, errmsg: `E11000 duplicate key error index: ${broken.name}`, keyPattern: { [broken.field]: 1 }, keyValue: { [broken.field]: document[broken.field] } }
    return { n: 0, writeErrors: [error], ok: 1 }
  }
  const update = ({ q, u }: Document): Document => {
    const row = rows.find((candidate) => matches(candidate, q as Document))
    const { $set } = u as { $set: Document }
    const changes = row !== undefined && !matches(row, $set)
    if (changes) Object.assign(row, $set)
    return { n: row === undefined ? 0 : 1, nModified: changes ? 1 : 0, ok: 1 }
  }
  const findAndModify = ({ query, update: { $set = {}, $unset = {} } }: Document): Document => {
    const row = rows.find((candidate) => matches(candidate, query as Document))
    const value = { ...row, ...$set as Document }
    for (const field of Object.keys($unset as Document)) delete value[field]
    const broken = row === undefined ? undefined : indexes.find(({ field }) => rows.some((other) => other !== row && other[field] !== undefined && other[field] === value[field]))
    if (broken !== undefined) return { ok: 0, code: 11000, codeName: 'DuplicateKey', errmsg: `E11000 duplicate key error index: ${broken.name}`, keyPattern: { [broken.field]: 1 }, keyValue: { [broken.field]: value[broken.field] } }
    rows = rows.map((other) => other === row ? value : other)
    return { lastErrorObject: { n: row === undefined ? 0 : 1, updatedExisting: row !== undefined }, value: row === undefined ? null : value, ok: 1 }
  }
  const first = (list: unknown): Document => (list as [Document])[0]

  return (command) => {
    // It has a field `update` of its own.
    if ('findAndModify' in command) return findAndModify(command)
    if ('insert' in command) return insert(first(command['documents']))
    if ('update' in command) return update(first(command['updates']))
    if ('find' in command) return { cursor: { id: BSON.Long.ZERO, ns: 'db.people', firstBatch: rows.filter((row) => matches(row, command['filter'] as Document)).slice(0, 1) }, ok: 1 }
    if ('createIndexes' in command) {
      const { name, key } = first(command['indexes']) as { name: string, key: Document }
      indexes.push({ name, field: Object.keys(key)[0] ?? '' })
      return { ok: 1 }
    }
    if ('delete' in command) {
      const { q } = first(command['deletes'])
      const kept = rows.filter((row) => !matches(row, q as Document))
      const n = rows.length - kept.length
      rows = kept
      return { n, ok: 1 }
    }
    return 'endSessions' in command || 'ping' in command ? { ok: 1 } : { ok: 0, code: 59, codeName: 'CommandNotFound', errmsg: 'no such command' }
  }
}

export async function startMongoStandIn (): Promise<MongoStandIn> {
  const run = database()
  const commands: Document[] = []
  const sockets = new Set<Socket>()
  let silent = false

  const answer = (message: Buffer): Document => {
    const command = commandOf(message)
    if ('hello' in command || 'ismaster' in command || 'isMaster' in command) return HELLO
    commands.push(command)
    return run(command)
  }
  const server = createServer((socket) => {
    let waiting = Buffer.alloc(0)
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => { sockets.delete(socket) })
    socket.on('data', (chunk: Buffer) => {
      if (silent) return
      waiting = Buffer.concat([waiting, chunk])
      while (waiting.length >= 4 && waiting.length >= waiting.readInt32LE(0)) {
        const message = waiting.subarray(0, waiting.readInt32LE(0))
        waiting = waiting.subarray(message.length)
        socket.write(replyTo(message, answer(message)))
      }
    })
  })
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The stand-in has no port.')
  return {
    url: `mongodb://127.0.0.1:${address.port}/?directConnection=true`,
    commands,
    silence (value) { silent = value },
    async stop () {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => { server.close(resolve) })
    }
  }
}
