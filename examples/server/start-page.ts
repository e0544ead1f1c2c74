import type { FastifyInstance, FastifyReply } from 'fastify'
import type { User, UserStore } from 'fastify-authority'
import { document } from './document.ts'
import { type Doc } from './docs.ts'
import { html, type Html } from './html.ts'

/** The start page's facts about this server. */
export interface Facts {
  issuer: string
  /** The place of users and state. */
  storage: string
  /** The target of messages. */
  messages: string
  /** True if messages are on the page `/dev/mails`. */
  capturesMails: boolean
  /** The username of the administrator. */
  admin: string | undefined
  /** Whom the limits per address leave alone. */
  limits: string
}

/** A page of the host's own that knows who is signed in in this browser. It needs no JavaScript. */
export async function startPage(
  app: FastifyInstance,
  { users, facts, docs, demos }: { users: UserStore; facts: Facts; docs: readonly Doc[]; demos: boolean }
): Promise<void> {
  app.get('/', { onRequest: [app.authority.readSession] }, async (request, reply): Promise<FastifyReply> => {
    const session = request.authSession
    const user = session === null ? null : await users.findById(session.sub)
    // The signed-in user is for this browser alone.
    reply.header('cache-control', 'no-store')
    return reply.type('text/html; charset=utf-8').send(
      document({
        title: 'fastify-authority example',
        person: user === null ? WAYS_IN : wayOut(user),
        ...(demos ? { here: '/' } : {}),
        body: html`<main class="start">
<div class="front">
${user === null ? nobody(facts) : somebody(user, { since: session?.authenticatedAt, demos, admin: facts.admin })}
${LEAST}
</div>
${demos ? demosOf(facts) : ''}
<div class="columns">
${running(facts)}
${byHand(facts)}
</div>
${docs.length === 0 ? '' : reading(docs)}
</main>`
      })
    )
  })
}

const WAYS_IN = html`<nav aria-label="Sign in or up"><a href="/auth/login?return_to=/">Sign in</a><a class="button small" href="/auth/signup?return_to=/">Sign up</a></nav>`

function wayOut({ username }: User): Html {
  return html`<nav aria-label="Your account"><a class="person" href="/auth/account" aria-label="Your account, ${username}"><span class="avatar" aria-hidden="true">${username.slice(0, 1).toUpperCase()}</span></a><a href="/auth/logout">Sign out</a></nav>`
}

function nobody({ messages, capturesMails }: Facts): Html {
  return html`<section class="hero">
<p class="state"><span class="dot"></span><span>Running. Nobody is signed in in this browser.</span></p>
<h1>Your auth server is up</h1>
<p class="lead">Sign-up, sign-in, sessions, tokens and OpenID Connect, inside one Fastify app. Create an account, then try the demo app with it.</p>
<p class="actions"><a class="button" href="/auth/signup?return_to=/">Create an account</a><a class="button quiet" href="/auth/login?return_to=/">Sign in</a></p>
<p class="fine">Mails go to ${capturesMails ? html`the page <a href="/dev/mails">Mails</a>` : messages}. To see one, <a href="/auth/forgot-password?return_to=/">forget your password</a>.</p>
</section>`
}

function somebody(
  { username, emailVerified }: User,
  { since, demos, admin }: { since: Date | undefined; demos: boolean; admin: string | undefined }
): Html {
  return html`<section class="hero">
<p class="state"><span class="dot"></span><span>Running. This page reads the browser session, by <code>app.authority.readSession</code>.</span></p>
<h1>Hello again</h1>
<p class="lead">Signed in as <strong>${username}</strong>${since === undefined ? '' : html`, since <time datetime="${since.toISOString()}">${since.toISOString().slice(0, 16).replace('T', ' ')} UTC</time>`}.${demos ? ' No app has to ask for the password now: try one.' : ''}</p>
<p class="actions">${demos ? html`<a class="button" href="/app">Open the demo app</a>` : ''}<a class="button quiet" href="/auth/account">Your account</a>${emailVerified === true && username === admin ? html`<a class="button quiet" href="/auth/admin">Administration</a>` : ''}</p>
</section>`
}

