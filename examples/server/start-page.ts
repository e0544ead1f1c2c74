import type { FastifyInstance, FastifyReply } from 'fastify'
import type { User, UserStore } from 'fastify-authority'
import { document, html, type Html } from './html.ts'

/** A page of the host's own that knows who is signed in in this browser. It needs no JavaScript. */
export async function startPage (app: FastifyInstance, { users, messages }: { users: UserStore, messages: string }): Promise<void> {
  app.get('/', { onRequest: [app.authority.readSession] }, async (request, reply): Promise<FastifyReply> => {
    const session = request.authSession
    const user = session === null ? null : await users.findById(session.sub)
    // Who is signed in is for this browser alone.
    reply.header('cache-control', 'no-store')
    return reply.type('text/html; charset=utf-8').send(document({ title: 'fastify-authority example', body: bodyOf(user, session?.authenticatedAt, messages) }))
  })
}

function bodyOf (user: User | null, since: Date | undefined, messages: string): Html {
  return html`<main>
<h1>fastify-authority example</h1>
${user === null ? signedOut(messages) : signedIn(user, since)}
<h2>Two clients to sign in to</h2>
<ul>
<li><a href="/app">Example app</a>: a browser app of the host's own. It needs JavaScript.</li>
<li><a href="/third-party">Third-party demo</a>: pages of somebody else, who has to ask you first.</li>
</ul>
</main>`
}

/** `messages`: where they go. */
function signedOut (messages: string): Html {
  return html`<p>Nobody is signed in in this browser.</p>
<ul>
<li><a href="/auth/login?return_to=/">Sign in</a></li>
<li><a href="/auth/signup?return_to=/">Sign up</a></li>
<li><a href="/auth/forgot-password?return_to=/">Forgot the password</a>: the message with the link is in ${messages}.</li>
</ul>`
}

function signedIn ({ username }: User, since: Date | undefined): Html {
  return html`<p>Signed in as <strong>${username}</strong>${since === undefined ? '' : html`, since <time>${since.toISOString()}</time>`}.</p>
<p><a href="/auth/logout">Sign out</a></p>`
}
