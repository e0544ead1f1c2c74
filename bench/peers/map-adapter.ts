/** An adapter of oidc-provider. Its own in-memory adapter holds a thousand entries and would lose grants under rotation. */
export class MapAdapter {
  static records = new Map<string, unknown>()
  readonly kind: string
  constructor(kind: string) {
    this.kind = kind
  }

  async upsert(id: string, payload: unknown): Promise<void> {
    MapAdapter.records.set(`${this.kind}:${id}`, payload)
  }
  async find(id: string): Promise<unknown> {
    return MapAdapter.records.get(`${this.kind}:${id}`)
  }
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async consume(id: string): Promise<void> {
    ;(MapAdapter.records.get(`${this.kind}:${id}`) as { consumed?: number }).consumed = Math.floor(Date.now() / 1000)
  }
  async destroy(id: string): Promise<void> {
    MapAdapter.records.delete(`${this.kind}:${id}`)
  }
  async revokeByGrantId(): Promise<void> {}
}
