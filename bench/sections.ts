/** The text of docs/performance.md around the tables of each benchmark, in the order of the page. */
export const SECTIONS: Record<string, { heading: string; before: string; after: string }> = {
  'protected-route': {
    heading: 'A protected route',
    before:
      'The cost of `app.authenticate` on a route, for a token that this process has verified or issued before. ' +
      'Tokens are ES256. The bare routes receive the same bytes. A cached token costs one map lookup. Its expiry, ' +
      'revocation and signing key are still checked on every request.',
    after: 'The cache holds 50,000 tokens and takes 55 MB when it is full. The oldest are then evicted.'
  },
  'unseen-token': {
    heading: 'The first request with a token',
    before:
      'The cost of a token that another instance issued, on its first request here. Nearly all of it is verifying ' +
      'the signature. The first row calls `node:crypto` directly and checks `iss`, `aud` and `exp`.',
    after: 'Tokens that this process has just issued skip this step.'
  },
  'sign-in': {
    heading: 'Signing in',
    before:
      'Nearly all of a sign-in is one argon2id hash (19 MiB, two passes). Eight clients sign in repeatedly. The ' +
      'first row of either package only verifies a hash, on the default pool of four threads. On two cores, two ' +
      'hashes at once give the same throughput as four with half the memory, so the queue runs two. Before the ' +
      'first round our servers, and only ours, answer sign-ins without a hash for four seconds: at a hundred in a ' +
      'second the compiler would be at work for minutes.',
    after: '[Password hashing](guides/password-hashing.md) helps to choose a package.'
  },
  flood: {
    heading: 'A flood of sign-ins',
    before:
      'For seven seconds, two hundred clients sign in and retry immediately when they are refused, while the host ' +
      'serves a page of its own. The clients run on the same cores and take a part of their time.',
    after:
      "The hashes of `argon2` run at normal priority, so the host's page sometimes waits for a core. With " +
      '`@node-rs/argon2` on Linux, hashes run in threads of the lowest priority. The figures include the two ' +
      'hundred requests that arrive at once at the start.'
  },
  memory: {
    heading: 'Memory',
    before:
      'The memory of a process before, during and after sign-ins, with either hasher, with defaults and with one ' +
      'setting changed. Idle is before the first sign-in.',
    after:
      "`argon2Hasher()` keeps its memory: each of the four threads of libuv's pool gets an arena of glibc's " +
      'allocator, and each arena keeps the 19 MiB of its last hash. Hashing one at a time does not help, because ' +
      'the threads take turns. If memory is short, start the process with `MALLOC_ARENA_MAX=1`: the peak is 41 MiB ' +
      'lower, all of it is given back, and the CPU per sign-in stays the same (27.5 and 27.7 ms, in five rounds of ' +
      'these two alone). `MALLOC_ARENA_MAX=2` still keeps 44 MiB. `UV_THREADPOOL_SIZE=2` lowers the peak as much, ' +
      'but keeps most of the memory, and files and DNS share those two threads. ' +
      '`MALLOC_MMAP_THRESHOLD_=1048576` gives memory back immediately, but takes two fifths more CPU. ' +
      '`nodeRsHasher()` needs none of these settings: its package has its own allocator, its threads end after ' +
      'half a minute without work, and it takes half the CPU. Only `password.concurrency: 1` lowers its peak, but ' +
      'then one core does all sign-ins. The `MALLOC_` variables only work with glibc, not with musl (Alpine ' +
      'Linux), macOS or Windows.'
  },
  refresh: {
    heading: 'Refresh, userinfo and introspection',
    before:
      'Refresh: a new access token for a refresh token, with the default limits. Rotation: the token endpoint, ' +
      'which also issues a new refresh token. The echo receives and returns the same bytes and does nothing else. ' +
      'oidc-provider and better-auth do the closest equivalent.',
    after:
      'A successful refresh counts against no limit. ES256 adds the signature. Requests that arrive together share ' +
      'their work. Redis gets all commands in one write. PostgreSQL gets one statement for all reads and one for all ' +
      'replacements. SQLite gets one transaction for all commits. Rows with PostgreSQL include the CPU of its server; oidc-provider keeps everything in memory.'
  },
  limits: {
    heading: 'Rate limits',
    before:
      'A bare route with three limits on each request: address, account, and both together, for five thousand ' +
      'people. Ours decides over all three in one step, so that a refusal by one limit does not count against ' +
      'another, and uses exact sliding windows. The others use fixed windows and count three times.',
    after:
      'In memory, most of the time of ours is spent in @fastify/rate-limit. On Redis all three limits are one ' +
      'command, and the commands of requests that arrive together are sent in one write. The row of the clock asks ' +
      'Redis for the time alone.'
  },
  refusals: {
    heading: 'Refusals',
    before:
      'The cost of refused requests, which strangers can send at will, compared with a bare route that answers ' +
      'with the same bytes and status.',
    after:
      'A request that the token endpoint refuses has passed the body parser, the schema and the limits. The bare ' +
      'route has none of them.'
  },
  'round-trips': {
    heading: 'Round trips',
    before:
      'Counted at the socket, with one Redis for state and counters. Then the way of a person, with nothing but the ' +
      'state: a sign-in, its code, and ten rotations.',
    after: 'With fifty requests at once, one write contains the commands of many requests.'
  },
  growth: {
    heading: 'Growth',
    before:
      'The cost of operations with a thousand, a hundred thousand and a million records. ' +
      '[Sizing](guides/state-sizing.md) calculates the size for your number of users.',
    after:
      'No operation searches or scans. With more records, a record is more often missing from the caches of the ' +
      'processor. In memory a lookup takes about a microsecond, so cache misses show. In a whole request they do ' +
      'not.'
  },
  start: {
    heading: 'Start',
    before:
      'From the start of a process to `ready()`. The plugin has many routes, so the table also has bare Fastify ' +
      'with the same number of routes, including HEAD.',
    after:
      'Most of the time is spent loading modules: Fastify with its routes, then our own. @fastify/jwt and the hasher ' +
      'are loaded after `ready()`, @fastify/rate-limit with the first limited request. Clients of Redis and ' +
      'PostgreSQL come from the host.'
  },
  dpop: {
    heading: 'Bound tokens',
    before:
      'The cost of a guard for a token that is bound to a key, with a new proof in each request, next to one call of ' +
      '`verify` of `node:crypto`. The proofs are recorded in memory.',
    after: 'A proof costs its signature, two hashes, and the record of its use. A shared state adds one round trip.'
  },
  mint: {
    heading: 'Opaque tokens',
    before: 'Making a refresh token, a code or a cookie: 256 random bits and the digest that the store keeps.',
    after: "Random bytes come from a pool of the system's generator, and are wiped from the pool on use."
  }
}
