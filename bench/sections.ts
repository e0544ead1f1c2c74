/** The words of docs/performance.md around the tables of each benchmark, in the order of the page. */
export const SECTIONS: Record<string, { heading: string, before: string, after: string }> = {
  'protected-route': {
    heading: 'A protected route',
    before: 'What `app.authenticate` adds to a route of the host, for a token that this process has seen or made. Tokens are ES256; the bare routes get the same bytes. A hit is one look into a map, and never says yes by itself: expiry, revocation and whether the key is still published are asked every time (`test/unit/tokens/access-tokens.test.ts`).',
    after: 'The cache holds 50,000 tokens, which takes 55 MB when it is full. Beyond that, the oldest are verified again.'
  },
  'unseen-token': {
    heading: 'A token never seen',
    before: 'The price of a token that another instance has made, once in its life: a signature is verified, and that is nearly all. The first row does that by hand, with one call of `node:crypto` and the checks of `iss`, `aud` and `exp`.',
    after: 'A token that this process has made never takes this way.'
  },
  'sign-in': {
    heading: 'Signing in',
    before: 'One argon2id hash (19 MiB, two passes) is nearly all of it. Eight clients sign in again and again; the first row of either package does nothing but verify, on the default pool of four threads. Two hashes at once on two cores do as much as four, which is why the queue runs no more, and take half the memory.',
    after: 'Which package, and what else to know: [password hashing](guides/password-hashing.md).'
  },
  flood: {
    heading: 'A flood of sign-ins',
    before: 'Two hundred clients that try again the moment they are refused, for seven seconds, beside a host that goes on serving a page of its own. The clients run on the same cores, so they take their part of them.',
    after: 'With `argon2` nothing can be told to run last, so the host\'s page waits for a core now and then. With `@node-rs/argon2` on Linux the hashes run in threads of the lowest priority. The two hundred requests that arrive at once in the first moment are in the figures.'
  },
  refresh: {
    heading: 'Refresh and rotation',
    before: 'A new access token for a refresh token, with the limits that are on by default, and with a new refresh token at the token endpoint. The echo gets and gives the same bytes and does nothing else. oidc-provider and better-auth do the nearest that they have.',
    after: 'The goals of 1.8 and 4 times the echo are missed. An echo that makes an HS256 token with @fastify/jwt takes 1.7 times one that does not, so that alone is the first of them; counting the attempt with @fastify/rate-limit is as much again. The rest is spread over the store, the user, the event, the headers and Fastify\'s hooks, none of them a tenth of the whole. With ES256 the signature comes on top. On Redis each is one command, and refreshes that arrive together go together.'
  },
  limits: {
    heading: 'Rate limits',
    before: 'A bare route with three limits on each request: address, account, and both together, for five thousand people. Ours decides over the three in one step, so that no refusal by one uses up another, and in exact sliding windows; the others count in fixed ones, three times.',
    after: 'In memory, passing through @fastify/rate-limit is the greater part of ours. On Redis all three are one command, and requests that arrive together share it, so that it takes a fifth to a quarter less than the others; what remains is ioredis and the reply.'
  },
  refusals: {
    heading: 'Refusals',
    before: 'What strangers can make the server say at will, beside a bare route that answers the same bytes with the same status.',
    after: 'A refusal of the token endpoint has been through the parser, its schema and the limits, which the bare route has not.'
  },
  'round-trips': {
    heading: 'Round trips to Redis',
    before: 'Counted by the server itself, where one Redis has state and counters.',
    after: 'With fifty requests at once a command carries many of them.'
  },
  growth: {
    heading: 'Growth',
    before: 'What operations cost with a thousand, a hundred thousand and a million records. [Sizing](guides/state-sizing.md) says what that makes for your users.',
    after: 'Nothing here searches or scans: what grows is how often a record is not in the processor\'s caches. In memory a bare look-up is a microsecond of which the caches are the greatest part, so there it shows; in a whole request it does not.'
  },
  start: {
    heading: 'Start',
    before: 'From the start of a process to `ready()`. The plugin has some thirty routes, so bare Fastify with as many stands beside it.',
    after: 'Reading modules is most of it: TypeBox, @fastify/jwt and @fastify/rate-limit before our own. Neither hasher is loaded before its first use, and no Redis or PostgreSQL client at all: they come from the host.'
  },
  mint: {
    heading: 'Opaque tokens',
    before: 'A refresh token, a code or a cookie: 256 random bits and the digest that is kept of them.',
    after: 'Random bytes come from a pool of the system\'s generator, and are wiped from it when they are used.'
  }
}
