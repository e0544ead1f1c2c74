import t from '../support/tap.ts'
import { check } from './support/checker.ts'
import type { Entry, Outcome } from './support/log.ts'
import type { RuleName, Terms } from './support/terms.ts'

const TERMS: Terms = {
  graceMs: 10_000,
  clockToleranceMs: 250,
  limits: { login: { windowMs: 4000, max: 2, count: 'all' }, account: { windowMs: 4000, max: 2, count: 'failed' } },
  limitsPer: 'fleet',
  answerWithinMs: 3000,
  pingWithinMs: 1000,
  faults: [],
  retryWithinMs: 5000,
  down: [],
  mustSucceed: [],
  excuses: []
}
const FAULT = { name: 'a fault', start: 10_000, end: 40_000, recoveryMs: 1000 }
const LATER = { name: 'a later fault', start: 50_000, end: 60_000, recoveryMs: 1000 }

const answer = (status: number, more: Partial<Extract<Outcome, { kind: 'answer' }>> = {}): Outcome => ({
  kind: 'answer',
  status,
  ...more
})
const NO = answer(400, { error: 'invalid_grant' })
const BUSY = answer(503, { retryAfter: '1' })
const RESET: Outcome = { kind: 'network', code: 'ECONNRESET' }
/** An entry that took 10 ms and was answered 200. */
const at = (start: number, operation: Entry['operation'], more: Partial<Entry> = {}): Entry => ({
  operation,
  start,
  end: start + 10,
  outcome: answer(200),
  ...more
})

const signIn = at(0, 'sign-in', { user: 'ann', password: 'p0', gave: { family: 'F', token: 'A' } })
const rotate = (start: number, token: string, next: string | null, more: Partial<Entry> = {}): Entry =>
  at(start, 'rotate', {
    user: 'ann',
    family: 'F',
    token,
    ...(next === null ? { outcome: NO } : { gave: { family: 'F', token: next } }),
    ...more
  })
const authorize = at(0, 'authorize', { user: 'ann', family: 'S', gave: { code: 'C' } })
const redeem = (start: number, more: Partial<Entry> = {}): Entry =>
  at(start, 'redeem', { user: 'ann', code: 'C', gave: { family: 'F', token: 'A' }, ...more })
const hosted = at(0, 'authorize', { user: 'ann', gave: { family: 'S' } })
const asked = at(20, 'authorize', { user: 'ann', family: 'S', gave: { code: 'C' } })
const online = (start: number): Entry => redeem(start, { gave: { family: 'O' } })
const signOut = (start: number): Entry => at(start, 'sign-out', { user: 'ann', family: 'S' })
const register = at(0, 'register', { user: 'ann', password: 'p0', outcome: answer(201) })
const reset = (start: number, more: Partial<Entry> = {}): Entry =>
  at(start, 'reset-confirm', { user: 'ann', newPassword: 'p1', outcome: answer(204), ...more })
const login = (start: number, more: Partial<Entry> = {}): Entry =>
  at(start, 'sign-in', {
    user: 'ann',
    attempts: [
      { rule: 'login', key: 'ann' },
      { rule: 'account', key: 'ann' }
    ],
    ...more
  })
const userinfo = (start: number, more: Partial<Entry> = {}): Entry =>
  at(start, 'userinfo', { user: 'ann', family: 'F', ...more })

type Planted = readonly [what: string, found: RuleName[], entries: Entry[], terms?: Partial<Terms>]

