/** The words of docs/performance.md around the tables of each benchmark, in the order of the page. */
export const SECTIONS: Record<string, { heading: string; before: string; after: string }> = {
  'protected-route': {
    heading: 'A protected route',
    before:
      'What `app.authenticate` adds to a route of the host, for a token that this process has ' +
      'seen or made. Tokens are ES256; the bare routes get the same bytes. A hit is one look ' +
      'into a map, and never says yes by itself: expiry, revocation and whether the key is still ' +
      'published are asked every time (`test/unit/tokens/access-tokens.test.ts`).',
    after:
      'The cache holds 50,000 tokens, which takes 55 MB when it is full. Beyond that, the oldest are verified again.'
  },
  'unseen-token': {
    heading: 'A token never seen',
    before:
      'The price of a token that another instance has made, once in its life: a signature is ' +
      'verified, and that is nearly all. The first row does that by hand, with one call of ' +
      '`node:crypto` and the checks of `iss`, `aud` and `exp`.',
    after: 'A token that this process has made never takes this way.'
  },
  'sign-in': {
    heading: 'Signing in',
    before:
      'One argon2id hash (19 MiB, two passes) is nearly all of it. Eight clients sign in again ' +
      'and again; the first row of either package does nothing but verify, on the default pool ' +
      'of four threads. Two hashes at once on two cores do as much as four, which is why the ' +
      'queue runs no more, and take half the memory.',
    after: 'Which package, and what else to know: [password hashing](guides/password-hashing.md).'
  },
  flood: {
    heading: 'A flood of sign-ins',
    before:
      'Two hundred clients that try again the moment they are refused, for seven seconds, beside ' +
      'a host that goes on serving a page of its own. The clients run on the same cores, so they ' +
      'take their part of them.',
    after:
      "With `argon2` nothing can be told to run last, so the host's page waits for a core now " +
      'and then. With `@node-rs/argon2` on Linux the hashes run in threads of the lowest ' +
      'priority. The two hundred requests that arrive at once in the first moment are in the ' +
      'figures.'
  },
  memory: {
    heading: 'Memory',
    before:
      'What a process holds before, during and after sign-ins, with either hasher, as they come ' +
      'and with one thing set. Idle has seen the first hash, which the plugin makes at its ' +
      'start; with `nodeRsHasher()`, the thread that made it is still there.',
    after:
      "`argon2Hasher()` keeps what it took: each of the four threads of libuv's pool gets an " +
      "arena of glibc's allocator, and each arena keeps the 19 MiB of its last hash. One hash at " +
      'a time does not help, since the threads take turns. Where memory is short, start the ' +
      'process with `MALLOC_ARENA_MAX=1`: 41 MiB less at the peak, all of it given back, at the ' +
      'same CPU (27.5 ms a sign-in beside 27.7, in five rounds of these two alone). ' +
      '`MALLOC_ARENA_MAX=2` still keeps 44 MiB. `UV_THREADPOOL_SIZE=2` takes as much off the ' +
      'peak, but keeps most of it, and files and DNS share those two threads. ' +
      '`MALLOC_MMAP_THRESHOLD_=1048576` gives memory back at once, for two fifths more CPU. ' +
      '`nodeRsHasher()` needs none of them: its package has an allocator of its own, its threads ' +
      'end after half a minute without work, and it takes half the CPU. Only ' +
      '`password.concurrency: 1` lowers its peak, and then one core does all sign-ins. The ' +
      "`MALLOC_` variables are glibc's: musl (Alpine Linux), macOS and Windows don't read them."
  },
  refresh: {
    heading: 'Refresh and rotation',
    before:
      'A new access token for a refresh token, with the limits that are on by default, and with ' +
      'a new refresh token at the token endpoint. The echo gets and gives the same bytes and ' +
      'does nothing else. oidc-provider and better-auth do the nearest that they have.',
    after:
      'The goals of 1.8 and 4 times the echo are missed. An echo that makes an HS256 token with ' +
      '@fastify/jwt takes 1.7 times one that does not, so that alone is the first of them. Until ' +
      '0.1.0, when these figures were taken, counting the attempt with @fastify/rate-limit was ' +
      'as much again; a good refresh is asked of no limit any more. The rest is spread over the ' +
      "store, the user, the event, the headers and Fastify's hooks, none of them a tenth of the " +
      'whole. With ES256 the signature comes on top. On Redis each is one command, and refreshes ' +
      'that arrive together go together.'
  },
  limits: {
    heading: 'Rate limits',
    before:
      'A bare route with three limits on each request: address, account, and both together, for ' +
      'five thousand people. Ours decides over the three in one step, so that no refusal by one ' +
      'uses up another, and in exact sliding windows; the others count in fixed ones, three ' +
      'times.',
    after:
      'In memory, passing through @fastify/rate-limit is the greater part of ours. On Redis all ' +
      'three are one command, and the commands of requests that arrive together go in one write.'
  },
  refusals: {
    heading: 'Refusals',
    before:
      'What strangers can make the server say at will, beside a bare route that answers the same ' +
      'bytes with the same status.',
    after:
      'A refusal of the token endpoint has been through the parser, its schema and the limits, ' +
      'which the bare route has not.'
  },
  'round-trips': {
    heading: 'Round trips to Redis',
    before: 'Counted at the socket, where one Redis has state and counters.',
    after: 'With fifty requests at once a write carries many of them.'
  },
  growth: {
    heading: 'Growth',
    before:
      'What operations cost with a thousand, a hundred thousand and a million records. ' +
      '[Sizing](guides/state-sizing.md) says what that makes for your users.',
    after:
      'Nothing here searches or scans: what grows is how often a record is not in the ' +
      "processor's caches. In memory a bare look-up is a microsecond of which the caches are the " +
      'greatest part, so there it shows; in a whole request it does not.'
  },
  start: {
    heading: 'Start',
    before:
      'From the start of a process to `ready()`. The plugin has many routes, so bare Fastify ' +
      'with as many (HEAD among them) stands beside it.',
    after:
      'Reading modules is most of it: TypeBox, @fastify/jwt and @fastify/rate-limit before our ' +
      'own. Neither hasher is loaded before its first use, and no Redis or PostgreSQL client at ' +
      'all: they come from the host.'
  },
  mint: {
    heading: 'Opaque tokens',
    before: 'A refresh token, a code or a cookie: 256 random bits and the digest that is kept of them.',
    after: "Random bytes come from a pool of the system's generator, and are wiped from it when they are used."
  }
}
