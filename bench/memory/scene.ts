/** The servers whose memory is measured: what is hashed with, and what a host can set. */
export type Engine = 'none' | 'argon2' | '@node-rs/argon2'

/** `env`: what the process is started with. `concurrency`: of `password`, its default being the number of cores. */
export interface Setting {
  name: string
  engine: Engine
  env?: Record<string, string>
  concurrency?: number
}

/** Nothing is set in these. */
export const AS_THEY_COME: readonly Setting[] = [
  { name: 'bare Fastify', engine: 'none' },
  { name: 'argon2Hasher()', engine: 'argon2' },
  { name: 'nodeRsHasher()', engine: '@node-rs/argon2' }
]

const SET: ReadonlyArray<Omit<Setting, 'engine'>> = [
  { name: 'MALLOC_ARENA_MAX=1', env: { MALLOC_ARENA_MAX: '1' } },
  { name: 'MALLOC_ARENA_MAX=2', env: { MALLOC_ARENA_MAX: '2' } },
  { name: 'MALLOC_MMAP_THRESHOLD_=1048576', env: { MALLOC_MMAP_THRESHOLD_: '1048576' } },
  { name: 'UV_THREADPOOL_SIZE=2', env: { UV_THREADPOOL_SIZE: '2' } },
  { name: 'password.concurrency: 1', concurrency: 1 }
]

export const SETTINGS: readonly Setting[] = AS_THEY_COME.flatMap((plain) =>
  plain.engine === 'none'
    ? [plain]
    : [plain, ...SET.map((set) => ({ ...set, engine: plain.engine, name: `${plain.name}, ${set.name}` }))]
)

export const PASSWORD = 'correct horse battery'
export const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** The arguments of the process. */
export interface Start {
  setting: Setting
  passwordHash: string
}
