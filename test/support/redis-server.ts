/**
 * Redis (or Valkey) servers of a test's own: one, a cluster, or a sentinel group, each on a free loopback port and in a
 * temporary directory. A server started here ends with `stop()`, and at the latest with this process.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Cluster, Redis } from 'ioredis'
import { type ClientOptions, HOST, type Placement, type RedisServer, serve, until } from './redis-process.ts'

export type { RedisServer } from './redis-process.ts'

type ClusterOptions = NonNullable<ConstructorParameters<typeof Cluster<'legacy'>>[1]>

export interface RedisCluster {
  /** Masters first, then the replica of each in the same order, where there are any. */
  nodes: RedisServer[]
  masters: RedisServer[]
  client(options?: ClusterOptions): Cluster
  stop(): Promise<void>
}

export interface RedisSentinel {
  master: RedisServer
  replica: RedisServer
  sentinels: RedisServer[]
  /** A client that asks the sentinels for the master. */
  client(options?: ClientOptions): Redis
  stop(): Promise<void>
}

export interface RedisServerOptions {
  /**
   * Default: false. Every write is the system's before it is answered, so that `kill` and `restart` lose nothing; the
   * machine's end would. There is no fsync, for which a busy disk may need longer than the library waits for Redis.
   */
  appendOnly?: boolean
  port?: number
  /** Default: a temporary one. Either is deleted by `stop`. */
  directory?: string
  /** More arguments of the server, such as `['--maxmemory', '1mb']`. */
  args?: string[]
}

export async function startRedis({
  appendOnly = false,
  port,
  directory,
  args = []
}: RedisServerOptions = {}): Promise<RedisServer> {
  return serve({
    port,
    directory,
    args: (ownPort, ownDirectory) => [
      '--port',
      String(ownPort),
      '--bind',
      HOST,
      '--dir',
      ownDirectory,
      '--save',
      '',
      '--loglevel',
      'warning',
      ...(appendOnly ? ['--appendonly', 'yes', '--appendfsync', 'no'] : ['--appendonly', 'no']),
      ...args
    ]
  })
}

async function stopAll(servers: ReadonlyArray<{ stop(): Promise<void> }>): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}

/**
 * Three masters with all slots, and a replica of each where wanted. Resolves when every node says `cluster_state:ok`.
 */
export async function startRedisCluster({ replicas = false }: { replicas?: boolean } = {}): Promise<RedisCluster> {
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-config-file',
    'nodes.conf',
    '--cluster-node-timeout',
    '1000',
    '--cluster-require-full-coverage',
    'no',
    '--cluster-replica-validity-factor',
    '0',
    '--repl-diskless-sync-delay',
    '0'
  ]
  const nodes: RedisServer[] = []
  // One after the other, or two could pick the same free port.
  for (let index = 0; index < (replicas ? 6 : 3); index++)
    nodes.push(
      await startRedis({ args }).catch(async (error: unknown) => {
        await stopAll(nodes)
        throw error
      })
    )
  const masters = nodes.slice(0, 3)
  const clients: Cluster[] = []
  const stop = async (): Promise<void> => {
    for (const client of clients) client.disconnect()
    await stopAll(nodes)
  }
  try {
    await formCluster(nodes)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    nodes,
    masters,
    client(options = {}) {
      const client = new Cluster(
        nodes.map(({ host, port }) => ({ host, port })),
        options
      )
      client.on('error', () => {})
      clients.push(client)
      return client
    },
    stop
  }
}

async function formCluster(nodes: readonly RedisServer[]): Promise<void> {
  const admins = nodes.map((node) => node.client())
  const all = <Result>(ask: (admin: Redis, index: number) => Promise<Result>): Promise<Result[]> =>
    Promise.all(admins.map(ask))
  const every = (what: string, holds: (admin: Redis, index: number) => Promise<boolean>): Promise<void> =>
    until(what, async () => (await all(holds)).every(Boolean))
  const slots = Array.from({ length: 16_384 }, (_, slot) => slot)
  const share = Math.ceil(slots.length / 3)
  await all((admin, index) => admin.cluster('SET-CONFIG-EPOCH', index + 1))
  await all(async (admin, index) => {
    if (index < 3) await admin.cluster('ADDSLOTS', ...slots.slice(index * share, (index + 1) * share))
  })
  await all((admin) => Promise.all(nodes.map(({ host, port }) => admin.cluster('MEET', host, port))))
  await every('a cluster of all nodes', async (admin) =>
    ((await admin.cluster('INFO')) as string).includes(`cluster_known_nodes:${nodes.length}\r`)
  )
  const ids = await all((admin) => admin.cluster('MYID'))
  for (const [index, id] of ids.slice(0, nodes.length - 3).entries()) await admins[index + 3]?.cluster('REPLICATE', id)
  await every('cluster_state:ok', async (admin) =>
    ((await admin.cluster('INFO')) as string).includes('cluster_state:ok')
  )
  await every(
    'a synchronous replica',
    async (admin, index) => index < 3 || (await admin.info('replication')).includes('master_link_status:up')
  )
  for (const admin of admins) admin.disconnect()
}

const SENTINEL_NAME = 'authority'

/**
 * A master, its replica in sync, and three sentinels that know both and each other. They see a dead master after a
 * second.
 */
export async function startRedisSentinel(): Promise<RedisSentinel> {
  const args = ['--repl-diskless-sync-delay', '0']
  const servers: RedisServer[] = []
  const clients: Redis[] = []
  const add = async (server: Promise<RedisServer>): Promise<RedisServer> => {
    servers.push(await server)
    return server
  }
  const stop = async (): Promise<void> => {
    for (const client of clients) client.disconnect()
    await stopAll(servers)
  }
  try {
    const master = await add(startRedis({ args }))
    const replica = await add(startRedis({ args: [...args, '--replicaof', `${HOST} ${master.port}`] }))
    const admin = replica.client()
    await until('a synchronous replica', async () =>
      (await admin.info('replication')).includes('master_link_status:up')
    )
    admin.disconnect()
    const sentinels: RedisServer[] = []
    for (let index = 0; index < 3; index++) sentinels.push(await add(serve({ args: sentinelArgs(master.port) })))
    await Promise.all(sentinels.map(knowsAll))
    return {
      master,
      replica,
      sentinels,
      client(options = {}) {
        const client = new Redis({
          sentinels: sentinels.map(({ host, port }) => ({ host, port })),
          name: SENTINEL_NAME,
          ...options
        })
        client.on('error', () => {})
        clients.push(client)
        return client
      },
      stop
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function sentinelArgs(masterPort: number): Placement['args'] {
  return (port, directory) => {
    const file = join(directory, 'sentinel.conf')
    writeFileSync(
      file,
      [
        `port ${port}`,
        `bind ${HOST}`,
        `dir ${directory}`,
        `sentinel monitor ${SENTINEL_NAME} ${HOST} ${masterPort} 2`,
        `sentinel down-after-milliseconds ${SENTINEL_NAME} 1000`,
        `sentinel failover-timeout ${SENTINEL_NAME} 3000`,
        ''
      ].join('\n')
    )
    return [file, '--sentinel']
  }
}

async function knowsAll(sentinel: RedisServer): Promise<void> {
  const admin = sentinel.client()
  await until('sentinels that know each other', async () => {
    const fields = (await admin.call('SENTINEL', 'MASTER', SENTINEL_NAME)) as string[]
    const field = (name: string): string | undefined => fields[fields.indexOf(name) + 1]
    return field('num-slaves') === '1' && field('num-other-sentinels') === '2' && field('flags') === 'master'
  })
  admin.disconnect()
}
