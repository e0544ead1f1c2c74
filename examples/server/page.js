// The page's script. Tokens live in these variables only: a reload signs the page out, and no storage can be read by a later script.
let accessToken
let refreshToken

const element = (id) => document.getElementById(id)
const say = (text) => { element('status').textContent = text }

/** The answer's body; throws what the server says went wrong. */
async function call (method, path, { body, token } = {}) {
  const response = await fetch(path, {
    method,
    headers: {
      ...body === undefined ? {} : { 'content-type': 'application/json' },
      ...token === undefined ? {} : { authorization: `Bearer ${token}` }
    },
    ...body === undefined ? {} : { body: JSON.stringify(body) }
  })
  const answer = response.status === 204 ? undefined : await response.json()
  if (response.ok) return answer
  const wait = response.headers.get('retry-after')
  throw new Error(`${answer.error_description}${wait === null ? '' : ` (try again in ${wait} s)`}`)
}

function show (section) {
  for (const id of ['signed-out', 'reset', 'signed-in']) element(id).hidden = id !== section
}

async function showProfile () {
  const profile = await call('GET', '/me', { token: accessToken })
  element('profile').replaceChildren(...Object.entries(profile).flatMap(([name, value]) => {
    const term = document.createElement('dt')
    const detail = document.createElement('dd')
    term.textContent = name
    detail.textContent = value
    return [term, detail]
  }))
}

async function sessions () {
  return (await call('GET', '/auth/sessions', { token: accessToken })).sessions
}

const actions = {
  async 'sign-in' ({ username, password }) {
    const answer = await call('POST', '/auth/token', { body: { grant_type: 'password', username, password } })
    accessToken = answer.access_token
    refreshToken = answer.refresh_token
    await showProfile()
    show('signed-in')
    return 'Signed in.'
  },
  async 'sign-up' (credentials) {
    await call('POST', '/auth/register', { body: credentials })
    await actions['sign-in'](credentials)
    return 'Signed up and signed in.'
  },
  async forgot ({ username }) {
    await call('POST', '/auth/password-reset', { body: { username } })
    return 'If there is such an account, a link is in the log of the server.'
  },
  async 'call-me' () {
    await showProfile()
    return '/me answered.'
  },
  async refresh () {
    accessToken = (await call('POST', '/auth/refresh', { token: refreshToken })).access_token
    return 'There is a new access token.'
  },
  async list () {
    const items = (await sessions()).map((session) => {
      const item = document.createElement('li')
      item.textContent = `${session.current ? 'This one, s' : 'S'}ince ${new Date(session.created_at).toLocaleString()}, ${session.user_agent ?? 'unknown program'}`
      return item
    })
    element('sessions').replaceChildren(...items)
    return `${items.length} session(s).`
  },
  async 'sign-out' () {
    const current = (await sessions()).find((session) => session.current)
    await call('DELETE', `/auth/sessions/${encodeURIComponent(current.id)}`, { token: accessToken })
    accessToken = refreshToken = undefined
    element('sessions').replaceChildren()
    show('signed-out')
    return 'Signed out.'
  }
}

async function run (name, input) {
  say('…')
  try {
    say(await actions[name](input))
  } catch (error) {
    say(error.message)
  }
}

element('credentials').addEventListener('submit', (event) => {
  event.preventDefault()
  const { username, password } = Object.fromEntries(new FormData(event.target))
  void run(event.submitter?.value ?? 'sign-in', { username, password }).then(() => { element('password').value = '' })
})
for (const id of ['call-me', 'refresh', 'list', 'sign-out']) element(id).addEventListener('click', () => { void run(id) })

// The link of a reset message: the token comes in the fragment, and leaves the address bar and the history at once.
const resetToken = new URLSearchParams(location.hash.slice(1)).get('token')
if (resetToken !== null) {
  history.replaceState(null, '', '/')
  show('reset')
  element('new-password').addEventListener('submit', (event) => {
    event.preventDefault()
    const password = element('next').value
    call('POST', '/auth/password-reset/confirm', { body: { token: resetToken, password } }).then(() => {
      show('signed-out')
      say('The password is set. Sign in with it.')
    }, (error) => { say(error.message) })
  })
}
