import t from 'tap'
import { OAuthError } from '../../lib/errors.ts'

t.test('R6749-5.2 error_description holds only the characters the RFC allows', async (t) => {
  const error = new OAuthError('invalid_request', 'a"b\\c\r\nd\té')
  t.equal(error.message, 'a?b?c??d??')
  t.equal(error.statusCode, 400)
})
