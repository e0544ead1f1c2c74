/**
 * Speaks the part of MongoDB's wire protocol that a user store needs, so that the real driver runs without a server. It
 * supports equality filters and the operators of the guide. A missing field equals `null`, unique indexes are enforced,
 * also over array elements, and each command is one step. It shows the driver's commands and how a store handles the
 * answers, not how MongoDB itself behaves.
 */
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { BSON } from 'mongodb'
import type { Document } from 'mongodb'

const REPLY = 1
const QUERY = 2004
const MESSAGE = 2013
const HELLO = {
  helloOk: true,
  isWritablePrimary: true,
  ismaster: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  minWireVersion: 0,
  maxWireVersion: 25,
  readOnly: false,
  ok: 1
}

export interface MongoStandIn {
  url: string
  /** Every command but those of the connection itself. */
  commands: Document[]
  /** While true, reads commands and answers nothing. */
  silence(silent: boolean): void
  stop(): Promise<void>
}

interface UniqueIndex {
  name: string
  fields: string[]
}

/** A command's name and documents, whichever way they were sent. */
function commandOf(message: Buffer): Document {
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
      for (let from = nameEnd + 1; from < at + size; from += message.readInt32LE(from))
        documents.push(BSON.deserialize(message.subarray(from, from + message.readInt32LE(from))))
      command[message.toString('utf8', at + 4, nameEnd)] = documents
    }
    at += size
  }
  return command
}

function replyTo(message: Buffer, answer: Document): Buffer {
  const isQuery = message.readInt32LE(12) === QUERY
  const head = Buffer.alloc(isQuery ? 36 : 21)
  const body = BSON.serialize(answer)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(message.readInt32LE(4), 8)
  head.writeInt32LE(isQuery ? REPLY : MESSAGE, 12)
  if (isQuery) head.writeInt32LE(1, 32)
  return Buffer.concat([head, body])
}

const isDocument = (value: unknown): value is Document => typeof value === 'object' && value !== null

/** The value at a path. A number in the path is an array index. */
const valueAt = (document: unknown, path: string): unknown =>
  path.split('.').reduce((value: unknown, step) => (isDocument(value) ? value[step] : undefined), document)

function holds(value: unknown, condition: unknown): boolean {
  if (!isDocument(condition)) return (value ?? null) === condition
  if ('$exists' in condition) return (value !== undefined) === condition['$exists']
  if ('$ne' in condition) return !holds(value, condition['$ne'])
  if ('$elemMatch' in condition)
    return Array.isArray(value) && value.some((one) => matches(one as Document, condition['$elemMatch'] as Document))
  throw new Error(`The stand-in does not know ${JSON.stringify(condition)}.`)
}

function matches(document: Document, filter: Document): boolean {
  return Object.entries(filter).every(([field, condition]) => {
    if (field === '$or') return (condition as Document[]).some((one) => matches(document, one))
    if (field === '$nor') return !(condition as Document[]).some((one) => matches(document, one))
    return holds(valueAt(document, field), condition)
  })
}

/** The keys that a document has in an index: one, or one for each element of an array that the fields lead into. */
function keysOf(document: Document, { fields }: UniqueIndex): string[] {
  const [array = '', inArray] = fields[0]?.split('.') ?? []
  const rows = inArray === undefined ? [document] : ((document[array] ?? []) as Document[])
  const keys = rows.map((row) =>
    fields.map((field) => row[inArray === undefined ? field : field.slice(array.length + 1)] as unknown)
  )
  return keys.filter((key) => key.every((value) => value !== undefined)).map((key) => JSON.stringify(key))
}

/** The document after an update. */
function changed(
  document: Document,
  filter: Document,
  { $set = {}, $unset = {}, $push = {}, $pull = {} }: Document
): Document {
  const next = structuredClone(document)
  for (const [path, value] of Object.entries($set as Document)) {
    const [array = '', place, field = ''] = path.split('.')
    if (place === undefined) next[path] = value
    // The element that the filter found.
    else
      (next[array] as Document[])
        .filter((one) => matches(one, (filter[array] as Document)['$elemMatch'] as Document))
        .slice(0, 1)
        .forEach((one) => {
          one[field] = value
        })
  }
  for (const field of Object.keys($unset as Document)) delete next[field]
  for (const [field, value] of Object.entries($push as Document))
    next[field] = [...((next[field] ?? []) as unknown[]), value]
  for (const [field, one] of Object.entries($pull as Document))
    next[field] = (next[field] as Document[]).filter((element) => !matches(element, one as Document))
  return next
}

