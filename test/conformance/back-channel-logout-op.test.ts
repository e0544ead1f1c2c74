import t, { type Test } from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { type Claims, verifiedClaims } from './support/jwt-checks.ts'
import { checkBack, startLogout } from './support/logout.ts'
import { BY_POST, type Op, startOp, SUITE_CLIENTS } from './support/op.ts'
import { type Notice, type RelyingParty, relyingParty } from './support/relying-party.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** A provider that notifies the clients `suite` and `suite3` of sign-outs. */
async function opWith(
  t: Test,
  parties: { suite: RelyingParty; suite3?: RelyingParty },
  clock = steppedClock()
): Promise<Op> {
  const uris: Record<string, string | undefined> = { suite: parties.suite.uri, suite3: parties.suite3?.uri }
  return await startOp(t, {
    clock,
    clients: SUITE_CLIENTS.map((client) => ({
      ...client,
      ...(uris[client.clientId] === undefined ? {} : { backchannelLogoutUri: uris[client.clientId] as string })
    }))
  })
}

/** @see OpenID Connect Back-Channel Logout 1.0 §2.4, §2.5 */
function checkNotice(
  t: Test,
  notice: Notice | undefined,
  { op, clientId, idToken }: { op: Op; clientId: string; idToken: Claims }
): Claims {
  t.equal(notice?.method, 'POST')
  t.match(notice?.contentType, /^application\/x-www-form-urlencoded/)
  t.strictSame(
    notice?.params.map(([name]) => name),
    ['logout_token'],
    'and nothing else'
  )
  const claims = verifiedClaims(t, notice?.params[0]?.[1] ?? '', op.keys, 'logout+jwt')
  const { iat, exp, jti, ...rest } = claims
  const seconds = Math.floor(op.clock.now() / 1000)
  t.strictSame(
    rest,
    { iss: op.issuer, aud: clientId, sub: idToken['sub'], sid: idToken['sid'], events: { [EVENT]: {} } },
    'the person and session of the ID token, one event, no nonce'
  )
  t.type(idToken['sid'], 'string')
  t.ok(Number.isInteger(iat) && Math.abs(seconds - Number(iat)) <= 5, 'iat is now')
  t.ok(Number(exp) > seconds && Number(exp) <= seconds + 120, 'exp is two minutes away at most')
  t.match(jti, /^.{16,}$/)
  return claims
}

t.test('OIDF-oidcc-backchannel-logout-discovery-endpoint-verification', async (t) => {
  const { document, issuer } = await startOp(t)
  t.match(document, {
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    end_session_endpoint: `${issuer}/auth/logout`
  })
})

t.test('OIDF-oidcc-backchannel-rp-initiated-logout', async (t) => {
  const party = await relyingParty(t)
  const op = await opWith(t, { suite: party })
  const { logOut, suite, browser, signedIn } = await startLogout(t, op)
  const { landing, seen } = await logOut()
  checkBack(t, landing)
  t.strictSame(seen, [])
  await party.heard(1)
  checkNotice(t, party.notices[0], { op, clientId: 'suite', idToken: signedIn.claims })
  t.equal(await suite.refusal({ prompt: 'none' }, { browser }), 'login_required')
  t.equal(party.notices.length, 1, 'told once')
})

// covers OIDF-oidcc-backchannel-rp-initiated-logout
t.test('notifies every client of the session with its own token, and no client of another session', async (t) => {
  const [first, third] = [await relyingParty(t), await relyingParty(t)]
  const op = await opWith(t, { suite: first, suite3: third })
  const { logOut, suite, browser, signedIn } = await startLogout(t, op)
  const other = await suite.signIn({}, { browser, client: BY_POST })
  t.equal(other.claims['sid'], signedIn.claims['sid'], 'one session')
  const elsewhere = op.newBrowser()
  const { claims } = await suite.signIn({}, { browser: elsewhere })
  t.not(claims['sid'], signedIn.claims['sid'])
  await logOut()
  await Promise.all([first.heard(1), third.heard(1)])
  const told = [
    checkNotice(t, first.notices[0], { op, clientId: 'suite', idToken: signedIn.claims }),
    checkNotice(t, third.notices[0], { op, clientId: 'suite3', idToken: other.claims })
  ]
  t.not(told[0]?.['jti'], told[1]?.['jti'])
  await suite.code({ prompt: 'none' }, { browser: elsewhere })
  t.strictSame([first.notices.length, third.notices.length], [1, 1])
})

// covers OIDF-oidcc-backchannel-rp-initiated-logout
t.test('completes the sign-out without waiting for a client that does not answer', async (t) => {
  const party = await relyingParty(t, () => {})
  const { logOut, isSignedIn } = await startLogout(t, await opWith(t, { suite: party }))
  // The browser returns although the client has not answered.
  checkBack(t, (await logOut()).landing)
  await party.heard(1)
  t.equal(party.notices[0]?.reply.writableEnded, false)
  t.equal(await isSignedIn(), false)
  party.notices[0]?.reply.end()
})

// covers OIDF-oidcc-backchannel-rp-initiated-logout
t.test('notifies a failing client once more, with a new token', async (t) => {
  const clock = steppedClock()
  const party = await relyingParty(t, (reply, count) => {
    reply.writeHead(count === 1 ? 500 : 200).end()
  })
  // After the 500, the provider schedules a repeat.
  const heardOf500 = new Promise<void>((resolve) => {
    const { after } = clock
    clock.after = (delayMs, task) => {
      const undo = after(delayMs, task)
      if (party.notices.length > 0) resolve()
      return undo
    }
  })
  const op = await opWith(t, { suite: party }, clock)
  const { logOut, isSignedIn, signedIn } = await startLogout(t, op)
  checkBack(t, (await logOut()).landing)
  await party.heard(1)
  t.equal(await isSignedIn(), false)
  const first = checkNotice(t, party.notices[0], { op, clientId: 'suite', idToken: signedIn.claims })
  await heardOf500
  clock.step(5000)
  await party.heard(2)
  const second = checkNotice(t, party.notices[1], { op, clientId: 'suite', idToken: signedIn.claims })
  t.not(second['jti'], first['jti'], 'one that was seen before is a replay')
})
