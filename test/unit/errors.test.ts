import t from '../support/tap.ts'
import { OAuthError } from '../../lib/errors.ts'

// covers R6749-5.2
t.test('replaces characters in error_description that RFC 6749 does not allow', async (t) => {
  const error = new OAuthError('invalid_request', 'a"b\\c\r\nd\té')
  t.equal(error.message, 'a?b?c??d??')
  t.equal(error.statusCode, 400)
})

t.test('records no stack for an error that asks for none or whose cause has one', async (t) => {
  const at = /errors\.test/
  t.notMatch(new OAuthError('invalid_token', 'no', { withoutStack: true }).stack, at)
  t.match(new OAuthError('invalid_grant', 'no').stack, at)
  t.match(new Error('another').stack, at, "nobody else's is spared")
  const cause = new Error('the store is down')
  const outage = new OAuthError('temporarily_unavailable', 'later', { cause })
  t.notMatch(outage.stack, at)
  t.equal(outage.cause, cause)
  t.match(cause.stack, at, 'the cause tells where')
  t.match(new OAuthError('temporarily_unavailable', 'later', { cause: 'no error' }).stack, at)
})

t.test('keeps Error.stackTraceLimit as it was, even if making an error throws', async (t) => {
  const limit = Error.stackTraceLimit
  t.throws(() => new OAuthError('invalid_token', undefined as unknown as string, { withoutStack: true }), TypeError)
  t.equal(Error.stackTraceLimit, limit)
  const property = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit') as PropertyDescriptor
  Object.defineProperty(Error, 'stackTraceLimit', { ...property, writable: false })
  t.teardown(() => {
    Object.defineProperty(Error, 'stackTraceLimit', property)
  })
  t.equal(
    new OAuthError('invalid_token', 'no', { withoutStack: true }).message,
    'no',
    'also where a host has frozen them after us'
  )
})