function database(): (command: Document) => Document {
  let rows: Document[] = []
  const indexes: UniqueIndex[] = [{ name: '_id_', fields: ['_id'] }]

  const violation = (document: Document, former?: Document): Document | undefined => {
    const broken = indexes.find((index) => {
      const taken = new Set(rows.filter((row) => row !== former).flatMap((row) => keysOf(row, index)))
      return keysOf(document, index).some((key) => taken.has(key))
    })
    if (broken === undefined) return undefined
    return {
      code: 11000,
      errmsg: `E11000 duplicate key error index: ${broken.name}`,
      keyPattern: Object.fromEntries(broken.fields.map((field) => [field, 1])),
      keyValue: Object.fromEntries(broken.fields.map((field) => [field, document[field]]))
    }
  }
  const insert = (document: Document): Document => {
    const error = violation(document)
    if (error !== undefined) return { n: 0, writeErrors: [{ index: 0, ...error }], ok: 1 }
    rows.push(document)
    return { n: 1, ok: 1 }
  }
  const update = ({ q, u }: Document): Document => {
    const row = rows.find((candidate) => matches(candidate, q as Document))
    if (row === undefined) return { n: 0, nModified: 0, ok: 1 }
    const next = changed(row, q as Document, u as Document)
    const error = violation(next, row)
    if (error !== undefined) return { n: 0, nModified: 0, writeErrors: [{ index: 0, ...error }], ok: 1 }
    rows = rows.map((other) => (other === row ? next : other))
    return { n: 1, nModified: isDeepStrictEqual(row, next) ? 0 : 1, ok: 1 }
  }
  const findAndModify = ({ query, update: operators }: Document): Document => {
    const row = rows.find((candidate) => matches(candidate, query as Document))
    if (row === undefined) return { lastErrorObject: { n: 0, updatedExisting: false }, value: null, ok: 1 }
    const value = changed(row, query as Document, operators as Document)
    const error = violation(value, row)
    if (error !== undefined) return { ok: 0, codeName: 'DuplicateKey', ...error }
    rows = rows.map((other) => (other === row ? value : other))
    return { lastErrorObject: { n: 1, updatedExisting: true }, value, ok: 1 }
  }
  const first = (list: unknown): Document => (list as [Document])[0]

  return (command) => {
    // The command has a field named `update`.
    if ('findAndModify' in command) return findAndModify(command)
    if ('insert' in command) return insert(first(command['documents']))
    if ('update' in command) return update(first(command['updates']))
    if ('find' in command)
      return {
        cursor: {
          id: BSON.Long.ZERO,
          ns: 'db.people',
          firstBatch: rows.filter((row) => matches(row, command['filter'] as Document)).slice(0, 1)
        },
        ok: 1
      }
    if ('createIndexes' in command) {
      const { name, key } = first(command['indexes']) as { name: string; key: Document }
      indexes.push({ name, fields: Object.keys(key) })
      return { ok: 1 }
    }
    if ('delete' in command) {
      const { q } = first(command['deletes'])
      const kept = rows.filter((row) => !matches(row, q as Document))
      const n = rows.length - kept.length
      rows = kept
      return { n, ok: 1 }
    }
    return 'endSessions' in command || 'ping' in command
      ? { ok: 1 }
      : { ok: 0, code: 59, codeName: 'CommandNotFound', errmsg: 'no such command' }
  }
}

export async function startMongoStandIn(): Promise<MongoStandIn> {
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
    socket.on('close', () => {
      sockets.delete(socket)
    })
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
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The stand-in has no port.')
  return {
    url: `mongodb://127.0.0.1:${address.port}/?directConnection=true`,
    commands,
    silence(value) {
      silent = value
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    }
  }
}
