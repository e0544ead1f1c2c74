/** Parameters of the authorization endpoint that try to end a line of the response's head. */
import t from '../support/tap.ts'
import { listening, locationOf, one, QUERY } from './support/raw-authorize.ts'

/** Values that contain line ends after decoding, or after a cut to the low byte. */
const LINE_ENDS = [
  'a%0d%0aSet-Cookie:%20x=y',
  'a%0aX-Evil:%201',
  '%0d%0a%0d%0a<script>',
  '%e5%98%8a%e5%98%8dX-Evil:1',
  '%00',
  '%c4%8d%c4%8aX-Evil:1'
]

// covers R6749-4.1.2
t.test('adds no response header for a state parameter with encoded line breaks', async (t) => {
  const subject = await listening(t)
  for (const state of LINE_ENDS) {
    const answer = await one(subject, `GET /auth/authorize?${QUERY.replace('state=state-1', `state=${state}`)}`, [
      'Host: localhost:3000',
      `Cookie: ${subject.cookie}`
    ])
    t.equal(answer.status, 303, state)
    t.notMatch(answer.head, /^(?:x-evil|set-cookie):/im, state)
    t.equal(new URL(locationOf(answer) ?? '').searchParams.get('state'), decodeURIComponent(state), state)
  }
  t.same(subject.faults, [])
})

// covers R6749-4.1.2
t.test('adds no response header for other authorization parameters with encoded line breaks', async (t) => {
  const subject = await listening(t)
  const names = [
    ...new URLSearchParams(QUERY).keys(),
    'response_mode',
    'nonce',
    'prompt',
    'max_age',
    'ui_locales',
    'login_hint',
    'id_token_hint',
    'acr_values',
    'display',
    'claims',
    'resource',
    'dpop_jkt',
    'request',
    'request_uri',
    'connection',
    'unknown'
  ].filter((name) => name !== 'state')
  for (const name of names)
    for (const value of LINE_ENDS)
      // With a session, the answer goes to the client. Without a session, it goes to the sign-in page.
      for (const cookie of [[`Cookie: ${subject.cookie}`], []]) {
        const params = new URLSearchParams(QUERY)
        params.delete(name)
        const answer = await one(subject, `GET /auth/authorize?${String(params)}&${name}=${value}`, [
          'Host: localhost:3000',
          ...cookie
        ])
        const what = `${name}=${value} ${cookie.length}`
        t.ok([303, 400].includes(answer.status), what)
        t.notMatch(answer.head, /^(?:x-evil|set-cookie: x)/im, what)
        t.notMatch(answer.head, /[^\x20-\x7e\r\n]/, what)
      }
  t.same(subject.faults, [])
})