/** Faulty logs, each with a similar log without a fault. */
const CASES: Planted[] = [
  [
    'a code redeemed twice',
    ['code-twice', 'fork'],
    [authorize, redeem(20), redeem(20, { gave: { family: 'F', token: 'B' } })]
  ],
  ['a code redeemed once and refused once', [], [authorize, redeem(20), redeem(20, { outcome: NO, gave: {} })]],
  [
    'the tokens of a code outlive its second use',
    ['revoked-accepted'],
    [authorize, redeem(20), redeem(40, { outcome: NO, gave: {} }), userinfo(60)]
  ],
  [
    'the tokens of a code are used before its second use',
    [],
    [authorize, redeem(20), userinfo(35), redeem(40, { outcome: NO, gave: {} }), userinfo(60, { outcome: answer(401) })]
  ],

  ['a token with two successors', ['fork'], [signIn, rotate(20, 'A', 'B'), rotate(25, 'A', 'C')]],
  ['a token with one successor, presented twice', [], [signIn, rotate(20, 'A', 'B'), rotate(25, 'A', 'B')]],
  ['two tokens with one successor', ['fork'], [signIn, rotate(20, 'A', 'B'), rotate(22, 'D', 'B')]],
  [
    'a line of rotations that leads back to its first token',
    ['fork', 'replay-accepted'],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'A')]
  ],
  ['a line of three rotations', [], [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(60, 'C', 'D')]],

  [
    'a replay after the grace time is accepted',
    ['replay-accepted'],
    [signIn, rotate(20, 'A', 'B'), rotate(11_000, 'A', 'B')]
  ],
  ['a repeated token within the grace time is accepted', [], [signIn, rotate(20, 'A', 'B'), rotate(9000, 'A', 'B')]],
  [
    'a token is accepted after its successor was used',
    ['replay-accepted'],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(60, 'A', 'B')]
  ],
  [
    'a token is accepted while its successor is being used',
    [],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(45, 'A', 'B')]
  ],

  [
    'a refresh token is accepted after its revocation',
    ['revoked-accepted'],
    [signIn, at(20, 'revoke', { family: 'F' }), rotate(40, 'A', 'B')]
  ],
  [
    'a refresh token is accepted while it is being revoked',
    [],
    [signIn, at(20, 'revoke', { family: 'F' }), rotate(29, 'A', 'B')]
  ],
  [
    'a refresh token is accepted after a revocation that was not answered',
    [],
    [signIn, at(20, 'revoke', { family: 'F', outcome: BUSY }), rotate(40, 'A', 'B')],
    { faults: [{ ...FAULT, start: 0 }] }
  ],
  [
    'an access token is accepted after its session was ended',
    ['revoked-accepted'],
    [signIn, at(20, 'end-session', { family: 'F', outcome: answer(204) }), userinfo(40)]
  ],
  [
    'introspection calls a revoked token active',
    ['revoked-accepted'],
    [
      signIn,
      at(20, 'revoke', { family: 'F' }),
      at(40, 'introspect', { family: 'F', outcome: answer(200, { active: true }) })
    ]
  ],
  [
    'introspection calls a revoked token inactive',
    [],
    [
      signIn,
      at(20, 'revoke', { family: 'F' }),
      at(40, 'introspect', { family: 'F', outcome: answer(200, { active: false }) })
    ]
  ],
  ['a session outlives a password reset', ['revoked-accepted'], [register, signIn, reset(20), userinfo(40)]],
  [
    'a session that began after a password reset',
    [],
    [register, reset(20), { ...signIn, start: 40, end: 50, password: 'p1' }, userinfo(60)]
  ],
  [
    'a session that began with the old password during the reset',
    ['revoked-accepted'],
    [register, reset(20), { ...signIn, start: 25, end: 35 }, userinfo(60)]
  ],
  ['a session of another user', [], [register, signIn, reset(20, { user: 'bob' }), userinfo(40)]],
  [
    'a browser session outlives a password reset',
    ['revoked-accepted'],
    [
      at(0, 'authorize', { user: 'ann', password: 'p0', gave: { family: 'S' } }),
      reset(20),
      at(40, 'authorize', { user: 'ann', family: 'S' })
    ]
  ],
  [
    'a replay leaves the refresh token of its family valid',
    ['revoked-accepted'],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(60, 'A', null), rotate(80, 'C', 'D')]
  ],
  [
    'a replay leaves the access token of its family valid',
    ['revoked-accepted'],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(60, 'A', null), userinfo(80)]
  ],
  [
    'a replay at POST /auth/refresh leaves its family alive',
    ['revoked-accepted'],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(60, 'A', null, { operation: 'refresh' }), userinfo(80)]
  ],
  [
    'a replay beyond the grace time leaves its family alive',
    ['revoked-accepted'],
    [signIn, rotate(20, 'A', 'B'), rotate(11_000, 'A', null), userinfo(11_100)]
  ],
  [
    'a replay after a grace time that an outage may have extended',
    [],
    [signIn, rotate(20, 'A', 'B'), rotate(45_000, 'A', null), userinfo(45_100)],
    { faults: [FAULT] }
  ],
  [
    'a replay ends its family',
    [],
    [
      signIn,
      rotate(20, 'A', 'B'),
      rotate(40, 'B', 'C'),
      rotate(60, 'A', null),
      userinfo(80, { outcome: answer(401) }),
      rotate(90, 'C', null)
    ]
  ],
  [
    'a replay that a limit refuses ends its family',
    ['revoked-accepted'],
    [
      signIn,
      rotate(20, 'A', 'B'),
      rotate(40, 'B', 'C'),
      rotate(60, 'A', null, { outcome: answer(429, { retryAfter: '1' }) }),
      userinfo(80)
    ]
  ],

  ['a one-time token works twice', ['one-time-twice'], [register, reset(20, { mail: 'M' }), reset(40, { mail: 'M' })]],
  [
    'a one-time token sets two passwords at once',
    ['one-time-twice'],
    [register, reset(20, { mail: 'M' }), reset(21, { mail: 'M', newPassword: 'p2' })]
  ],
  [
    'a one-time token sets one password in two parallel requests',
    [],
    [register, reset(20, { mail: 'M' }), reset(21, { mail: 'M' })]
  ],
  ['a one-time token works once', [], [register, reset(20, { mail: 'M' }), reset(40, { mail: 'M', outcome: NO })]],
  [
    'a one-time token whose first answer was lost works',
    [],
    [register, reset(20, { mail: 'M', outcome: BUSY }), reset(40, { mail: 'M' })],
    { faults: [{ ...FAULT, start: 0 }] }
  ],

  [
    'an online token outlives the sign-out of its browser session',
    ['revoked-accepted'],
    [hosted, asked, online(50), signOut(70), userinfo(90, { family: 'O' })]
  ],
  [
    'an online token ends with its browser session',
    [],
    [hosted, asked, online(50), signOut(70), userinfo(90, { family: 'O', outcome: answer(401) })]
  ],
  [
    'an offline token outlives the sign-out of its browser session',
    [],
    [hosted, asked, redeem(50), signOut(70), userinfo(90)]
  ],
  [
    'a browser session outlives its sign-out',
    ['revoked-accepted'],
    [hosted, signOut(70), { ...asked, start: 90, end: 100 }]
  ],
  [
    'a code outlives the sign-out of its browser session',
    ['revoked-accepted'],
    [hosted, asked, signOut(50), redeem(70)]
  ],
  ['a code is redeemed while its session is signed out', [], [hosted, asked, signOut(50), redeem(55)]],
  [
    'a code that a session got while the password was reset',
    ['revoked-accepted'],
    [hosted, { ...asked, start: 42, end: 52 }, reset(40), redeem(70)]
  ],
  [
    'a code that a new session got while the password was reset',
    [],
    [reset(40), { ...hosted, start: 42, end: 46 }, { ...asked, start: 47, end: 52 }, redeem(70)]
  ],

  [
    'the session that changes the password continues',
    [],
    [
      signIn,
      at(20, 'change-password', { user: 'ann', family: 'F', newPassword: 'p1', outcome: answer(204) }),
      userinfo(40)
    ]
  ],
  [
    'another session outlives a change of the password',
    ['revoked-accepted'],
    [
      signIn,
      at(20, 'change-password', { user: 'ann', family: 'G', newPassword: 'p1', outcome: answer(204) }),
      userinfo(40)
    ]
  ],
  [
    'a code from before a password reset is redeemed after it',
    ['revoked-accepted'],
    [authorize, reset(20), redeem(40)]
  ],
  ['a code from after a password reset is redeemed', [], [reset(0), { ...authorize, start: 20, end: 30 }, redeem(40)]],

  [
    'three attempts within a window that allows two',
    ['limit'],
    [0, 100, 3900].map((start) => login(start, { outcome: answer(204) }))
  ],
  [
    'three attempts, the last of which may have come after the window',
    [],
    [0, 100, 3995].map((start) => login(start, { outcome: answer(204) }))
  ],
  [
    'three attempts with one refused',
    [],
    [login(0), login(100), login(200, { outcome: answer(429, { retryAfter: '4' }) })]
  ],
  [
    'three attempts with one lost',
    [],
    [login(0), login(100), login(200, { outcome: RESET })],
    { faults: [{ ...FAULT, start: 0 }] }
  ],
  ['three attempts by two keys', [], [login(0), login(100), login(200, { attempts: [{ rule: 'login', key: 'bob' }] })]],
  [
    'three failures on one account',
    ['limit'],
    [0, 100, 200].map((start) => login(start, { outcome: NO, attempts: [{ rule: 'account', key: 'ann' }] }))
  ],
  [
    'two failures on one account and a success',
    [],
    [0, 100, 200].map((start) =>
      login(start, { outcome: start === 0 ? answer(200) : NO, attempts: [{ rule: 'account', key: 'ann' }] })
    )
  ],
  [
    'three attempts at three instances with separate counters',
    [],
    ['1', '2', '3'].map((instance) => login(0, { instance })),
    { limitsPer: 'instance' }
  ],

  ['the newest token of a family is refused', ['undone'], [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', null)]],
  [
    'a token is refused after its own client replayed it',
    [],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(60, 'A', null), rotate(80, 'C', null)]
  ],
  [
    'a token is refused after a limit refused its replay',
    [],
    [
      signIn,
      rotate(20, 'A', 'B'),
      rotate(40, 'B', 'C'),
      rotate(60, 'A', null, { outcome: answer(429, { retryAfter: '1' }) }),
      rotate(80, 'C', null)
    ]
  ],
  [
    'the token of a code is refused after a limit refused its second use',
    [],
    [
      authorize,
      redeem(20),
      redeem(40, { outcome: answer(429, { retryAfter: '1' }), gave: {} }),
      userinfo(60, { outcome: answer(401) })
    ]
  ],
  [
    'an abandoned rotation completes after the rotation of its successor',
    [],
    [
      signIn,
      rotate(20, 'A', null, { outcome: { kind: 'abandoned' }, doneBy: 70 }),
      rotate(30, 'A', 'B'),
      rotate(50, 'B', 'C'),
      rotate(80, 'C', null)
    ]
  ],
  [
    'an abandoned rotation completed before the rotation of its successor',
    ['undone'],
    [
      signIn,
      rotate(20, 'A', null, { outcome: { kind: 'abandoned' }, doneBy: 45 }),
      rotate(30, 'A', 'B'),
      rotate(50, 'B', 'C'),
      rotate(80, 'C', null)
    ]
  ],
  [
    'a token is refused during its replay',
    [],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', 'C'), rotate(60, 'A', null), rotate(55, 'C', null)]
  ],
  [
    'a token is refused after the grace time of its rotation',
    [],
    [signIn, rotate(20, 'A', 'B'), rotate(10_100, 'A', null)]
  ],
  ['a token is refused within the grace time', ['undone'], [signIn, rotate(20, 'A', 'B'), rotate(8000, 'A', null)]],
  [
    'a token is refused after a revocation whose answer was lost',
    [],
    [signIn, at(20, 'revoke', { family: 'F', outcome: RESET }), rotate(40, 'A', null)],
    { faults: [{ ...FAULT, start: 0 }] }
  ],
  [
    'a token is refused before its revocation',
    ['undone'],
    [signIn, rotate(20, 'A', null), at(40, 'revoke', { family: 'F' })]
  ],
  [
    'an access token is refused while its family lives',
    ['undone'],
    [authorize, redeem(20), userinfo(40, { outcome: answer(401) })]
  ],
  [
    'an access token is refused that has expired',
    [],
    [signIn, userinfo(901_000, { outcome: answer(401), expiresAt: 900_000 })]
  ],
  [
    'introspection calls a living token inactive',
    ['undone'],
    [signIn, at(20, 'introspect', { family: 'F', outcome: answer(200, { active: false }) })]
  ],
  [
    'a browser session is forgotten',
    ['undone'],
    [
      at(0, 'authorize', { user: 'ann', gave: { family: 'S' } }),
      at(40, 'authorize', { user: 'ann', family: 'S', outcome: answer(401) })
    ]
  ],

  [
    'a refresh whose answer was lost is refused when tried again',
    ['lost-refresh'],
    [signIn, rotate(20, 'A', null, { outcome: { kind: 'abandoned' } }), rotate(40, 'A', null)]
  ],
  [
    'a refresh whose answer was lost works when tried again',
    [],
    [signIn, rotate(20, 'A', null, { outcome: { kind: 'abandoned' } }), rotate(40, 'A', 'B')]
  ],
  [
    'a refresh whose answer was lost in a long fault is refused after it',
    ['lost-refresh'],
    [signIn, rotate(11_000, 'A', null, { outcome: BUSY }), rotate(44_000, 'A', null)],
    { faults: [FAULT] }
  ],
  [
    'an abandoned refresh before a long fault is refused after it',
    ['lost-refresh'],
    [
      signIn,
      rotate(9900, 'A', null, { outcome: { kind: 'abandoned' } }),
      rotate(11_000, 'A', null, { outcome: BUSY }),
      rotate(44_000, 'A', null)
    ],
    { faults: [FAULT] }
  ],
  [
    'an abandoned refresh is refused after the grace time of its completed rotation',
    [],
    [
      signIn,
      rotate(9900, 'A', null, { outcome: { kind: 'abandoned' }, doneBy: 9950, wasDone: true }),
      rotate(11_000, 'A', null, { outcome: BUSY }),
      rotate(44_000, 'A', null)
    ],
    { faults: [FAULT] }
  ],
  [
    'an abandoned refresh is refused within the grace time of its completed rotation',
    ['lost-refresh'],
    [
      signIn,
      rotate(9900, 'A', null, { outcome: { kind: 'abandoned' }, doneBy: 9950, wasDone: true }),
      rotate(11_000, 'A', null, { outcome: BUSY }),
      rotate(12_000, 'A', null)
    ],
    { faults: [{ ...FAULT, end: 11_500 }] }
  ],
  [
    'an abandoned refresh is refused that took longer than the grace time',
    [],
    [
      signIn,
      rotate(11_000, 'A', null, { outcome: { kind: 'abandoned' }, doneBy: 21_200, wasDone: false }),
      rotate(21_100, 'A', null)
    ],
    { faults: [FAULT] }
  ],
  [
    'an abandoned refresh is refused that ended before the retry',
    ['lost-refresh'],
    [
      signIn,
      rotate(11_000, 'A', null, { outcome: { kind: 'abandoned' }, doneBy: 21_000, wasDone: false }),
      rotate(21_100, 'A', null)
    ],
    { faults: [FAULT] }
  ],
  [
    'a lost refresh is refused later than the promised time',
    [],
    [signIn, rotate(11_000, 'A', null, { outcome: BUSY }), rotate(46_000, 'A', null)],
    { faults: [FAULT] }
  ],
  [
    'a refresh that was answered before the fault is refused after it',
    [],
    [signIn, rotate(9000, 'A', 'B'), rotate(11_000, 'A', null, { outcome: BUSY }), rotate(44_000, 'A', null)],
    { faults: [FAULT] }
  ],

  ['a registered user can not sign in', ['undone'], [register, login(20, { password: 'p0', outcome: NO })]],
  [
    'a user whose registration was lost can not sign in',
    [],
    [{ ...register, outcome: RESET }, login(20, { password: 'p0', outcome: NO })],
    { faults: [{ ...FAULT, start: 0 }] }
  ],
  [
    'a name is registered twice',
    ['undone'],
    [register, at(20, 'register', { user: 'ann', password: 'p9', outcome: answer(201) })]
  ],
  ['a changed password does not work', ['undone'], [register, reset(20), login(40, { password: 'p1', outcome: NO })]],
  ['an old password works', ['undone'], [register, reset(20), login(40, { password: 'p0' })]],
  ['an old password works while it is being changed', [], [register, reset(20), login(25, { password: 'p0' })]],
  [
    'an old password works after a change whose answer was lost',
    [],
    [register, reset(10_500, { outcome: RESET }), login(10_600, { password: 'p0' })],
    { faults: [FAULT] }
  ],
  ['a wrong password is refused', [], [register, login(20, { password: 'guess', outcome: NO })]],

  ['a status 500', ['status', 'unavailable'], [at(0, 'me', { outcome: answer(500) })]],
  ['a status 503 with Retry-After in a fault', [], [at(20_000, 'me', { outcome: BUSY })], { faults: [FAULT] }],
  [
    'a status 503 without Retry-After',
    ['retry-after'],
    [at(20_000, 'me', { outcome: answer(503) })],
    { faults: [FAULT] }
  ],
  ['a status 503 without a fault', ['unavailable'], [at(0, 'me', { outcome: BUSY })], { faults: [FAULT] }],
  [
    'a status 503 of an instance that has no fault',
    ['unavailable'],
    [at(20_000, 'me', { outcome: BUSY, instance: '1#1' })],
    { faults: [{ ...FAULT, instance: '2' }] }
  ],
  [
    'a status 503 of the instance that has the fault',
    [],
    [at(20_000, 'me', { outcome: BUSY, instance: '2#3' })],
    { faults: [{ ...FAULT, instance: '2' }] }
  ],
  ['a status 503 during recovery', [], [at(40_900, 'me', { outcome: BUSY })], { faults: [FAULT] }],
  ['a status 503 after recovery', ['unavailable'], [at(41_100, 'me', { outcome: BUSY })], { faults: [FAULT] }],
  ['a status 429 without Retry-After', ['retry-after'], [at(0, 'sign-in', { outcome: answer(429) })]],
  ['a status 429 with Retry-After', [], [at(0, 'sign-in', { outcome: answer(429, { retryAfter: '1' }) })]],
  ['a late answer during a fault', ['late'], [at(20_000, 'me', { end: 23_001 })], { faults: [FAULT] }],
  ['an answer just in time', [], [at(20_000, 'me', { end: 22_999 })], { faults: [FAULT] }],
  [
    'no answer at all',
    ['late'],
    [at(20_000, 'me', { end: 26_000, outcome: { kind: 'timeout' } })],
    { faults: [FAULT] }
  ],

  [
    "the host's route fails in a fault",
    ['ping'],
    [at(20_000, 'ping', { instance: '1', outcome: BUSY })],
    { faults: [FAULT] }
  ],
  ["the host's route is slow", ['ping'], [at(20_000, 'ping', { instance: '1', end: 21_100 })], { faults: [FAULT] }],
  [
    "the host's route fails where the instance is away",
    [],
    [at(20_000, 'ping', { instance: '1', outcome: RESET })],
    { faults: [FAULT], down: [{ instance: '1', start: 19_000, end: 21_000 }] }
  ],
  [
    "the host's route fails where another instance is away",
    ['ping'],
    [at(20_000, 'ping', { instance: '1', outcome: RESET })],
    { faults: [FAULT], down: [{ instance: '2', start: 19_000, end: 21_000 }] }
  ],

  [
    'nothing succeeds after a fault',
    ['not-recovered'],
    [at(20_000, 'rotate', { token: 'X', gave: {} }), at(42_000, 'me')],
    { faults: [FAULT], mustSucceed: ['rotate'] }
  ],
  [
    'nothing is answered between two faults',
    ['not-recovered', 'unavailable'],
    [at(43_000, 'rotate', { token: 'X', outcome: BUSY }), at(70_000, 'rotate', { token: 'X', gave: {} })],
    { faults: [FAULT, LATER], mustSucceed: ['rotate'] }
  ],
  [
    'nothing was asked between two faults',
    [],
    [at(70_000, 'rotate', { token: 'X', gave: {} })],
    { faults: [FAULT, LATER], mustSucceed: ['rotate'] }
  ],
  [
    'nothing was asked after the last of two faults',
    ['not-recovered'],
    [at(43_000, 'rotate', { token: 'X', gave: {} }), at(71_000, 'me')],
    { faults: [FAULT, LATER], mustSucceed: ['rotate'] }
  ],
  [
    'something succeeds after a fault',
    [],
    [at(42_000, 'rotate', { token: 'X', gave: {} })],
    { faults: [FAULT], mustSucceed: ['rotate'] }
  ],

  [
    'an excuse does not cover an answer before its interval',
    ['undone'],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', null)],
    { excuses: [{ rules: ['undone'], reason: 'failover', start: 60, end: 100 }] }
  ],
  [
    'an excuse does not cover another rule',
    ['undone'],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', null)],
    { excuses: [{ rules: ['limit'], reason: 'failover', start: 0, end: 100 }] }
  ],
  [
    'an excuse of one instance does not cover another',
    ['unavailable'],
    [at(50, 'me', { outcome: BUSY, instance: '1#1' })],
    { excuses: [{ rules: ['unavailable'], reason: 'slow', start: 0, end: 100, instance: '2' }] }
  ],
  [
    'an excuse of one instance covers that instance',
    [],
    [at(50, 'me', { outcome: BUSY, instance: '2#1' })],
    { excuses: [{ rules: ['unavailable'], reason: 'slow', start: 0, end: 100, instance: '2' }] }
  ],
  [
    'an excuse covers an answer within its interval',
    [],
    [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', null)],
    { excuses: [{ rules: ['undone'], reason: 'failover', start: 15, end: 35 }] }
  ]
]

for (const [what, found, entries, terms] of CASES) {
  t.test(`reports ${found.length === 0 ? 'no violation' : found.join(' and ')}: ${what}`, async (t) => {
    const { violations } = check(entries, { ...TERMS, ...terms })
    t.strictSame(
      [...new Set(violations.map(({ rule }) => rule))].toSorted(),
      found.toSorted(),
      violations.map(({ message }) => message).join('; ')
    )
    t.strictSame(
      check(entries.toReversed(), { ...TERMS, ...terms }).violations.length,
      violations.length,
      'in whatever order it was written down'
    )
  })
}

t.test('lists a case for each rule of the checker', async (t) => {
  const rules: Record<RuleName, true> = {
    'code-twice': true,
    'one-time-twice': true,
    fork: true,
    'replay-accepted': true,
    'revoked-accepted': true,
    limit: true,
    undone: true,
    'lost-refresh': true,
    status: true,
    'retry-after': true,
    late: true,
    ping: true,
    unavailable: true,
    'not-recovered': true
  }
  const planted = new Set(CASES.flatMap(([, found]) => found))
  t.strictSame(
    Object.keys(rules).filter((rule) => !planted.has(rule as RuleName)),
    []
  )
})

t.test('reports each excuse that was used with the violation that it excused', async (t) => {
  const excuse = { rules: ['undone'] as const, reason: 'failover', start: 15, end: 35 }
  const lostRotation = [signIn, rotate(20, 'A', 'B'), rotate(40, 'B', null)]
  t.match(check(lostRotation, { ...TERMS, excuses: [excuse] }).excused, [{ excuse, violation: { rule: 'undone' } }])
  const later = [...lostRotation.slice(0, 2), userinfo(500, { outcome: answer(401) }), rotate(40, 'B', null)]
  t.equal(
    check(later, { ...TERMS, excuses: [excuse] }).violations.length,
    0,
    'the rest of a family that the store forgot'
  )
})

/** All lines of rotations with one repeated step. None is a fork, and each becomes one if a successor differs. */
t.test('accepts up to six rotations with a repeated step, and reports a branch as a fork', async (t) => {
  for (let length = 1; length <= 6; length++) {
    for (let repeated = 0; repeated < length; repeated++) {
      const line = Array.from({ length }, (_, index) => rotate(20 + index * 20, `T${index}`, `T${index + 1}`))
      const first = at(0, 'sign-in', { user: 'ann', gave: { family: 'F', token: 'T0' } })
      const start = 21 + repeated * 20
      const entries = (successor: string): Entry[] => [first, ...line, rotate(start, `T${repeated}`, successor)]
      t.strictSame(check(entries(`T${repeated + 1}`), TERMS).violations, [], `step ${repeated} of ${length} repeated`)
      t.ok(
        check(entries('other'), TERMS).violations.some(({ rule }) => rule === 'fork'),
        `step ${repeated} of ${length} branches`
      )
    }
  }
})
