import type { RedisCluster } from '../../support/redis-server.ts'

/** Splits the keys of a slot between two nodes. `finish` moves the rest to the new one. */
export async function halfMoved(
  cluster: RedisCluster,
  key: string
): Promise<{ arrived(): Promise<string[]>; finish(): Promise<void> }> {
  const admins = cluster.masters.map((master) => master.client())
  const slot = Number(await admins[0]?.cluster('KEYSLOT', key))
  const counts = await Promise.all(admins.map(async (admin) => await admin.cluster('COUNTKEYSINSLOT', slot)))
  const from = counts.findIndex((count) => count > 0)
  const to = (from + 1) % 3
  const [source, target, node] = [admins[from], admins[to], cluster.masters[to]]
  if (source === undefined || target === undefined || node === undefined) throw new Error('no node has the slot')
  await target.cluster('SETSLOT', slot, 'IMPORTING', await source.cluster('MYID'))
  await source.cluster('SETSLOT', slot, 'MIGRATING', await target.cluster('MYID'))
  const move = async (count: number): Promise<void> => {
    const keys = (await source.cluster('GETKEYSINSLOT', slot, count)) as string[]
    if (keys.length > 0) await source.call('MIGRATE', node.host, node.port, '', 0, 5000, 'KEYS', ...keys)
  }
  await move(Math.floor((counts[from] ?? 0) / 2))
  return {
    arrived: async () => ((await target.cluster('GETKEYSINSLOT', slot, 100)) as string[]).toSorted(),
    async finish() {
      await move(100)
      const id = await target.cluster('MYID')
      await target.cluster('SETSLOT', slot, 'NODE', id)
      for (const admin of admins) await admin.cluster('SETSLOT', slot, 'NODE', id)
      for (const admin of admins) admin.disconnect()
    }
  }
}