const LEAST = html`<figure class="code">
<figcaption>A whole auth server</figcaption>
<pre tabindex="0" aria-label="Program"><code><i>import</i> Fastify <i>from</i> <b>'fastify'</b>
<i>import</i> authPlugin, { memoryUserStore }
  <i>from</i> <b>'fastify-authority'</b>

<i>const</i> app = Fastify()
<i>await</i> app.register(authPlugin, {
  issuer: <b>'http://localhost:3000'</b>,
  users: memoryUserStore()
})
app.get(<b>'/me'</b>, { onRequest: [app.authenticate] },
  <i>async</i> (request) => request.auth)
<i>await</i> app.listen({ port: 3000 })</code></pre>
</figure>`

const demosOf = ({ capturesMails }: Facts): Html => html`<section aria-labelledby="demos">
<h2 id="demos">Try it</h2>
<ul class="tiles">
<li><a href="/app"><svg viewBox="0 0 24 24" aria-hidden="true"><rect x="3" y="4" width="18" height="16" rx="3"/><path d="M3 9h18M6.5 6.5h.01M9.5 6.5h.01"/></svg><strong>Demo app</strong><span>A browser app of your own. It signs in by redirect, reads the profile, calls an API, refreshes, and shows every step.</span></a></li>
<li><a href="/third-party"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 3l8 4.3v9.4L12 21l-8-4.3V7.3zM4 7.3l8 4.4 8-4.4M12 11.7V21"/></svg><strong>Third-party demo</strong><span>A site of another company. It asks people for access first. It needs no JavaScript.</span></a></li>
<li><a href="/auth/account"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="8" r="4"/><path d="M4.5 20.5a7.5 7.5 0 0 1 15 0"/></svg><strong>Your account</strong><span>The hosted page for profile, email, password, devices and apps with access.</span></a></li>
${capturesMails ? MAILS : ''}</ul>
</section>`

const MAILS = html`<li><a href="/dev/mails"><svg viewBox="0 0 24 24" aria-hidden="true"><rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="M3.5 7l8.5 6.5L20.5 7"/></svg><strong>Mails</strong><span>Every mail of this server as its reader would see it: confirmations, codes and warnings.</span></a></li>
`

function running({ issuer, storage, messages, limits }: Facts): Html {
  return html`<section class="card" aria-labelledby="running">
<h2 id="running">What is running</h2>
<dl class="facts">
<div><dt>Issuer</dt><dd><code>${issuer}</code></dd></div>
<div><dt>Users and state</dt><dd>${storage}</dd></div>
<div><dt>Messages</dt><dd>go to ${messages}</dd></div>
<div><dt>Rate limits</dt><dd>${limits}</dd></div>
<div><dt>For programs</dt><dd class="links"><a href="/.well-known/openid-configuration">OpenID Connect metadata</a><a href="/.well-known/oauth-authorization-server">OAuth metadata</a><a href="/.well-known/jwks.json">Public keys</a><a href="/ready">Readiness</a></dd></div>
</dl>
</section>`
}

function byHand({ issuer }: Facts): Html {
  return html`<section class="card" aria-labelledby="by-hand">
<h2 id="by-hand">From the command line</h2>
<p class="fine">An account and its tokens, without a browser.</p>
<pre class="commands" tabindex="0" aria-label="Commands"><code>curl -s ${issuer}/auth/register \\
  -H 'content-type: application/json' \\
  -d '{"username":"ann@example.com",
       "password":"seven green boats at dawn"}'

TOKENS=$(curl -s ${issuer}/auth/token \\
  -d grant_type=password -d username=ann@example.com \\
  --data-urlencode 'password=seven green boats at dawn')

curl -s ${issuer}/me \\
  -H "authorization: Bearer $(node -p "($TOKENS).access_token")"</code></pre>
</section>`
}

function reading(docs: readonly Doc[]): Html {
  return html`<section aria-labelledby="docs">
<h2 id="docs">Read on</h2>
<p class="fine">As plain text, from the folder <code>docs</code> of this copy.</p>
<ul class="docs">
${docs.map(({ url, title, about }) => html`<li><a href="${url}">${title}</a><span>${about}</span></li>`)}
</ul>
</section>`
}
