// The browser client at work. Its modules are served as they are in the package; a real app imports 'fastify-authority/client'.
// eslint-disable-next-line import/no-absolute-path -- an address, not a file
import { createAuthClient } from '/client/index.js'

const { issuer, clientId, redirectUri } = document.querySelector('main').dataset
const element = (id) => document.getElementById(id)
const time = (date) => date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' })

const auth = createAuthClient({ clientId, domain: issuer, redirectUri })

auth.on('authenticated', async (user) => {
  note('event', 'authenticated', user.email ?? user.sub)
  await show(user)
})
auth.on('unauthenticated', async () => {
  note('event', 'unauthenticated', 'nobody is signed in here any more')
  await show(null)
})
auth.on('token_refreshed', async () => {
  note('event', 'token_refreshed', 'there is a new access token')
  await showToken()
})
auth.on('error', ({ error, message }) => {
  note('wrong', error, message === error ? '' : message)
})

const ACTIONS = {
  'sign-in': async () => {
    await auth.loginWithRedirect()
  },
  'sign-up': async () => {
    await auth.loginWithRedirect({ screen: 'signup' })
  },
  'call-me': async () => {
    await callMe((url) => auth.fetch(url))
  },
  'call-bare': async () => {
    await callMe((url) => fetch(url))
  },
  refresh: async () => {
    await auth.getAccessToken({ force: true })
  },
  'list-sessions': async () => {
    await showSessions()
  },
  clear: async () => {
    element('log').replaceChildren()
  },
  'sign-out': async () => {
    await auth.logout({ returnTo: redirectUri })
  }
}

/** A call of our own server, with a line in the log: the answer, its text, and how long it took. */
async function call(send, url, method = 'GET') {
  const beganAt = performance.now()
  const response = await send(url, { method })
  const text = await response.text()
  const milliseconds = Math.round(performance.now() - beganAt)
  note(response.ok ? 'call' : 'wrong', `${method} ${url}`, `${response.status} in ${milliseconds} ms`)
  return { response, text, milliseconds }
}

async function callMe(send) {
  const { response, text, milliseconds } = await call(send, '/me')
  const challenge = response.headers.get('www-authenticate')
  element('answer').hidden = false
  element('answer-status').textContent = `${response.status} ${response.statusText}`
  element('answer-status').className = response.ok ? 'badge good' : 'badge bad'
  element('answer-time').textContent = `${milliseconds} ms`
  element('me').textContent =
    `${challenge === null ? '' : `WWW-Authenticate: ${challenge}\n\n`}${JSON.stringify(JSON.parse(text), null, 2)}`
}

async function showSessions() {
  const { response, text } = await call((...request) => auth.fetch(...request), '/auth/sessions')
  const answer = JSON.parse(text)
  if (!response.ok) throw new Error(answer.error_description)
  element('sessions').replaceChildren(
    ...answer.sessions.map(({ id, kind, current, client_id: client, created_at: since, user_agent: agent }) => {
      const device = deviceOf(agent)
      const holder = kind === 'browser' ? 'Browser session' : `App ${client ?? 'without a client'}`
      const end = make('button', { type: 'button', className: 'quiet small', textContent: 'End' })
      end.setAttribute('aria-label', `End: ${holder}, ${device}`)
      end.addEventListener('click', () => {
        void run(async () => {
          await call((...request) => auth.fetch(...request), `/auth/sessions/${id}`, 'DELETE')
          await showSessions()
        })
      })
      const about = make(
        'div',
        {},
        make('strong', { textContent: holder }),
        make('span', {
          className: 'fine',
          textContent: `${device}, since ${new Date(since).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })}`
        })
      )
      return make('li', {}, about, current ? make('span', { className: 'badge', textContent: 'This one' }) : end)
    })
  )
}

function deviceOf(agent) {
  const [, browser = ''] = /(Edg|OPR|Firefox|Chrome|Safari|curl)\//.exec(agent ?? '') ?? []
  const [system = ''] = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(agent ?? '') ?? []
  const name = [{ Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser, system.replace(' OS X', '')]
    .filter((part) => part !== '')
    .join(' on ')
  return name === '' ? 'unknown program' : name
}

async function show(user) {
  const name = user?.email ?? user?.preferred_username ?? user?.sub ?? ''
  element('signed-in').hidden = element('sign-out').hidden = element('person').hidden = user === null
  element('signed-out').hidden = user !== null
  for (const avatar of document.querySelectorAll('.avatar')) avatar.textContent = name.slice(0, 1).toUpperCase()
  list('profile', user ?? {})
  say('')
  if (user === null) return
  element('who').textContent = name
  element('about').replaceChildren(
    user.email_verified
      ? make('span', { className: 'badge good', textContent: 'Address confirmed' })
      : make('span', { className: 'badge', textContent: 'Address not confirmed' })
  )
  await showToken()
  await showSessions()
}

let expiresAt = 0
let livesMs = 1

async function showToken() {
  const claims = decoded(await auth.getAccessToken())
  expiresAt = claims.exp * 1000
  livesMs = (claims.exp - claims.iat) * 1000
  list('claims', claims)
  element('scopes').replaceChildren(...claims.scope.split(' ').map((scope) => make('li', { textContent: scope })))
  tick()
}

/** What an API does with a verified token, done here with an unverified one, to show it. */
function decoded(token) {
  const bytes = Uint8Array.from(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')), (character) =>
    character.charCodeAt(0)
  )
  return JSON.parse(new TextDecoder().decode(bytes))
}

function tick() {
  const left = Math.max(0, Math.round((expiresAt - Date.now()) / 1000))
  element('expires').textContent =
    left === 0 ? 'It has expired.' : `It expires in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}.`
  element('life').value = (left * 1000) / livesMs
}

function list(id, values) {
  element(id).replaceChildren(
    ...Object.entries(values).map(([name, value]) =>
      make('div', {}, make('dt', { textContent: name }), make('dd', { textContent: shown(name, value) }))
    )
  )
}

function shown(name, value) {
  if (['exp', 'iat', 'auth_time'].includes(name)) return `${value} (${time(new Date(value * 1000))})`
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A line of the log; the newest stands first. */
function note(kind, what, about) {
  const line = make(
    'li',
    { className: kind },
    make('time', { textContent: time(new Date()) }),
    make('strong', { textContent: what }),
    make('span', { textContent: about })
  )
  element('log').prepend(line)
}

function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

function say(text) {
  element('status').textContent = text
}

async function run(action) {
  try {
    say('')
    await action()
  } catch (error) {
    say(error.message)
  }
}

for (const [id, action] of Object.entries(ACTIONS))
  element(id).addEventListener('click', () => {
    void run(action)
  })
setInterval(() => {
  if (expiresAt > 0) tick()
}, 1000)

// Registered URIs are compared character by character, so the app works where it is registered only.
if (!redirectUri.startsWith(`${location.origin}/`)) say(`This app is at ${redirectUri}.`)
else {
  await run(async () => {
    if (location.search !== '') {
      note('call', 'The browser came back', 'with a code in the address, which the client redeems')
      await auth.handleRedirectCallback()
    } else await show(await auth.getUser())
  })
}
